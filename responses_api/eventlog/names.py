"""The names of everything the event log keeps in Valkey, in one place.

All keys of one response, and of those that wait, expire by themselves; those with content within `JOURNAL_SECONDS` of
its end. Only the list of workers and the sets of what they run have no time of their own; they are empty when nothing
runs.
"""

from typing import Final

BUS: Final = "antiphon:bus"
RESCUE: Final = "antiphon:rescue"
WORKERS: Final = "antiphon:workers"


def inbox(process: str) -> str:
    """The stream that one web process reads."""
    return f"antiphon:inbox:{process}"


def bell(process: str) -> str:
    """The stream that wakes one web process's reader of journals."""
    return f"antiphon:bell:{process}"


def journal(response_id: str) -> str:
    """The stream that keeps a streamed response's messages."""
    return f"antiphon:journal:{response_id}"


def job(response_id: str) -> str:
    """The job's envelope: the request and its context, from dispatch to the end."""
    return f"antiphon:job:{response_id}"


def seen(response_id: str) -> str:
    """Set when somebody has begun to read the journal of a background response."""
    return f"antiphon:seen:{response_id}"


def claim(response_id: str) -> str:
    """Which worker runs the response."""
    return f"antiphon:claim:{response_id}"


def cancel(response_id: str) -> str:
    """Set when nobody wants the response any more."""
    return f"antiphon:cancel:{response_id}"


def served(response_id: str) -> str:
    """The backend that answers the response, where it is not the one that its job names."""
    return f"antiphon:served:{response_id}"


def until_ended(response_id: str) -> tuple[str, ...]:
    """Every key of a response but its journal: what nobody needs once it has ended."""
    return tuple(name(response_id) for name in (job, claim, cancel, seen, served))


def breaker(backend: str) -> str:
    """How often the backend has failed lately, and how long it is not to be asked before others."""
    return f"antiphon:breaker:{backend}"


def beat(worker: str) -> str:
    """Exists while the worker lives."""
    return f"antiphon:beat:{worker}"


def lost(worker: str) -> str:
    """Set when the worker was found without a beat: it may be alive after all, and must learn of it."""
    return f"antiphon:lost:{worker}"


def running(worker: str) -> str:
    """The set of response ids that the worker has claimed and not ended."""
    return f"antiphon:running:{worker}"


def turns(queue_name: str) -> str:
    """The sorted set of tenants with jobs that wait in a queue; the lowest score is the next one's."""
    return f"antiphon:turns:{queue_name}"


def waiting(queue_name: str, tenant_id: str) -> str:
    """The sorted set of one tenant's responses that wait in a queue; the score says since when, in microseconds."""
    return f"antiphon:waiting:{queue_name}:{tenant_id}"
