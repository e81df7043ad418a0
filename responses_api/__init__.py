"""The Open Responses contract: the protocol, the stored objects and the transports that serve them."""
