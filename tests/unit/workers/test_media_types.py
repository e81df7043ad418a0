"""Bytes are what they begin as, whatever anybody calls them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.media_types import ENDINGS, type_of


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"GIF87a...", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x1cftypavif", "image/avif"),
        (b"\x00\x00\x00\x1cftypheic", "image/heic"),
        (b"\x00\x00\x00\x1cftypisom", "video/mp4"),
        (b"\x00\x00\x00\x1cftypqt  ", "video/quicktime"),
        (b"\x1aE\xdf\xa3...", "video/webm"),
        (b"%PDF-1.7", "application/pdf"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/plain"),
        ("Grüße".encode(), "text/plain"),
        (b"RIFF\x00\x00\x00\x00WAVE\xff", None),
        (b"\x7fELF\x02\x01\x01\x00", None),
        (b"PK\x03\x04\x14\x00", None),
        (b"MZ\x90\x00", None),
        (b"text with a \x00", None),
        ("Grüße".encode("latin-1"), None),
    ],
)
def test_content_is_known_by_how_it_begins(content: bytes, media_type: str | None) -> None:
    assert type_of(content) == media_type


@given(st.binary(max_size=40))
def test_any_bytes_have_a_type_with_an_ending_or_none(content: bytes) -> None:
    assert type_of(content) is None or type_of(content) in ENDINGS
