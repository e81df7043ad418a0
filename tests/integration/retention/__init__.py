"""What tenants keep, and for how long."""
