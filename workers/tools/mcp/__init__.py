"""MCP servers that requests name: asked over streamable HTTP by the official SDK, their tools offered to the model.

`connections` keeps what is open for the responses of this process, `connection` is one of them, in the one task that
the SDK wants it in; `transport` keeps what goes wrong with one call from ending the others. `listing` and `results`
say in our words what a server told; `provider` is what the loop sees.
"""
