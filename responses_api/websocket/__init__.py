"""The WebSocket edge: translates between messages and the services, decides nothing."""
