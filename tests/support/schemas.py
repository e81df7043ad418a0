"""Values that a JSON Schema allows, for property tests: of the keywords that the published schemas use."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.support.client import Json

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_PLAIN = ("string", "number", "integer", "boolean")
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=6,
)


def allowed_by(
    schema: Json, samples: Mapping[str, st.SearchStrategy[Any]] | None = None
) -> st.SearchStrategy[Any]:
    """Values of `schema`. `samples` are strategies for the plain values of some properties, by name: a URL, an id."""
    return _Allowed(schema.get("$defs", {}), samples or {}).of(schema)


class _Allowed:
    def __init__(self, defs: Json, samples: Mapping[str, st.SearchStrategy[Any]]) -> None:
        self._defs = defs
        self._samples = samples
        self._known: dict[str, st.SearchStrategy[Any]] = {}

    def of(self, schema: Json, name: str = "") -> st.SearchStrategy[Any]:
        if "$ref" in schema:
            return self._referred(schema["$ref"].rpartition("/")[2], name)
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if "anyOf" in schema:
            return st.one_of([self.of(branch, name) for branch in schema["anyOf"]])
        kind = schema.get("type")
        if name in self._samples and kind in _PLAIN:
            return self._samples[name]
        if kind is None:
            return ANY_JSON
        made: st.SearchStrategy[Any] = getattr(self, f"_{kind}")(schema, name)
        return made

    def _referred(self, target: str, name: str) -> st.SearchStrategy[Any]:
        key = f"{target} {name if name in self._samples else ''}"
        if key not in self._known:
            self._known[key] = self.of(self._defs[target], name)
        return self._known[key]

    def _null(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        return st.none()

    def _boolean(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        return st.booleans()

    def _integer(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        return st.integers(schema.get("minimum", -100), schema.get("maximum", 2**40))

    def _number(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        return st.floats(schema.get("minimum", -1e9), schema.get("maximum", 1e9))

    def _string(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        if "pattern" in schema:
            return st.from_regex(schema["pattern"].rstrip("$") + r"\Z").filter(
                lambda text: len(text) <= schema.get("maxLength", 64)
            )
        return ANY_TEXT.filter(lambda text: len(text) >= schema.get("minLength", 0))

    def _array(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        return st.lists(
            self.of(schema.get("items", {}), name), min_size=schema.get("minItems", 0), max_size=3
        )

    def _object(self, schema: Json, name: str) -> st.SearchStrategy[Any]:
        properties = {key: self.of(inner, key) for key, inner in schema.get("properties", {}).items()}
        if not properties:
            more = schema.get("additionalProperties")
            values = self.of(more) if isinstance(more, dict) else ANY_JSON
            return st.dictionaries(ANY_TEXT, values, max_size=3)
        required = schema.get("required", [])
        return st.fixed_dictionaries(
            {key: properties[key] for key in required},
            optional={key: inner for key, inner in properties.items() if key not in required},
        )
