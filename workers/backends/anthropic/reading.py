"""What a model reads of a Messages request, to be counted."""

from responses_api.protocol.plain import Json
from workers.backends.counting import ANSWER_TOKENS, CALL_TOKENS, MESSAGE_TOKENS, Reading


def read(body: Json) -> Reading:
    """The texts of a body that `request.build` made, and what else costs tokens."""
    reading = Reading(tokens=ANSWER_TOKENS)
    if body.get("system"):
        reading.tokens += MESSAGE_TOKENS
        _read_blocks(reading, body["system"])
    for message in body["messages"]:
        reading.tokens += MESSAGE_TOKENS
        _read_blocks(reading, message["content"])
    for tool in body.get("tools") or ():
        reading.add_json({name: value for name, value in tool.items() if name != "cache_control"})
    form = (body.get("output_config") or {}).get("format")
    if form:
        reading.add_json(form["schema"])
    return reading


def _read_blocks(reading: Reading, blocks: list[Json]) -> None:
    for block in blocks:
        _read_block(reading, block)


def _read_block(reading: Reading, block: Json) -> None:
    kind = block["type"]
    if kind == "text":
        reading.texts.append(block["text"])
    elif kind == "thinking":
        reading.texts.append(str(block.get("thinking") or ""))
    elif kind == "tool_use":
        reading.tokens += CALL_TOKENS
        reading.texts.append(block["name"])
        reading.add_json(block["input"])
    elif kind == "tool_result":
        _read_blocks(reading, block.get("content") or [])
    elif kind == "image":
        reading.add_image(None)
    elif kind == "document":
        _read_document(reading, block)


def _read_document(reading: Reading, block: Json) -> None:
    reading.texts.append(block.get("title") or "")
    source = block["source"]
    if source["type"] == "text":
        reading.texts.append(source["data"])
    elif source["type"] == "base64":
        reading.add_file(source["data"])
