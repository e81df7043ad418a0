"""Every call needs a scope, the same in the registry and where it is answered."""

from typing import Any

import pytest

from responses_api.http import create, files, follow, upload, urls
from responses_api.http.authentication import KeyAuthentication
from responses_api.http.reference.calls import CALLS
from responses_api.http.routing import ENDPOINTS
from responses_api.http.views import ApiView
from responses_api.websocket import connection
from tenants.models.key import all_scopes
from tests.unit.reference.test_registry import pattern_of, view

METHODS = ("get", "post", "put", "patch", "delete")


@pytest.mark.parametrize("pattern", urls.urlpatterns, ids=lambda pattern: str(pattern.pattern))
def test_every_method_of_every_view_declares_its_scope_or_needs_no_key(pattern: Any) -> None:
    answered = view(pattern)
    methods = {name for name in METHODS if hasattr(answered, name)}
    if issubclass(answered, ApiView):
        assert set(answered.scopes) == methods
        assert set(answered.scopes.values()) <= set(all_scopes())
    else:
        assert not answered.authentication_classes
        assert KeyAuthentication not in answered.authentication_classes


def test_the_reference_tells_the_scope_that_is_asked_for() -> None:
    for call in CALLS:
        if call.method == "post" and call.path in ENDPOINTS:
            assert call.scope == (upload if call.path == "/v1/files" else create).SCOPE, call.name
        elif call.name == "downloadFile":
            assert call.scope == files.SCOPE
        else:
            answered = view(pattern_of(call))
            assert call.scope == getattr(answered, "scopes", {}).get(call.method), call.name
    assert {call.name: call.scope for call in CALLS}["retrieveResponse"] == follow.SCOPE
    assert connection.SCOPE == create.SCOPE
