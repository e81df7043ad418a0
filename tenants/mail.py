"""Mails: sent while somebody waits for the page, so that a mail server that is down is told and not found out later."""

import smtplib
from typing import Any, Final

import structlog
from django.core.mail import EmailMessage
from django.template.loader import render_to_string

log = structlog.get_logger(__name__)

_REFUSALS: Final = (OSError, smtplib.SMTPException)


class MailFailed(RuntimeError):
    """A mail could not be handed over; what it was part of must not be done either, or be told."""

    def __init__(self) -> None:
        super().__init__("The e-mail could not be sent. Nothing was changed; try again in some minutes.")


def deliver(message: EmailMessage) -> None:
    """Hand a mail to the mail server, within `ANTIPHON_EMAIL_SECONDS`. Raises `MailFailed`."""
    try:
        message.send()
    except _REFUSALS as error:
        # A server's answer quotes addresses: only the kind is told.
        log.error("mail not sent", error=type(error).__name__)
        raise MailFailed from None


def send(template: str, to: str, context: dict[str, Any]) -> None:
    """Send a text mail to one address; its templates are `{template}_subject.txt` and `{template}_message.txt`.

    Raises `MailFailed`.
    """
    subject = " ".join(render_to_string(f"{template}_subject.txt", context).split())
    deliver(EmailMessage(subject, render_to_string(f"{template}_message.txt", context).strip(), to=[to]))
