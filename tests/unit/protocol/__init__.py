"""The pure protocol core, tested with values alone."""
