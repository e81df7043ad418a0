"""The admin pages of tenancy."""
