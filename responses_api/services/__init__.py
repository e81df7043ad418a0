"""What the service does, whichever transport asked: the one funnel of create, and the ends of a response."""
