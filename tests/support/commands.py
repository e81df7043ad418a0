"""Management commands one after another in one process: Django is loaded once, not for each of them.

It reads a list of argument lists as JSON and prints the list of what they printed.
"""

import io
import json
import os
import sys

import django
from django.core.management import call_command


def main() -> None:
    """Run what standard input names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps([printed(*arguments) for arguments in json.load(sys.stdin)]))


def printed(*arguments: str) -> str:
    """Run one command; what it printed."""
    output = io.StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


if __name__ == "__main__":
    main()
