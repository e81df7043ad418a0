"""File search, the hosted tool that finds passages in a tenant's own files: its entry, its receipts, its citations.

What the model is told of a search follows from the receipt alone, so that a receipt which comes back as input stands
for the search: nothing is searched again, and files that are gone since are no problem.
OpenAI's API reference: "File search" (`file_search_call`); its results carry what else is known of a passage in
`attributes`, here the `page` and the `headings` that it stands under.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NotRequired

import orjson
from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from responses_api.protocol.hosted import Declaration, Replayed, failure_told
from responses_api.protocol.plain import Json
from responses_api.protocol.server_tools import FILE_SEARCH, FILE_SEARCH_CALL
from responses_api.protocol.validation import WHOLE

NAME: Final = "file_search"
"""The function that a model is offered."""
MOST_FILES: Final = 100
MOST_RESULTS: Final = 50
USUAL_RESULTS: Final = 8
MOST_QUERIES: Final = 5
LONGEST_QUERY: Final = 1000

_MARK_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_MARK_LENGTH: Final = 6


def _canonical_entry(entry: Json) -> Json:
    most, threshold = entry.get("max_num_results"), entry.get("score_threshold")
    return {
        "type": FILE_SEARCH,
        "file_ids": entry.get("file_ids"),
        "max_num_results": USUAL_RESULTS if most is None else most,
        "score_threshold": 0.0 if threshold is None else threshold,
    }


class FileSearchTool(TypedDict):
    """Lets the model search the text of the tenant's own files, all of them or those that are named."""

    type: Literal["antiphon:file_search"]
    file_ids: NotRequired[
        Annotated[
            list[Annotated[str, Field(min_length=1, max_length=64)]],
            Field(min_length=1, max_length=MOST_FILES),
        ]
        | None
    ]
    max_num_results: NotRequired[Annotated[int, Field(ge=1, le=MOST_RESULTS), WHOLE] | None]
    score_threshold: NotRequired[Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None]


FileSearchEntry = Annotated[FileSearchTool, AfterValidator(_canonical_entry)]


def _function(entry: Json) -> Json:
    return {
        "type": "function",
        "name": NAME,
        "description": "Searches the user's files and returns the passages that fit best. Ask in whole sentences or "
        "with the words that the passage should contain; several queries are searched together.",
        "parameters": {
            "type": "object",
            "properties": {
                "queries": {
                    "type": "array",
                    "items": {"type": "string"},
                    "minItems": 1,
                    "maxItems": MOST_QUERIES,
                    "description": "What to search for.",
                }
            },
            "required": ["queries"],
            "additionalProperties": False,
        },
        "strict": None,
    }


def queries_of(arguments: Json) -> list[str]:
    """What a call asks for. Models write one query where a list is due, and `query` for `queries`.

    Raises ValueError, with a sentence, where that is nothing to search for.
    """
    told = arguments.get("queries", arguments.get("query"))
    queries = [told] if isinstance(told, str) else told
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise ValueError("'queries' must be a list of strings.")
    queries = list(dict.fromkeys(query.strip() for query in queries if query.strip()))
    if not queries:
        raise ValueError("'queries' must name something to search for.")
    if len(queries) > MOST_QUERIES:
        raise ValueError(f"'queries' must have at most {MOST_QUERIES} entries.")
    if any(len(query) > LONGEST_QUERY for query in queries):
        raise ValueError(f"A query must have at most {LONGEST_QUERY} characters.")
    return queries


def mark_of(file_id: str) -> str:
    """What a model cites a file by: short enough to be copied right, the same in every search, and nothing that a text
    has in brackets by chance.
    """
    number = int.from_bytes(hashlib.sha256(file_id.encode()).digest()[:8])
    return f"[{''.join(_MARK_ALPHABET[number >> 5 * place & 31] for place in range(_MARK_LENGTH))}]"


def _replayed(receipt: Json) -> Replayed:
    queries = _strings(receipt.get("queries"), "queries")
    error = receipt.get("error")
    if not isinstance(error, str | None):
        raise ValueError("'error' must be a string or null")
    arguments = orjson.dumps({"queries": queries}).decode()
    results = list(_results(receipt))
    return Replayed(NAME, arguments, failure_told(error) if error is not None else _output(results))


def _output(results: Sequence[Json]) -> str:
    if not results:
        return "No passage of the files fits."
    first = mark_of(results[0]["file_id"])
    passages = "\n\n".join(f"{_headline(result)}\n{result['text']}" for result in results)
    return (
        "Passages of the files, the best first. Each begins with the mark of its file. Where you use a passage, write "
        f"its mark right behind what you took from it, exactly as it is here, for example {first}.\n\n{passages}"
    )


def _headline(result: Json) -> str:
    known = result.get("attributes") or {}
    facts = [result["filename"]]
    if "page" in known:
        facts.append(f"page {known['page']}")
    if "headings" in known:
        facts.append(str(known["headings"]))
    return f"{mark_of(result['file_id'])} {', '.join(facts)}"


def _citations(receipt: Json) -> dict[str, Json]:
    return {
        mark_of(result["file_id"]): {
            "type": "file_citation",
            "file_id": result["file_id"],
            "filename": result["filename"],
        }
        for result in _results(receipt)
    }


def _strings(value: Any, field: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ValueError(f"'{field}' must be a list of strings")
    return value


def _results(receipt: Json) -> Iterator[Json]:
    results = receipt.get("results")
    if results is None:
        return
    if not isinstance(results, list):
        raise ValueError("'results' must be a list or null")
    for index, result in enumerate(results):
        if not isinstance(result, dict):
            raise ValueError(f"'results[{index}]' must be an object")
        for field in ("file_id", "filename", "text"):
            if not isinstance(result.get(field), str):
                raise ValueError(f"'results[{index}].{field}' must be a string")
        if not isinstance(result.get("attributes"), dict | None):
            raise ValueError(f"'results[{index}].attributes' must be an object or null")
        score = result.get("score")
        if not isinstance(score, int | float | None) or isinstance(score, bool):
            raise ValueError(f"'results[{index}].score' must be a number or null")
        yield result


DECLARATION: Final = Declaration(
    type=FILE_SEARCH,
    receipt_type=FILE_SEARCH_CALL,
    entry=FileSearchEntry,
    function=_function,
    replayed=_replayed,
    citations=_citations,
)
