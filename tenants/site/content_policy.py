"""What the pages of the admin may load and run: nothing from elsewhere, and no other site shows them in a frame."""

from typing import Final

_RULES: Final = (
    "default-src 'self'",
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'",  # the theme's scripts are inline, and Alpine evaluates
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)


def content_policy(*more: str) -> str:
    """The value of `Content-Security-Policy` for a page of the admin; `more` are rules of its own."""
    return "; ".join((*_RULES, *more))
