"""What is known of clients by their headers, where their habits need an answer of their own."""

from collections.abc import Mapping
from typing import Final, Literal

_CODEX: Final = b"codex"


def leaves_out_tools(
    headers: Mapping[bytes, bytes], key_says: Literal["auto", "refuse", "leave_out"]
) -> bool:
    """Whether tools that are not served are left out of a request, rather than refused. Names are in lower case.

    Codex sends hosted tools and namespaces with every request, wanted or not, and no setting of it keeps it from that:
    refused, it could not ask anything.
    """
    if key_says != "auto":
        return key_says == "leave_out"
    return headers.get(b"originator", b"").lower().startswith(_CODEX)
