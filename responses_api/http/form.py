"""A form with a file (`multipart/form-data`, RFC 7578), read while it comes: nothing of the file is kept here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from responses_api.protocol.errors import ProtocolError, invalid_request

_MOST_PARTS: Final = 50
_LONGEST_FIELD_BYTES: Final = 4_096
_FORM: Final = b"multipart/form-data"
_FILE: Final = "file"


@dataclass(frozen=True, slots=True)
class FileBegins:
    """The file of the form: its name and media type as they were sent."""

    name: str
    media_type: str


class FormReader:
    """Reads one form: what it says of the file comes out as it comes in, its other fields are in `fields`.

    Raises `ProtocolError`: 415 for a body that is no form, 400 for one that is broken.
    """

    def __init__(self, headers: Mapping[bytes, bytes]) -> None:
        self.fields: dict[str, str] = {}
        self._parser = _parser_of(headers, self)
        self._found: list[FileBegins | bytes] = []
        self._headers: dict[str, bytes] = {}
        self._header_name = self._header_value = b""
        self._field: str | None = None
        self._value = b""
        self._parts = 0
        self._has_file = self._is_file = self._is_over = False

    def read(self, data: bytes) -> Iterator[FileBegins | bytes]:
        """The next bytes of the body; what they tell of the file: that it begins, and what is in it."""
        try:
            self._parser.write(data)
        except FormParserError:
            raise _broken() from None
        found, self._found = self._found, []
        yield from found

    def close(self) -> None:
        """The body has come to its end."""
        if not self._is_over:
            raise _broken()

    # ---- what the parser tells

    def on_part_begin(self) -> None:
        """A part begins."""
        self._headers = {}
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise invalid_request(f"The form has more than {_MOST_PARTS} fields.")

    def on_header_field(self, data: bytes, start: int, end: int) -> None:
        """Some of a header's name."""
        self._header_name += data[start:end]

    def on_header_value(self, data: bytes, start: int, end: int) -> None:
        """Some of a header's value."""
        self._header_value += data[start:end]

    def on_header_end(self) -> None:
        """A header is whole."""
        self._headers[self._header_name.decode("latin-1").lower()] = self._header_value
        self._header_name = self._header_value = b""

    def on_headers_finished(self) -> None:
        """The part's content begins."""
        _, told = parse_options_header(self._headers.get("content-disposition", b""))
        if b"name" not in told:
            raise _broken()
        name = _text(told[b"name"])
        self._is_file = name == _FILE
        self._field, self._value = None if self._is_file else name, b""
        if not self._is_file:
            return
        if self._has_file:
            raise invalid_request("'file' was sent twice; upload one file at a time.", param=_FILE)
        if b"filename" not in told:
            raise invalid_request(
                "'file' must be a file: its part needs a `filename` in its Content-Disposition.", param=_FILE
            )
        self._has_file = True
        media_type = self._headers.get("content-type", b"").decode("latin-1")
        self._found.append(FileBegins(_unescaped(_text(told[b"filename"])), media_type))

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Some of the part's content."""
        if self._is_file:
            self._found.append(data[start:end])
            return
        self._value += data[start:end]
        if len(self._value) > _LONGEST_FIELD_BYTES:
            raise invalid_request(
                f"A field of the form is longer than {_LONGEST_FIELD_BYTES} bytes.", code="invalid_value"
            )

    def on_part_end(self) -> None:
        """The part is whole."""
        if self._field is not None:
            self.fields[self._field] = _text(self._value)

    def on_end(self) -> None:
        """The form is whole."""
        self._is_over = True


def _parser_of(headers: Mapping[bytes, bytes], told: FormReader) -> MultipartParser:
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise invalid_request("A form with a file is not to be compressed (Content-Encoding).", status=415)
    kind, options = parse_options_header(headers.get(b"content-type", b"").decode("latin-1"))
    boundary = options.get(b"boundary")
    if kind != _FORM or not boundary:
        raise invalid_request(
            "The header Content-Type must be multipart/form-data, with its boundary.", status=415
        )
    callbacks: Any = {
        name: getattr(told, name)
        for name in (
            "on_part_begin",
            "on_header_field",
            "on_header_value",
            "on_header_end",
            "on_headers_finished",
            "on_part_data",
            "on_part_end",
            "on_end",
        )
    }
    try:
        return MultipartParser(boundary, callbacks)
    except FormParserError:
        raise _broken() from None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\x00", "")


def _unescaped(name: str) -> str:
    """A name as it was before its sender escaped what would end it (WHATWG's HTML, "multipart form data")."""
    return name.replace("%22", '"').replace("%0D", "").replace("%0A", "")


def _broken() -> ProtocolError:
    return invalid_request(
        "The request body is no well-formed form (multipart/form-data): it is broken or cut off."
    )
