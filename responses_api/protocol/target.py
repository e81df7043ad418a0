"""One of the places that a public model may be served at: a route, as a job carries it."""

from dataclasses import dataclass

from responses_api.protocol.plain import Json, fields_of, record_of


@dataclass(frozen=True, slots=True)
class Target:
    """A backend (`BackendSpec.to_plain()`) and the model there.

    `context_window` is in tokens, None where it is not known; `prices` as `Job.prices`. The lowest `position` is asked
    first; of several with the same, each gets requests by its `weight`.
    """

    backend: Json
    upstream_model: str
    context_window: int | None
    prices: Json | None
    position: int = 0
    weight: int = 1

    @property
    def name(self) -> str:
        """The backend's name."""
        return str(self.backend["name"])

    def to_plain(self) -> Json:
        """Every field as JSON."""
        return fields_of(self)

    @classmethod
    def from_plain(cls, plain: Json) -> "Target":
        """The inverse of `to_plain`; fields that a newer sender added are ignored."""
        return record_of(cls, plain)
