"""A tool whose server lets in who has its secrets, and the places in which none of them may be found.

Each search has a counter-check: what is no secret is found in the same place by the same search.
"""

from typing import Any, Final

from tests.support import searching
from tests.support.client import Client, Json, wait_until
from tests.support.mcp_server import RealMcpServer
from tests.support.service import Service

MARKER: Final = "marker-of-a-secret"
TOKEN, KEY, QUERY = f"{MARKER}-token", f"{MARKER}-key", f"{MARKER}-query"
PROMPT: Final = "prompt-that-is-no-secret"


def tool(server: RealMcpServer, **entry: Any) -> Json:
    """The server's tools, with each kind of secret that a request may give for it."""
    return {
        "type": "mcp",
        "server_label": "tools",
        "server_url": f"{server.url}?token={QUERY}",
        "authorization": TOKEN,
        "headers": {"X-Api-Key": KEY},
        "require_approval": "never",
        **entry,
    }


def look(service: Service) -> None:
    """Look through all rows of the database, all keys of Valkey, all files, and what the kernel tells of processes."""
    rows = searching.rows(service.env["DATABASE_URL"])
    assert PROMPT in rows
    assert MARKER not in rows
    assert MARKER not in searching.keys(service.env["VALKEY_URL"])
    files = searching.files(service.folder)
    assert "/readyz" in files
    assert MARKER not in files
    processes = searching.processes(service)
    assert service.env["SECRET_KEY"] in processes
    assert MARKER not in processes


def ended(friend: Client, response_id: str) -> str:
    """What GET tells of a response once it has ended."""

    def ended() -> str | None:
        found = friend.get(f"/responses/{response_id}")
        return found.body.decode() if found.json()["status"] not in ("queued", "in_progress") else None

    return str(wait_until(ended, timeout=60, what="the end"))
