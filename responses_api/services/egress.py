"""The operator's rules of what may be reached, as the settings have them."""

from collections.abc import Sequence
from functools import lru_cache

import structlog
from django.conf import settings

from responses_api.protocol.egress import EgressError, EgressRules, read_rules

log = structlog.get_logger(__name__)


def rules() -> EgressRules:
    """What requests and policies may make this service connect to."""
    return _rules(tuple(settings.EGRESS_ALLOW), settings.EGRESS_PLAIN_HTTP)


@lru_cache(maxsize=16)
def _rules(entries: Sequence[str], plain_http: bool) -> EgressRules:
    """An entry that cannot be read allows nothing; `manage.py check` names it, too."""
    readable: list[str] = []
    for entry in entries:
        try:
            read_rules([entry])
        except EgressError as error:
            log.error("an entry of ANTIPHON_EGRESS_ALLOW allows nothing", mistake=str(error))
        else:
            readable.append(entry)
    return read_rules(readable, plain_http=plain_http)
