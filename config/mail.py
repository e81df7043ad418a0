"""How mails leave: `EMAIL_URL` as Django's settings, a mistake kept for `manage.py check`."""

from typing import Any, Final
from urllib.parse import unquote, urlsplit

import environ

NOWHERE: Final = "smtp://localhost:25"
"""Where mails go while nothing is said: a mail server on this machine, which few machines have."""

_FILES: Final = "filemail"
_PORTS: Final = {"smtp": 25, "smtp+tls": 587, "smtps": 587, "smtp+ssl": 465}

mail_mistakes: Final[list[str]] = []
"""One sentence for each thing that is wrong with the address; `NOWHERE` is used."""


def mail_settings(url: str) -> dict[str, Any]:
    """The `EMAIL_…` settings of Django for an address such as `smtp+tls://user:password@host:587`.

    `filemail:///folder` writes each mail to a file in that folder instead.
    """
    scheme = urlsplit(url).scheme if _can_be_split(url) else ""
    try:
        found: dict[str, Any] = environ.Env.email_url_config(url)
    except (ValueError, environ.ImproperlyConfigured):
        scheme = ""
    if scheme not in (*_PORTS, _FILES) or not (found["EMAIL_HOST"] or scheme == _FILES):
        # The address may hold a password: nothing of it is told.
        mail_mistakes.append("EMAIL_URL is no address of a mail server.")
        return mail_settings(NOWHERE)
    if scheme == _FILES:
        found["EMAIL_FILE_PATH"] = unquote(urlsplit(url).path)
    else:
        found["EMAIL_PORT"] = found["EMAIL_PORT"] or _PORTS[scheme]
    return found


def _can_be_split(url: str) -> bool:
    try:
        return bool(urlsplit(url).port or True)
    except ValueError:
        return False
