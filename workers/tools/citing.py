"""Citations: the marks that a model writes behind what it took from a tool's results become annotations of its text.

The text stays as the model wrote it, marks and all: a reader's client shows a link in the place that the annotation
names, and the model finds its own words again in the next turn. A mark that nobody gave the model is text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import structlog

from responses_api.protocol.hosted import Declaration, by_receipt
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import canonical_type
from workers.backends.logprobs import cut_logprobs
from workers.backends.parts import AnnotationReport, Part, TextDelta, UsageReport

log = structlog.get_logger(__name__)


class Citing:
    """Goes over the parts of one response. Before it knows a mark, everything passes as it came."""

    def __init__(self) -> None:
        self._citations: dict[str, Json] = {}
        self._held: list[TextDelta] = []

    def know(self, citations: Mapping[str, Json]) -> None:
        """From now on these marks, too, stand for these annotations (without their place in the text)."""
        self._citations.update(citations)

    def placed(self, parts: Sequence[Part]) -> Sequence[Part]:
        """The parts, with an annotation behind each mark. What may become a mark is held back so long."""
        if not self._citations:
            return parts
        return [placed for part in parts for placed in self._take(part)]

    def rest(self) -> Sequence[Part]:
        """What was held back, once the answer has ended, in whatever way."""
        held, self._held = self._held, []
        return held

    def _take(self, part: Part) -> Iterator[Part]:
        if isinstance(part, TextDelta):
            if self._held and self._held[-1].key != part.key:
                yield from self.rest()
            yield from self._search(part)
            return
        if not isinstance(part, UsageReport):  # which some upstreams send with every piece of text
            yield from self.rest()
        yield part

    def _search(self, added: TextDelta) -> Iterator[Part]:
        """Cut the text behind each mark: an annotation is of what was told last."""
        self._held.append(added)
        text = "".join(delta.text for delta in self._held)
        begin = text.find("[")
        while begin >= 0:
            mark = self._mark_at(text, begin)
            if mark is not None:
                end = begin + len(mark)
                yield from self._release(end)
                yield AnnotationReport(added.key, self._citations[mark], len(mark))
                text, begin = text[end:], text[end:].find("[")
            elif self._may_become_mark(text[begin:]):
                yield from self._release(begin)
                return
            else:
                begin = text.find("[", begin + 1)
        yield from self._release(len(text))

    def _mark_at(self, text: str, begin: int) -> str | None:
        end = text.find("]", begin) + 1
        mark = text[begin:end]
        return mark if mark in self._citations else None

    def _may_become_mark(self, text: str) -> bool:
        return any(mark.startswith(text) for mark in self._citations)

    def _release(self, count: int) -> Iterator[Part]:
        """The next so many characters of what is held back, in the pieces that they came in."""
        while self._held and count >= len(self._held[0].text):
            delta = self._held.pop(0)
            count -= len(delta.text)
            yield delta
        if count:
            delta = self._held[0]
            first, second = cut_logprobs(delta.logprobs, count)
            yield replace(delta, text=delta.text[:count], logprobs=first)
            self._held[0] = replace(delta, text=delta.text[count:], logprobs=second)


def citable(items: Iterable[Json], declarations: Iterable[Declaration]) -> dict[str, Json]:
    """What may be cited of the receipts in a conversation, as `Citing.know` takes it."""
    known = by_receipt(declarations)
    citations: dict[str, Json] = {}
    for item in items:
        declaration = known.get(canonical_type(item["type"]))
        if declaration is None:
            continue
        try:
            citations.update(declaration.citations(item))
        except Exception as error:  # a stranger's code, and a receipt of another version of it
            log.error(
                "what a receipt cites cannot be read", tool=declaration.type, error=type(error).__name__
            )
    return citations
