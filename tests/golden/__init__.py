"""Upstream bytes and exactly the events they become, one pair of files for each scenario.

`python -m tests.golden` writes the events anew from the upstream bytes: read the difference before committing it.
"""
