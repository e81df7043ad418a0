"""`python -m config.web [daphne's options]` serves the application; without options on 127.0.0.1:8000."""

import sys

import config.asgi  # noqa: F401  (sets Django up, which the server's modules need)
from config.web.server import CommandLine

if __name__ == "__main__":
    CommandLine().run([*sys.argv[1:], "config.asgi:application"])
