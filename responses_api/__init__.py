"""The Open Responses API: its contract, its stored objects, and the transports that serve it."""
