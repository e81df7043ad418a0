"""The passages of a file, whatever its format, within bounds of time and memory.

Files are read and cut in a process of their own (`python -m workers.indexing.extraction FORMAT`), which the kernel
keeps to its bounds: a hostile file costs that process its time, never a worker. Plain text, too: a long one, or one
made for it, would hold the lock that all responses of a worker share.
"""

import resource
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import orjson

from responses_api.protocol.plain import Json, record_of
from workers.indexing.chunking import Chunk, chunks
from workers.indexing.document import Document
from workers.indexing.errors import Interrupted, Unreadable
from workers.indexing.formats import Format, format_of

MOST_BYTES: Final = 64 << 20
"""How large a file is read at all."""
MOST_CHUNKS: Final = 10_000
"""Of one file: about 2 million words."""
_SECONDS: Final = 120
_MEMORY_BYTES: Final = 1 << 30
_FROM_OUTSIDE: Final = (-signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP)
"""How the process ends where everything of a worker is stopped at once: by a service manager, or at a terminal."""
_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Passages:
    """What search finds of a file. `note`, a sentence, says what could not be read."""

    chunks: tuple[Chunk, ...]
    note: str | None = None


def extract(data: bytes, filename: str, media_type: str, *, seconds: int = _SECONDS) -> Passages:
    """The passages of a file. Raises `Unreadable` for one that has none, is too large or too long, or takes longer than
    `seconds`; `Interrupted`.
    """
    if len(data) > MOST_BYTES:
        raise Unreadable(f"It is larger than {MOST_BYTES >> 20} MB: split it, so that it can be searched.")
    if not data.strip():
        raise Unreadable("It is empty.")
    answer = _read_apart(format_of(data, filename, media_type), data, seconds)
    if "unreadable" in answer:
        raise Unreadable(answer["unreadable"])
    told = ({**chunk, "headings": tuple(chunk["headings"])} for chunk in answer["chunks"])
    return Passages(tuple(record_of(Chunk, chunk) for chunk in told), answer["note"])


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


def _read_apart(kind: Format, data: bytes, seconds: int) -> Json:
    try:
        ended = subprocess.run(
            _command(kind, seconds), input=data, capture_output=True, cwd=_ROOT, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise Unreadable(f"Reading it took longer than {seconds} seconds.") from None
    if ended.returncode in _FROM_OUTSIDE:
        raise Interrupted
    if ended.returncode != 0:
        raise Unreadable("It takes more time or memory to be read than one file may.")
    answer: Json = orjson.loads(ended.stdout)
    return answer


def _command(kind: Format, seconds: int) -> list[str]:
    return [sys.executable, "-m", __spec__.name, kind.value, str(seconds)]


def _cut(document: Document) -> Json:
    """The passages as JSON. Raises `Unreadable` for none, and for more than a file may have: those are not kept."""
    kept: list[Chunk] = []
    count = 0
    for chunk in chunks(document):
        count += 1
        if count <= MOST_CHUNKS:
            kept.append(chunk)
    if not count:
        raise Unreadable("It has no text.")
    if count > MOST_CHUNKS:
        raise Unreadable(f"Its text is too long: split it into {-(-count // MOST_CHUNKS)} files or more.")
    return {"chunks": [asdict(chunk) for chunk in kept], "note": document.note}


def _main(kind: str, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = sys.stdin.buffer.read()
    try:
        answer = _cut(read(Format(kind), data))
    except Unreadable as error:
        answer = {"unreadable": str(error)}
    sys.stdout.buffer.write(orjson.dumps(answer))


if __name__ == "__main__":
    _main(sys.argv[1], int(sys.argv[2]))
