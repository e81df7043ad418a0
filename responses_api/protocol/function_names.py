"""What a function may be called: the one rule that tools of other makers are renamed by.

Specification: `FunctionToolParam`.
"""

import re
from typing import Final

LONGEST: Final = 64
"""The most characters that a function's name may have."""

_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


def fit_letters(name: str) -> str:
    """The name with an underscore in the place of each character that none may have; as long as it was."""
    return _UNFIT.sub("_", name)
