"""A picture to ask about: one colour, made here."""

import base64
import struct
import zlib
from typing import Final

COLOURS: Final = {
    "red": (220, 0, 0),
    "green": (0, 160, 0),
    "blue": (0, 0, 220),
    "yellow": (250, 220, 0),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
}
_SIDE: Final = 64  # pixels


def picture_of(colour: str) -> str:
    """A PNG, as a data URL."""
    line = b"\x00" + bytes(COLOURS[colour]) * _SIDE
    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)  # 8 bits for each of red, green and blue
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(line * _SIDE)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
