"""What a model reads of a generateContent request, to be counted."""

from responses_api.protocol.plain import Json
from workers.backends.counting import ANSWER_TOKENS, CALL_TOKENS, MESSAGE_TOKENS, Reading


def read(body: Json) -> Reading:
    """The texts of a body that `request.build` made, and what else costs tokens. Signatures are not read."""
    reading = Reading(tokens=ANSWER_TOKENS)
    for content in (body.get("systemInstruction"), *body["contents"]):
        if content is not None:
            reading.tokens += MESSAGE_TOKENS
            for part in content["parts"]:
                _read_part(reading, part)
    for tool in body.get("tools") or ():
        for declaration in tool.get("functionDeclarations") or ():
            reading.add_json(declaration)
    schema = (body.get("generationConfig") or {}).get("responseJsonSchema")
    if schema is not None:
        reading.add_json(schema)
    return reading


def _read_part(reading: Reading, part: Json) -> None:
    if "text" in part:
        reading.texts.append(part["text"])
    elif "functionCall" in part:
        reading.tokens += CALL_TOKENS
        reading.texts.append(part["functionCall"]["name"])
        reading.add_json(part["functionCall"]["args"])
    elif "functionResponse" in part:
        answer = part["functionResponse"]
        reading.texts.append(answer["response"]["output"])
        for media in answer.get("parts") or ():
            _read_media(reading, media)
    else:
        _read_media(reading, part)


def _read_media(reading: Reading, part: Json) -> None:
    """An image by rule, another file by its bytes; how large one at an address is, nobody here knows."""
    inline = part.get("inlineData")
    if inline is None or inline["mimeType"].startswith("image/"):
        reading.add_image(None)
    else:
        reading.add_file(inline["data"])
