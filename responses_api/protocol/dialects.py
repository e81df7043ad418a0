"""Whose event names a client knows: what its key says, else what the headers of its request tell."""

from collections.abc import Mapping
from typing import Final, Literal

from responses_api.protocol.event_types import Dialect

_OPENAI_AGENTS: Final = (b"ai-sdk/",)


def dialect_of(headers: Mapping[bytes, bytes], key_says: Literal["auto", "open", "openai"]) -> Dialect:
    """Which names a client knows for raw reasoning and for the receipts of the service's own tools: OpenAI's family has
    its own. Names of headers are in lower case.
    """
    if key_says != "auto":
        return key_says
    if b"originator" in headers or any(name.startswith(b"x-stainless-") for name in headers):
        return "openai"
    agent = headers.get(b"user-agent", b"").lower()
    return "openai" if any(mark in agent for mark in _OPENAI_AGENTS) else "open"
