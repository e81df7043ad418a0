"""One call and its answer as a report keeps them: as text, of bounded size, without the run's keys."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json, fields_of

MOST_SENT: Final = 8_000
MOST_RECEIVED: Final = 24_000
"""In characters. The beginning and the end are kept: a stream's faults are often there."""

_LEFT_OUT: Final = "<key>"


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was sent and what came. `status` 0: no whole answer. What was longer is cut, and says so in its middle."""

    request: str
    sent: str
    status: int
    media_type: str
    received: str

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return fields_of(self)


def exchange_of(answer: Answer, secrets: Iterable[str]) -> Exchange:
    """What may be kept of a call: headers, which hold the key, never."""
    secret = tuple(secrets)
    return Exchange(
        request=answer.request,
        sent=_short(shown(answer.sent.decode(errors="replace"), secret), MOST_SENT),
        status=answer.status,
        media_type=answer.media_type[:100],
        received=_short(shown(answer.body.decode(errors="replace"), secret), MOST_RECEIVED),
    )


def shown(text: str, secrets: Iterable[str]) -> str:
    """The text without keys, and without the one character that a database does not take."""
    for secret in filter(None, secrets):
        text = text.replace(secret, _LEFT_OUT)
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}")


def _short(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n…({len(text) - 2 * half} characters are left out)…\n{text[-half:]}"
