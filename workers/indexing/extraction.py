"""The text of a file, whatever its format, within bounds of time and memory.

Formats that take a parser are read in a process of their own (`python -m workers.indexing.extraction FORMAT`), which
the kernel keeps to its bounds: a hostile file costs a few seconds, never a worker.
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

import orjson

from workers.indexing.document import Document
from workers.indexing.errors import Unreadable
from workers.indexing.formats import Format, format_of

MOST_BYTES: Final = 64 << 20
"""How large a file is read at all."""
_SECONDS: Final = 120
_MEMORY_BYTES: Final = 1 << 30
_ROOT: Final = Path(__file__).resolve().parents[2]
_IN_PROCESS: Final = (Format.TEXT, Format.MARKDOWN)


def extract(data: bytes, filename: str, media_type: str, *, seconds: int = _SECONDS) -> Document:
    """The text of a file. Raises `Unreadable` for one that has none, is too large, or takes longer than `seconds`."""
    if len(data) > MOST_BYTES:
        raise Unreadable(f"It is larger than {MOST_BYTES >> 20} MB: split it, so that it can be searched.")
    if not data.strip():
        raise Unreadable("It is empty.")
    kind = format_of(data, filename, media_type)
    document = read(kind, data) if kind in _IN_PROCESS else _read_apart(kind, data, seconds)
    if not document.blocks:
        raise Unreadable("It has no text.")
    return document


def read(kind: Format, data: bytes) -> Document:
    """Read a file of this format here and now. Raises `Unreadable`."""
    # Each parser is loaded where it is needed: a process of its own needs one.
    match kind:
        case Format.TEXT:
            from workers.indexing.text import read_text

            return read_text(data)
        case Format.MARKDOWN:
            from workers.indexing.markdown import read_markdown

            return read_markdown(data)
        case Format.HTML:
            from workers.indexing.html import read_html

            return read_html(data)
        case Format.PDF:
            from workers.indexing.pdf import read_pdf

            return read_pdf(data)
        case Format.WORD:
            from workers.indexing.word import read_word

            return read_word(data)


def _read_apart(kind: Format, data: bytes, seconds: int) -> Document:
    command = [sys.executable, "-m", __spec__.name, kind.value, str(seconds)]
    try:
        ended = subprocess.run(
            command, input=data, capture_output=True, cwd=_ROOT, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unreadable(f"Reading it took longer than {seconds} seconds.") from None
    if ended.returncode != 0:
        raise Unreadable("It takes more time or memory to be read than one file may.")
    answer = orjson.loads(ended.stdout)
    if "unreadable" in answer:
        raise Unreadable(answer["unreadable"])
    return Document.from_plain(answer)


def _main(kind: str, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    try:
        answer = read(Format(kind), data).to_plain()
    except Unreadable as error:
        answer = {"unreadable": str(error)}
    sys.stdout.buffer.write(orjson.dumps(answer))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
