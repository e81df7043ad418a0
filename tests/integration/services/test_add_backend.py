"""`manage.py add_backend`: a provider in one command, changed by the same one."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from responses_api.management.commands.add_backend import Command
from responses_api.models import Backend, Route
from responses_api.services.routing import read_models

pytestmark = pytest.mark.usefixtures("database")

URL = "http://127.0.0.1:9/v1"


def add_backend(name: str, *arguments: str, url: str = URL) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("add_backend", name, "--base-url", url, *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def served() -> dict[str, tuple[str, str]]:
    return {name: (model.first.upstream_model, model.first.name) for name, model in read_models().items()}


def test_models_are_served_under_public_names() -> None:
    printed, complaint = add_backend("one", "--model", "fast=vendor/fast-v2", "--model", "same")
    assert served() == {"fast": ("vendor/fast-v2", "one"), "same": ("same", "one")}
    assert "fast, same" in printed
    assert complaint == ""


def test_the_same_name_changes_the_backend_and_its_routes_and_no_other() -> None:
    add_backend("one", "--model", "a", "--model", "b=old", "--idle-timeout", "7")
    add_backend("other", "--model", "x")
    add_backend("one", "--model", "b=new", "--model", "c", "--first-byte-timeout", "3.5", url=URL + "/two")
    backend = Backend.objects.get(name="one")
    assert (backend.first_byte_timeout, backend.idle_timeout) == (3.5, 7)
    assert backend.base_url == URL + "/two"
    assert served() == {"b": ("new", "one"), "c": ("c", "one"), "x": ("x", "other")}


def test_context_windows_are_for_each_model_or_for_one_and_stay_until_others_are_given() -> None:
    add_backend(
        "one", "--model", "a", "--model", "b", "--context-window", "b=4000", "--context-window", "8000"
    )
    assert {name: model.first.context_window for name, model in read_models().items()} == {
        "a": 8000,
        "b": 4000,
    }
    add_backend("one", "--model", "a", "--model", "b", "--model", "c", "--context-window", "a=9000")
    assert {name: model.first.context_window for name, model in read_models().items()} == {
        "a": 9000,
        "b": 4000,
        "c": None,
    }


def test_prices_are_for_each_model_or_for_one_and_stay_until_others_are_given() -> None:
    add_backend("one", "--model", "a", "--model", "b", "--price", "b=1,2,0.1", "--price", "0.25,3")
    prices = {name: model.first.prices for name, model in read_models().items()}
    assert prices["a"] == {"input": 250_000_000, "cached_input": 250_000_000, "output": 3_000_000_000}
    assert prices["b"] == {"input": 1_000_000_000, "cached_input": 100_000_000, "output": 2_000_000_000}
    add_backend("one", "--model", "a", "--model", "b")
    assert {name: model.first.prices for name, model in read_models().items()} == prices


@pytest.mark.parametrize("price", ["1", "1,-2", "x=1,2", "1,2,3,4", "1.1234567,2", "free"])
def test_what_is_no_price_of_a_served_model_is_refused_and_nothing_is_saved(price: str) -> None:
    with pytest.raises(CommandError, match="--price"):
        add_backend("one", "--model", "a", "--price", price)
    assert not Backend.objects.exists()


def test_who_counts_tokens_is_this_service_unless_the_backend_is_named_and_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["token_counting"] == "local"
    add_backend("one", "--model", "a", "--token-counting", "vllm")
    add_backend("one", "--model", "a", "--idle-timeout", "7")
    assert read_models()["a"].first.backend["token_counting"] == "vllm"


def test_a_missing_key_variable_is_told_and_its_value_is_asked_of_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    _, complaint = add_backend("one", "--model", "a", "--api-key-env", "NO_SUCH_KEY")
    assert "NO_SUCH_KEY is not set here" in complaint
    assert Backend.objects.get().api_key_env == "NO_SUCH_KEY"


@pytest.mark.parametrize(
    ("arguments", "url", "sentence"),
    [
        (["--model", "a"], "not a url", "base_url"),
        (["--model", "a"], "file:///etc/passwd", "base_url"),
        (["--model", "a"], "https://user:secret@api.example.com/v1", "Leave user and password out"),
        (["--model", "a"], "https://[", "base_url"),
        (["--model", "a", "--api-key-env", "sk-a real key"], URL, "not a key"),
        (["--model", "a", "--idle-timeout", "0"], URL, "idle_timeout"),
        (["--model", "a", "--total-timeout", "-1"], URL, "total_timeout"),
        (["--model", "a", "--total-timeout", "nan"], URL, "not a number of seconds"),
        (["--model", "=up"], URL, "names no public model"),
        (["--model", ""], URL, "names no public model"),
        (["--model", "x" * 201], URL, "200"),
        (["--model", "a=" + "x" * 201], URL, "200"),
        (["--model", "a", "--context-window", "0"], URL, "context_window"),
        (["--model", "a", "--context-window", "many"], URL, "neither a number of tokens"),
        (["--model", "a", "--context-window", "b=10"], URL, "neither a number of tokens"),
        (["--model", "a", "--context-window", "9999999999"], URL, "context_window"),
        (["--model", "a", "--position", "first"], URL, "neither a number nor PUBLIC=NUMBER"),
        (["--model", "a", "--position", "99999"], URL, "position"),
        (["--model", "a", "--weight", "0"], URL, "weight"),
        (["--model", "a", "--weight", "b=2"], URL, "--weight 'b=2'"),
        (["--model", "a", "--token-counting", "by hand"], URL, "by hand"),
        ([], URL, "--model"),
        (["--model", "a", "--kind", "telepathy"], URL, "telepathy"),
    ],
)
def test_bad_values_are_refused_with_a_sentence_and_nothing_is_saved(
    arguments: list[str], url: str, sentence: str
) -> None:
    with pytest.raises(CommandError, match=sentence):
        add_backend("one", *arguments, url=url)
    assert not Backend.objects.exists()
    assert not Route.objects.exists()


def test_positions_and_weights_are_for_each_model_or_for_one_and_stay_until_others_are_given() -> None:
    add_backend("one", "--model", "a", "--model", "b", "--position", "2", "--weight", "b=5", "--weight", "3")
    add_backend("one", "--model", "a", "--model", "b", "--position", "b=0")
    found = {name: (model.first.position, model.first.weight) for name, model in read_models().items()}
    assert found == {"a": (2, 3), "b": (0, 5)}
    add_backend("two", "--model", "a")
    assert served()["a"][1] == "two"


def test_a_disabled_backend_serves_nothing_and_the_next_one_takes_over() -> None:
    add_backend("one", "--model", "a")
    add_backend("two", "--model", "a")
    assert served()["a"][1] == "one"
    Backend.objects.filter(name="one").update(is_enabled=False)
    assert served()["a"][1] == "two"


def test_the_help_explains_both_kinds() -> None:
    told = " ".join(Command().create_parser("manage.py", "add_backend").format_help().split())
    assert "chat_completions (the default): the Chat Completions API as most servers have it" in told
    assert "openai_chat_completions: the same as OpenAI itself takes it" in told


def test_tools_are_native_unless_said_otherwise_and_that_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["tools"] == "native"
    add_backend("one", "--model", "a", "--tools", "emulated")
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["tools"] == "emulated"


def test_forms_of_answers_are_sent_unless_said_otherwise_and_that_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["structured_output"] == "sent"
    add_backend("one", "--model", "a", "--structured-output", "refused")
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["structured_output"] == "refused"


def test_thinking_tags_are_told_unless_said_otherwise_and_that_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["thinking_tags"] == "told"
    add_backend("one", "--model", "a", "--thinking-tags", "opened")
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["thinking_tags"] == "opened"


def test_addresses_of_media_are_sent_unless_said_otherwise_and_that_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["media_urls"] == "sent"
    add_backend("one", "--model", "a", "--media-urls", "fetched")
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["media_urls"] == "fetched"


def test_images_are_sent_unless_said_otherwise_and_that_stays_so() -> None:
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["images"] == "sent"
    add_backend("one", "--model", "a", "--images", "noted")
    add_backend("one", "--model", "a")
    assert read_models()["a"].first.backend["images"] == "noted"
