"""What a client is shown of the sealed state of reasoning, which its connection must remember in any case.

A stored response keeps that state whether or not it is shown. One that is not stored has only its events to tell it: so
the worker is asked to show it, and it is taken out again on the way to a client that did not ask.
"""

from dataclasses import replace
from typing import Final

from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.response import ENCRYPTED_CONTENT, shown_item, shown_output
from responses_api.protocol.sse import decode, encode

_MARK: Final = b'"encrypted_content":'


def asked_of_the_worker(request: CreateRequest) -> CreateRequest:
    """The request as the worker gets it, so that its events tell everything that must be remembered."""
    if request.store or ENCRYPTED_CONTENT in request.include:
        return request
    return replace(request, include=[*request.include, ENCRYPTED_CONTENT])


def shown_event(data: bytes, request: CreateRequest) -> bytes:
    """An event as the client of `request` gets it."""
    if _MARK not in data or ENCRYPTED_CONTENT in request.include:
        return data
    event: Json = decode(data)
    if "item" in event:
        event["item"] = shown_item(event["item"], request.include)
    if "response" in event:
        output = shown_output(event["response"]["output"], request.include)
        event["response"] = {**event["response"], "output": output}
    return encode(event)
