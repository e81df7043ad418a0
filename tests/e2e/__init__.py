"""The service from outside: real processes, real sockets, a scripted upstream behind it."""
