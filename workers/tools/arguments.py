"""The arguments of a call, as the model wrote them."""

import orjson

from responses_api.protocol.plain import Json


def read_arguments(arguments: str) -> Json | None:
    """The arguments as the model meant them, none being an empty object; None where they are no JSON object."""
    try:
        read = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return None
    return read if isinstance(read, dict) else None
