"""Faults of isolation: the server takes one tenant for the other."""

from collections.abc import Callable
from dataclasses import replace

from tests.support.faults.changes import at
from tests.support.faults.fault import Call, Fault


class _OneTenant:
    """Serves everybody as the tenant of the first call: where `mixes` holds."""

    def __init__(self, mixes: Callable[[Call], bool]) -> None:
        self._mixes = mixes
        self._first: str | None = None

    def __call__(self, call: Call) -> Call:
        headers = {name.lower(): value for name, value in call.headers.items()}
        self._first = self._first or headers.get("authorization")
        if self._first is None or not self._mixes(call):
            return call
        return replace(call, headers={**headers, "authorization": self._first})


def _one_tenant(name: str, rule: str, mixes: Callable[[Call], bool]) -> Fault:
    return Fault(name, (rule,), call=_OneTenant(mixes))


def _continues(call: Call) -> bool:
    return call.is_create and bool(call.body.get("previous_response_id"))


OF_CHAINS = [_one_tenant("strangers continue", "chains.foreign", _continues)]
OF_LISTS = [_one_tenant("strangers get the list", "stored.foreign-list", at("GET", "/responses?"))]
OF_BACKGROUND = [_one_tenant("strangers retrieve", "background.foreign", at("GET", "/responses/resp_"))]
OF_STREAMS = [_one_tenant("strangers get the stream", "resume.foreign", at("GET", "/responses/resp_"))]
OF_KEYS = [_one_tenant("strangers share keys", "idempotency.own-keys", lambda call: call.is_create)]
OF_HANDSHAKES = [_one_tenant("anybody connects", "websocket.unauthorized", lambda call: True)]
OF_SOCKETS = [_one_tenant("strangers continue on a socket", "websocket-chains.foreign", lambda call: True)]
