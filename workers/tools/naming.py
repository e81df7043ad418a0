"""What the tools that the service runs are called towards the model: each a function with a name of its own. Pure.

A tool keeps its plain name where nobody else has it; else the label of its entry stands before it. The same request
always makes the same names: a prompt cache depends on them, and so does a conversation that goes on.
"""

from collections import Counter
from collections.abc import Container, Sequence
from hashlib import sha256
from typing import Final

from responses_api.protocol.function_names import LONGEST, fit_letters

_DIGEST_LENGTH: Final = 8


def function_names(tools: Sequence[tuple[str, str]], taken: Container[str]) -> list[str]:
    """The function name of each tool, in their order; `tools` are their labels and their own names, `taken` the names
    that the request's functions have.
    """
    plain = [_fit(name) for _, name in tools]
    times = Counter(plain)
    kept = {name for name in times if times[name] == 1 and name not in taken}
    given: set[str] = set()
    names: list[str] = []
    for (label, own), name in zip(tools, plain, strict=True):
        if name not in kept:
            name = _fit(f"{label}__{own}")
            if name in taken or name in kept or name in given:
                name = _with_digest(name, f"{label}\n{own}\n{len(names)}")
        given.add(name)
        names.append(name)
    return names


def _fit(name: str) -> str:
    """A name as a function may have it. One that loses something for that is told apart by a digest of all of it."""
    fit = fit_letters(name)
    if 0 < len(fit) <= LONGEST:
        return fit
    return _with_digest(fit, name)


def _with_digest(name: str, of: str) -> str:
    digest = sha256(of.encode()).hexdigest()[:_DIGEST_LENGTH]
    return f"{name[: LONGEST - _DIGEST_LENGTH - 1]}_{digest}"
