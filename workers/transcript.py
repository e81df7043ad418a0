"""A conversation as text, for a model that is to tell it shorter. Pure: items in, entries out.

What is no text is named. Reasoning is left out, as it is for any model but its own.
"""

from collections.abc import Callable, Iterable, Sequence

from responses_api.protocol.job import STATE
from responses_api.protocol.plain import Json
from responses_api.protocol.sse import encode

_BETWEEN = "\n\n"


def transcript(items: Sequence[Json]) -> list[str]:
    """One entry for each item that says something, oldest first."""
    return [entry for item in items if (entry := _entry(item))]


def _entry(item: Json) -> str:
    kind = item["type"]
    if kind == "message":
        return f"[{item['role']}]\n{_content(item['content'])}"
    if kind == "function_call":
        return f"[assistant calls {item['name']}, {item['call_id']}]\n{item['arguments']}"
    if kind == "function_call_output":
        return f"[output of {item['call_id']}]\n{_content(item['output'])}"
    if kind == "reasoning":
        return ""
    told = {name: value for name, value in item.items() if name != STATE}
    return f"[{kind}]\n{encode(told).decode()}"


def _content(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_PARTS.get(part["type"], _unknown)(part) for part in content)


def _text(part: Json) -> str:
    return str(part["text"])


def _refusal(part: Json) -> str:
    return f"(refuses) {part['refusal']}"


def _image(part: Json) -> str:
    return f"(an image: {_where(part, 'image_url')})"


def _file(part: Json) -> str:
    name = part.get("filename") or "without a name"
    if part.get("file_data"):
        return f"(a file, {name}: {_size(part['file_data'])})"
    return f"(a file, {name}: {_where(part, 'file_url')})"


def _video(part: Json) -> str:
    return f"(a video: {_address(part.get('video_url'))})"


def _unknown(part: Json) -> str:
    return f"({part['type']}) {encode(part).decode()}"


def _where(part: Json, field: str) -> str:
    """Where the content of a part is: at an address, or in an uploaded file."""
    return f"uploaded as {part['file_id']}" if part.get("file_id") else _address(part.get(field))


def _address(url: str | None) -> str:
    """Where something is; of a data URL its type, for its content is no text."""
    if url is None:
        return "not to be found"
    if url[:5].lower() == "data:":
        return f"{url[5:].partition(';')[0][:80]}, {_size(url)}"
    return url


def _size(data: str) -> str:
    return f"{len(data):,} characters of data"


_PARTS: dict[str, Callable[[Json], str]] = {
    **dict.fromkeys(("input_text", "output_text", "text", "summary_text"), _text),
    "refusal": _refusal,
    "input_image": _image,
    "input_file": _file,
    "input_video": _video,
}


class Cutter:
    """A text of entries in pieces of at most so many characters, cut between entries where that is possible."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._text = _BETWEEN.join(entries)
        self._at = 0

    @property
    def is_empty(self) -> bool:
        """Whether everything was taken."""
        return self._at >= len(self._text)

    def peek(self, most: int) -> str:
        """The next piece."""
        end = self._at + most
        if end < len(self._text):
            cut = self._text.rfind(_BETWEEN, self._at + 1, end + len(_BETWEEN))
            end = cut if cut > 0 else end
        return self._text[self._at : end]

    def take(self, piece: str) -> None:
        """Take off what `peek` gave."""
        self._at += len(piece)
        if self._text.startswith(_BETWEEN, self._at):
            self._at += len(_BETWEEN)
