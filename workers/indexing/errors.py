"""What goes wrong with a file that is read, and is the file's own fault or its format's."""


class Unreadable(Exception):
    """A file whose text cannot be taken; the error's text is a sentence for who uploaded it."""


class Interrupted(Exception):
    """Who reads a file is to end before it is read: no fault of the file's. Somebody else begins it anew."""
