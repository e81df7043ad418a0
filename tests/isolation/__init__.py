"""Nobody sees, changes or learns of what belongs to another tenant: every address, every message, every query."""
