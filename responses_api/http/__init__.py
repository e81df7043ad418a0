"""The HTTP edge: translates between the wire and the services, decides nothing."""
