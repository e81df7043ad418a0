"""Files to be read, made here."""

import io
import zipfile
import zlib

from fpdf import FPDF

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def pdf(*pages: str, title: str = "", password: str = "") -> bytes:
    """A PDF with these texts on its pages; an empty one is an empty page."""
    made = FPDF()
    made.set_font("Helvetica", size=11)
    if title:
        made.set_title(title)
    if password:
        made.set_encryption("owner", user_password=password)
    for text in pages:
        made.add_page()
        if text:
            made.multi_cell(0, 5, text.encode("latin-1", "replace").decode("latin-1"))
    return bytes(made.output())


def hostile_pdf() -> bytes:
    """A small PDF whose one page unpacks into more than anybody reads."""
    stream = zlib.compress(b"BT /F 9 Tf " + b"(a) Tj 1 1 Td " * 3_000_000 + b"ET", 9)
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
        b"/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (len(stream), stream),
    )
    made, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, start=1):
        places.append(b"%010d 00000 n \n" % len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"xref\n0 5\n0000000000 65535 f \n" + b"".join(places)
    return made + table + b"trailer<</Root 1 0 R/Size 5>>\nstartxref\n%d\n%%%%EOF" % len(made)


def word(*paragraphs: tuple[str, str]) -> bytes:
    """A Word document of paragraphs, each with its style ("" for none)."""
    styled = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    return zipped(f'<w:document xmlns:w="{_W}"><w:body>{styled}</w:body></w:document>'.encode())


def zipped(document: bytes) -> bytes:
    """What a Word document is stored as."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", document)
    return made.getvalue()
