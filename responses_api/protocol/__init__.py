"""The pure protocol core: values in, values out. No Django, no I/O, no clock, no randomness.

Items and events are plain JSON dicts everywhere, because they cross processes and are stored as they are.
"""
