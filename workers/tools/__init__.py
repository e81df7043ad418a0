"""Tools that the service runs by itself: MCP servers' and hosted ones, one provider for each entry of a request."""
