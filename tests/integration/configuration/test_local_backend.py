"""The local model of `make run` as a backend: added once, and the operator's from then on."""

import pytest

from config.local.backend import register
from config.local.model import CONTEXT_WINDOW
from config.local.model import NAME as MODEL
from responses_api.models import Backend, Route
from responses_api.services.routing import read_models

pytestmark = pytest.mark.usefixtures("database")


def test_the_first_run_adds_it() -> None:
    register("http://127.0.0.1:4001/v1")
    served = read_models()
    assert list(served) == [MODEL]
    target = served[MODEL].first
    assert target.backend["base_url"] == "http://127.0.0.1:4001/v1"
    assert target.backend["token_counting"] == "llama_cpp"
    assert target.backend["images"] == "noted"
    assert target.backend["tools"] == "emulated"
    assert target.backend["default_options"] == {"logit_bias": {"2": 4}}
    assert target.context_window == CONTEXT_WINDOW


def test_a_later_run_moves_it_and_keeps_what_the_operator_changed() -> None:
    register("http://127.0.0.1:4001/v1")
    backend = Backend.objects.get()
    Route.objects.create(model="another", backend=backend, upstream_model=MODEL)
    Backend.objects.update(is_enabled=False, idle_timeout=7, default_options={})
    register("http://127.0.0.1:4002/v1")
    backend.refresh_from_db()
    assert (backend.base_url, backend.is_enabled, backend.idle_timeout, backend.default_options) == (
        "http://127.0.0.1:4002/v1",
        False,
        7,
        {},
    )
    assert set(Route.objects.values_list("model", flat=True)) == {MODEL, "another"}


def test_one_that_was_added_before_tools_could_be_emulated_has_them_from_now_on() -> None:
    register("http://127.0.0.1:4001/v1")
    Backend.objects.update(tools="native", is_enabled=False)
    register("http://127.0.0.1:4001/v1")
    backend = Backend.objects.get()
    assert (backend.tools, backend.is_enabled) == ("emulated", False)
