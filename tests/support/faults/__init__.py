"""A proxy that breaks one rule at a time, and the faults that it plants: what the conformance suite must catch."""
