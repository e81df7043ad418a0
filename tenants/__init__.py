"""Who may call, and the wall between them: tenants, their keys, and the scope that every query runs in."""
