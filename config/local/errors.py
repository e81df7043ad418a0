"""The one error of the local runtime: a sentence for the user."""


class LocalError(Exception):
    """Something the user can act on; its text is printed as it is, without a traceback."""
