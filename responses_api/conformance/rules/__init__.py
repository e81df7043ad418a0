"""The rules by topic. Importing this package registers them, in the order in which they are told."""

from responses_api.conformance.rules import (  # noqa: I001  (the order of the report)
    framing,
    streams,
    resource,
    errors,
    validation,
    chains,
    tools,
    stored,
    tolerance,
    models,
)

__all__ = [
    "chains",
    "errors",
    "framing",
    "models",
    "resource",
    "stored",
    "streams",
    "tolerance",
    "tools",
    "validation",
]
