"""The text of a file, or a sentence that says why there is none."""

import codecs

import pytest

from tests.support.documents import hostile_pdf, pdf, word, zipped
from workers.indexing.document import Block
from workers.indexing.errors import Unreadable
from workers.indexing.extraction import MOST_BYTES, MOST_CHUNKS, extract, read
from workers.indexing.formats import format_of
from workers.indexing.pdf import MOST_PAGES

STREET = "Größe und Maß der Straße: die Häuser stehen süß und schön über dem Fluß."


def blocks(data: bytes, filename: str = "a", media_type: str = "") -> tuple[Block, ...]:
    return read(format_of(data, filename, media_type), data).blocks


def why(data: bytes, filename: str = "a", media_type: str = "", seconds: int = 60) -> str:
    with pytest.raises(Unreadable) as refused:
        extract(data, filename, media_type, seconds=seconds)
    return str(refused.value)


@pytest.mark.parametrize(
    "data",
    [
        STREET.encode(),
        codecs.BOM_UTF8 + STREET.encode(),
        STREET.encode("utf-16"),
        STREET.encode("utf-32"),
        codecs.BOM_UTF16_BE + STREET.encode("utf-16-be"),
        (STREET * 3).encode("latin-1"),
    ],
)
def test_a_text_is_read_in_the_encoding_that_it_has(data: bytes) -> None:
    assert blocks(data)[0].text.startswith(STREET)


def test_paragraphs_are_told_apart_by_empty_lines() -> None:
    assert [block.text for block in blocks(b"one\r\ntwo\r\n \r\n\r\nthree\x07\n")] == ["one\ntwo", "three"]


def test_markdown_stands_under_its_headings() -> None:
    text = b"Title\n=====\nhello\n\n## A *b* ##\n```\n# no heading\n```\nworld\n\n# Other\nend\n\n***\n"
    assert blocks(text, "a.md") == (
        Block("hello", ("Title",)),
        Block("```\n# no heading\n```\nworld", ("Title", "A *b*")),
        Block("end", ("Other",)),
        Block("***", ("Other",)),
    )


def test_a_heading_of_spaces_without_end_is_read_at_once() -> None:
    text = b"# " + b" " * 100_000 + b"x" + b" " * 100_000 + b"y ##\nhello"
    assert blocks(text, "a.md") == (Block("hello", ("x y",)),)


def test_a_text_is_read_where_it_holds_up_nobody() -> None:
    assert why(b"ab\n\n" * (5 << 20), "a.txt", seconds=1) in (
        "Reading it took longer than 1 seconds.",
        "It takes more time or memory to be read than one file may.",
    )


def test_a_text_that_is_too_long_says_how_many_files_it_takes() -> None:
    text = b"\n\n".join([b"word " * 200] * (MOST_CHUNKS + 1))
    assert why(text) == "Its text is too long: split it into 2 files or more."


def test_html_is_read_as_it_is_seen() -> None:
    page = (
        b"<!DOCTYPE html><html><head><title>The\n guide</title><style>p {}</style></head><body><script>evil()</script>"
        b"<h1>Files</h1><p>At <b>most</b>\n100&nbsp;MB<br>each<p hidden>secret<!-- note --><h2>Kinds</h2>"
        b"<table><tr><td>PDF<td>yes</table><pre>a\nb</pre>rest</body></html>"
    )
    assert blocks(page) == (
        Block("At most 100\xa0MB\neach", ("The guide", "Files")),
        Block("PDF | yes", ("The guide", "Files", "Kinds")),
        Block("a\nb", ("The guide", "Files", "Kinds")),
        Block("rest", ("The guide", "Files", "Kinds")),
    )


def test_html_without_a_charset_is_read_in_the_encoding_that_it_has() -> None:
    assert blocks(f"<html><p>{STREET}".encode())[0].text == STREET


def test_html_may_be_nested_deeper_than_anybody_reads() -> None:
    assert blocks(b"<html>" + b"<div>" * 2000 + b"deep") == (Block("deep"),)


def test_a_pdf_is_read_page_by_page() -> None:
    read = blocks(pdf("The first page.", "The second page.", title="A report"))
    assert read == (Block("The first page.", ("A report",), 1), Block("The second page.", ("A report",), 2))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"%PDF-1.7 and nothing more", "It is no PDF that can be read: it is broken, or not whole."),
        (pdf("text")[:400], "It is no PDF that can be read: it is broken, or not whole."),
        (pdf("text", password="secret"), "It is encrypted: it can be read without a password only."),
        (pdf("", ""), "It has no text: its pages are pictures, or empty."),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(data: bytes, sentence: str) -> None:
    assert why(data, "a.pdf") == sentence


def test_of_a_very_long_pdf_the_first_pages_are_read() -> None:
    read = extract(pdf(*(["page"] * (MOST_PAGES + 1))), "a.pdf", "")
    assert sum(chunk.text.count("page") for chunk in read.chunks) >= MOST_PAGES
    assert read.note == f"Only the first {MOST_PAGES} of its {MOST_PAGES + 1} pages were read."


def test_a_pdf_that_would_take_for_ever_is_given_up() -> None:
    assert why(hostile_pdf(), seconds=2) in (
        "Reading it took longer than 2 seconds.",
        "It takes more time or memory to be read than one file may.",
    )


def test_a_word_document_stands_under_its_headings() -> None:
    read = blocks(word(("Title", "Report"), ("Heading1", "Size"), ("", "At most 100 MB.")))
    assert read == (Block("At most 100 MB.", ("Report", "Size")),)


def test_a_word_document_that_unpacks_without_end_is_refused() -> None:
    assert why(zipped(bytes(65 << 20)), "a.docx") == "Its text takes more than 64 MB unpacked."


def test_entities_of_a_word_document_are_not_looked_up() -> None:
    bomb = b'<!DOCTYPE d [<!ENTITY e SYSTEM "file:///etc/passwd">]><d><p>&e;</p></d>'
    assert why(zipped(bomb), "a.docx") == "It has no text."


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "It is empty."),
        (b" \n", "It is empty."),
        (bytes(range(256)) * 8, "It is no text, and of no format that can be read here"),
        (b"\x89PNG\r\n\x1a\n" + bytes(2000), "It is no text, and of no format that can be read here"),
        (b"x" * (MOST_BYTES + 1), "It is larger than 64 MB"),
        (b"PK\x03\x04 word/", "It is no Word document (docx) that can be read."),
        (b"<html><script>x</script>", "It has no text."),
        (b"<html>seen" + b"<div>" * 20_000 + b"unseen", "It is nested too deeply to be read as HTML."),
    ],
)
def test_what_is_no_text_is_refused_in_a_sentence(data: bytes, sentence: str) -> None:
    assert why(data).startswith(sentence)
