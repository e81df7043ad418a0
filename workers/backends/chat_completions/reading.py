"""What a model reads of a Chat Completions request, to be counted."""

from responses_api.protocol.plain import Json
from workers.backends.chat_completions.reasoning import REASONING_FIELDS
from workers.backends.counting import ANSWER_TOKENS, CALL_TOKENS, MESSAGE_TOKENS, Reading


def read(body: Json) -> Reading:
    """The texts of a body that `request.build` made, and what else costs tokens."""
    reading = Reading(tokens=ANSWER_TOKENS)
    for message in body["messages"]:
        _read_message(reading, message)
    for tool in body.get("tools") or ():
        reading.add_json(tool["function"])
    form = body.get("response_format") or {}
    if "json_schema" in form:
        reading.add_json(form["json_schema"])
    return reading


def _read_message(reading: Reading, message: Json) -> None:
    reading.tokens += MESSAGE_TOKENS
    content = message.get("content")
    if isinstance(content, str):
        reading.texts.append(content)
    for part in content if isinstance(content, list) else ():
        _read_part(reading, part)
    for field in REASONING_FIELDS:
        if field in message:
            reading.add_json(message[field])
    if message.get("refusal"):
        reading.texts.append(message["refusal"])
    for call in message.get("tool_calls") or ():
        reading.tokens += CALL_TOKENS
        reading.texts += (call["function"]["name"], call["function"]["arguments"])


def _read_part(reading: Reading, part: Json) -> None:
    if part["type"] == "text":
        reading.texts.append(part["text"])
    elif part["type"] == "image_url":
        reading.add_image(part["image_url"].get("detail"))
    elif part["type"] == "file":
        reading.texts.append(part["file"].get("filename") or "")
        reading.add_file(part["file"].get("file_data") or "")
