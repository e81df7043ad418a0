"""Files to be read, made here."""

import io
import zipfile

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
