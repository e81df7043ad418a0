"""Stored responses by the million, to measure with: what they say (`shapes`), and how they are written (`fill`)."""
