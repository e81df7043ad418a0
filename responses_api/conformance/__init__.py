"""Checks any Open Responses server from outside: a client of the protocol, with no server code in it."""
