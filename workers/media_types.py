"""What some bytes are, by how they begin: what a server calls them is no more than its word."""

from typing import Final

_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
# ISO base media: the brand behind `ftyp` says what is in the file.
_BRANDS: Final = {b"avif": "image/avif", b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heif"}
_QUICKTIME: Final = b"qt  "
_NO_TEXT: Final = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")

TEXT: Final = "text/plain"
ENDINGS: Final = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/bmp": "bmp",
    "image/tiff": "tiff",
    "image/webp": "webp",
    "image/avif": "avif",
    "image/heic": "heic",
    "image/heif": "heif",
    "application/pdf": "pdf",
    "video/webm": "webm",
    "video/mp4": "mp4",
    "video/quicktime": "mov",
    TEXT: "txt",
}
"""How the name of a file of each type ends."""


def type_of(content: bytes) -> str | None:
    """The media type of an image, a video, a PDF or text in UTF-8 (`TEXT`); None for anything else."""
    for beginning, media_type in _BEGINNINGS:
        if content.startswith(beginning):
            return media_type
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    if content[4:8] == b"ftyp":
        brand = content[8:12]
        return _BRANDS.get(brand, "video/quicktime" if brand == _QUICKTIME else "video/mp4")
    return TEXT if _is_text(content) else None


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return not _NO_TEXT.intersection(content)
