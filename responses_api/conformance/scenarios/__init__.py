"""The scenarios by topic. Importing this package registers them, in the order in which they are told."""

from responses_api.conformance.scenarios import (  # noqa: I001  (the order of the report)
    texts,
    calls,
    contents,
    thoughts,
    ends,
)

__all__ = ["calls", "contents", "ends", "texts", "thoughts"]
