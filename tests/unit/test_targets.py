"""Which targets can serve a request."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from responses_api.protocol.request import CreateRequest, parse_create
from responses_api.protocol.target import Target
from responses_api.services.targets import able, with_served_tools
from tests.unit.workers.builders import make_job

LOOK: Json = {"type": "function", "name": "look"}
SEARCH: Json = {"type": "web_search"}
SERVED = "function, mcp, antiphon:file_search"
SEARCHED: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def target(name: str, *passed: str, kind: str = "responses") -> Target:
    row = {"name": name, "kind": kind, "passthrough_tool_types": [*passed]}
    return Target(make_job(row=row).backend, "m", None, None)


TARGETS = (target("plain"), target("searching", "web_search"), target("both", "acme:*", "web_search"))


def request(*, leave_out: bool = False, **fields: Any) -> CreateRequest:
    return parse_create({"model": "m", "input": "hi", **fields}, leave_out_tools=leave_out)


def names(given: CreateRequest, *targets: Target) -> list[str]:
    return [found.name for found in able(targets or TARGETS, given)]


def test_functions_and_words_any_target_can_serve() -> None:
    assert names(request(tools=[LOOK])) == ["plain", "searching", "both"]


def test_only_targets_that_take_every_type_of_tool_are_left_in_their_order() -> None:
    assert names(request(tools=[LOOK, SEARCH])) == ["searching", "both"]
    assert names(request(tools=[SEARCH, {"type": "acme:find"}])) == ["both"]


def test_only_targets_that_take_the_types_of_new_items_are_left() -> None:
    assert names(request(input=[SEARCHED])) == ["searching", "both"]


def test_items_of_vendors_any_target_is_told_or_leaves_out() -> None:
    assert names(request(input=[{"type": "other:note"}])) == ["plain", "searching", "both"]


def test_only_targets_that_hold_answers_to_a_form_are_asked_for_one() -> None:
    bound, free = target("bound"), target("free")
    free.backend["structured_output"] = "refused"
    form = {"format": {"type": "json_object"}}
    assert names(request(text=form), free, bound) == ["bound"]
    assert names(request(), free, bound) == ["free", "bound"]
    with pytest.raises(ProtocolError, match="cannot be held to a form") as refused:
        able([free], request(text=form))
    assert (refused.value.status, refused.value.param) == (400, "text.format")
    with pytest.raises(ProtocolError) as again:
        able([free], request(text=form))
    assert again.value is not refused.value, "it would keep what the request before held"


def test_only_targets_that_can_be_given_what_is_at_an_address_are_left() -> None:
    def look(url: str) -> CreateRequest:
        part = {"type": "input_image", "image_url": url}
        return request(input=[{"role": "user", "content": [part]}])

    sending, fetching, refusing = target("sending"), target("fetching"), target("refusing")
    fetching.backend["media_urls"], refusing.backend["media_urls"] = "fetched", "refused"
    everybody = (refusing, fetching, sending)
    assert names(look("data:image/png;base64,eA=="), *everybody) == ["refusing", "fetching", "sending"]
    assert names(look("https://a.example/x.png"), *everybody) == ["fetching", "sending"]
    assert names(look("https://10.0.0.1/x.png"), *everybody) == ["sending"]
    with pytest.raises(ProtocolError, match="leads nowhere") as refused:
        able([refusing, fetching], look("https://10.0.0.1/x.png"))
    assert (refused.value.code, refused.value.param) == ("url_not_fetched", "input[0].content[0].image_url")
    with pytest.raises(ProtocolError, match="inline"):
        able([refusing], look("https://10.0.0.1/x.png"))
    refusing.backend["images"] = "noted"
    assert names(look("https://10.0.0.1/x.png"), refusing) == ["refusing"]


@pytest.mark.parametrize(
    ("fields", "param", "served"),
    [
        ({"tools": [LOOK, {"type": "file_search"}]}, "tools[1].type", f"{SERVED}, acme:*, web_search"),
        ({"tools": [LOOK, {"type": "file_search"}]}, "tools[1].type", "'antiphon:file_search' searches"),
        ({"tools": [{"type": "other:thing"}]}, "tools[0].type", f"{SERVED}, acme:*, web_search"),
        ({"input": [{"role": "user", "content": "x"}, {"type": "shell_call"}]}, "input[1].type", "'message'"),
    ],
)
def test_what_none_takes_is_refused_with_what_is_supported(fields: Json, param: str, served: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        able(TARGETS, request(**fields))
    error = refused.value
    assert (error.status, error.code, error.param) == (400, "unsupported_value", param)
    assert served in error.message


def test_what_no_single_target_takes_is_refused() -> None:
    with pytest.raises(ProtocolError) as refused:
        able((target("a", "web_search"), target("b", "custom")), request(tools=[SEARCH, {"type": "custom"}]))
    assert refused.value.param == "tools[1].type"


def test_a_row_of_another_kind_takes_functions_alone() -> None:
    with pytest.raises(ProtocolError, match=f"it serves: {SERVED}\\."):
        able([target("chat", "web_search", kind="chat_completions")], request(tools=[SEARCH]))


def test_tools_are_left_out_only_where_the_client_wants_that() -> None:
    tools = [SEARCH, {"type": "file_search"}, LOOK]
    assert with_served_tools(request(tools=tools), TARGETS).tools[1]["type"] == "file_search"
    left = with_served_tools(request(tools=tools, leave_out=True), TARGETS)
    assert [tool["type"] for tool in left.tools] == ["web_search", "function"]
    assert names(left) == ["searching", "both"]


def test_the_tools_that_are_left_have_one_target_that_takes_them_all() -> None:
    targets = (target("a", "web_search"), target("b", "custom"))
    left = with_served_tools(request(tools=[SEARCH, {"type": "custom"}], leave_out=True), targets)
    assert (left.tools, names(left, *targets)) == ([SEARCH], ["a"])


def test_a_choice_of_a_tool_that_was_left_out_is_refused() -> None:
    for choice in ("required", {"type": "shell"}):
        with pytest.raises(ProtocolError) as refused:
            with_served_tools(request(tools=[{"type": "shell"}], tool_choice=choice, leave_out=True), TARGETS)
        assert refused.value.param == "tool_choice"
