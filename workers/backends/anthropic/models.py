"""What the name of a model tells about what may be asked of it.

The format is one, its models differ: newer ones think as they see fit, refuse settings that older ones demand, and
hold an answer to a schema. Servers of other models that speak the format know its older half, and its forms.
"""

import re
from dataclasses import dataclass
from typing import Final

Version = tuple[int, int]

_CLAUDE: Final = "claude"
_NEWEST: Final[Version] = (99, 0)
# The numbers may stand before the family or behind it; eight digits are a date.
_VERSION: Final = re.compile(r"claude-(?:[a-z]+-)*(\d{1,2})(?:[-.](\d{1,2}))?(?![\d.])")
_FAMILY: Final = re.compile(r"opus|sonnet|haiku|fable|mythos")
_ALWAYS_THINKING: Final = frozenset({"fable", "mythos"})
_LONG_OUTPUT: Final = 32_000
_OUTPUT: Final = 8_192


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its name: the version of a Claude, or None for any other, and its family ("" where it names none)."""

    version: Version | None
    family: str = ""

    @property
    def is_claude(self) -> bool:
        """Whether Anthropic made it: nobody else checks what comes back."""
        return self.version is not None

    @property
    def thinks_freely(self) -> bool:
        """Whether it is told how much effort to make, and not how many tokens it may think."""
        return self._is_from((4, 6))

    @property
    def thinks_unasked(self) -> bool:
        """Whether it thinks where nobody says how much."""
        return self._is_from((5, 0))

    @property
    def always_thinks(self) -> bool:
        """Whether it cannot be told not to think; such a one cannot be made to call a tool, either."""
        return self.family in _ALWAYS_THINKING or (self.family == "opus" and self._is_from((5, 5)))

    @property
    def least_thinking(self) -> str:
        """The type of `thinking` with which it thinks least."""
        return "between_tools" if self.family == "sonnet" and self._is_from((5, 5)) else "disabled"

    @property
    def knows_xhigh(self) -> bool:
        """Whether it has a level between `high` and the highest."""
        return self._is_from((4, 7))

    @property
    def samples_by_itself(self) -> bool:
        """Whether it refuses `temperature` and `top_p`."""
        return self._is_from((4, 7))

    @property
    def holds_to_schemas(self) -> bool:
        """Whether its answer can be held to a JSON Schema. Of any server's own models the format says that it can: the
        row of a backend tells of one that does not.
        """
        return not self.is_claude or self._is_from((4, 5))

    @property
    def holds_calls_to_schemas(self) -> bool:
        """Whether a tool may be `strict`."""
        return self._is_from((4, 5))

    @property
    def summarises(self) -> bool:
        """Whether the thinking that it tells is a summary of what it thought."""
        return self._is_from((4, 0))

    @property
    def usual_output(self) -> int:
        """How long an answer may be where nobody says: the format has no default. In tokens."""
        return _LONG_OUTPUT if self._is_from((3, 7)) else _OUTPUT

    def _is_from(self, version: Version) -> bool:
        return self.version is not None and self.version >= version


def model_of(name: str) -> Model:
    """The model of that name. A Claude without a number is a new one."""
    lowered = name.lower()
    if _CLAUDE not in lowered:
        return Model(None)
    found, family = _VERSION.search(lowered), _FAMILY.search(lowered)
    version = (int(found[1]), int(found[2] or 0)) if found else _NEWEST
    return Model(version, family[0] if family else "")
