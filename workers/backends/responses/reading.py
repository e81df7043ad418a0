"""What a model reads of a Responses request, to be counted."""

from responses_api.protocol.plain import Json
from workers.backends.counting import ANSWER_TOKENS, CALL_TOKENS, MESSAGE_TOKENS, Reading


def read(body: Json) -> Reading:
    """The texts of a body that `request.build` made, and what else costs tokens."""
    reading = Reading(tokens=ANSWER_TOKENS)
    if body.get("instructions"):
        reading.tokens += MESSAGE_TOKENS
        reading.texts.append(body["instructions"])
    for item in body["input"]:
        _read_item(reading, item)
    for tool in body.get("tools") or ():
        reading.add_json(tool)
    form = (body.get("text") or {}).get("format") or {}
    if "schema" in form:
        reading.add_json(form)
    return reading


def _read_item(reading: Reading, item: Json) -> None:
    kind = item["type"]
    if kind == "function_call":
        reading.tokens += CALL_TOKENS
        reading.texts += (item["name"], item["arguments"])
        return
    reading.tokens += MESSAGE_TOKENS
    if kind == "message":
        _read_parts(reading, item["content"])
    elif kind == "function_call_output":
        _read_parts(reading, item["output"])
    elif kind == "reasoning":
        # What is encrypted is longer than what was thought, or shorter: nobody but its backend knows.
        _read_parts(reading, [*(item.get("content") or ()), *(item.get("summary") or ())])
    else:
        reading.add_json(item)


def _read_parts(reading: Reading, parts: str | list[Json]) -> None:
    if isinstance(parts, str):
        reading.texts.append(parts)
        return
    for part in parts:
        kind = part.get("type")
        if kind == "input_image":
            reading.add_image(part.get("detail"))
        elif kind == "input_file":
            reading.texts.append(part.get("filename") or "")
            reading.add_file(part.get("file_data") or "")
        else:
            reading.texts.append(part.get("text") or part.get("refusal") or "")
