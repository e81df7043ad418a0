"""The JSON that clients send, read with bounds on the work that it makes."""

from typing import Any, Final

from responses_api.protocol.errors import invalid_request
from responses_api.protocol.sse import decode

LARGE_BYTES: Final = 1 << 18
"""Text of this size is parsed in a millisecond or two; what is larger is parsed beside the event loop."""

MANY_ITEMS: Final = 500
"""So many are mapped in a few milliseconds; a context of more items is mapped beside the event loop."""

_MOST_VALUES: Final = 1_000_000


def read_json(raw: bytes, what: str = "The request body") -> Any:
    """The JSON in `raw`, which an error calls `what`.

    Raises `ProtocolError`: 400 for what is not JSON, 413 where it has more values than anybody means.
    """
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > _MOST_VALUES:
        # Counted in the text, which is quick: building so many objects would hold everybody else up for seconds.
        raise invalid_request(f"{what} has more than {_MOST_VALUES} values.", status=413)
    try:
        return decode(raw)
    except ValueError as error:
        raise invalid_request(f"{what} is not valid JSON: {error}.", code="invalid_json") from None
    except RecursionError:
        raise invalid_request(f"{what} is nested too deeply.", code="invalid_json") from None
