"""Hosted tools in the running service: file search, and the tool that ARCHITECTURE.md shows."""

import re
from collections.abc import Iterator
from pathlib import Path

import openai
import orjson
import pytest

from responses_api.protocol.file_search import mark_of
from tests.support.chat import ToolCall, chat_calls, chat_stream
from tests.support.checks import checked_response, checked_stream
from tests.support.client import Client, Json
from tests.support.described import assert_described
from tests.support.service import Service

ROOT = Path(__file__).parents[2]
SEARCH: Json = {"type": "antiphon:file_search"}
DICE: Json = {"type": "acme:dice"}
HERONS = b"# Herons\n\nThe grey heron stands in shallow water and waits for fish."


def install(site: Path) -> None:
    """The tool of ARCHITECTURE.md, as pip would install a package that has it."""
    written = (ROOT / "ARCHITECTURE.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", written, re.DOTALL)
    about = site / "acme_dice-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dice\nVersion: 1.0\n")
    broken = "broken = acme_dice:Missing"
    (about / "entry_points.txt").write_text(f"[antiphon.tools]\ndice = acme_dice:Dice\n{broken}\n")
    (site / "acme_dice.py").write_text(code)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of its own, with a package installed that adds a tool."""
    site = tmp_path_factory.mktemp("site")
    install(site)
    settings = {"PYTHONPATH": str(site)}
    folder = tmp_path_factory.mktemp("tools")
    with Service("tools", folder, settings) as running:
        yield running


@pytest.fixture
def friend(service: Service) -> Iterator[Client]:
    service.upstream.clear()
    yield service.friend
    assert service.revive() == [], "a process of the service ended by itself"


@pytest.fixture
def app(service: Service) -> Iterator[openai.OpenAI]:
    key = service.friend.key
    with openai.OpenAI(base_url=service.base_url, api_key=key, max_retries=0, timeout=30) as client:
        yield client


def uploaded(app: openai.OpenAI, name: str, content: bytes) -> str:
    """The id of a file that was uploaded and read."""
    made = app.files.create(file=(name, content), purpose="assistants")
    read = app.files.wait_for_processing(made.id, poll_interval=0.1, max_wait_seconds=60)
    assert (read.status, read.status_details) == ("processed", None)
    return made.id


def test_a_model_searches_files_and_what_it_cites_is_annotated(
    friend: Client, service: Service, app: openai.OpenAI
) -> None:
    file_id = uploaded(app, "herons.md", HERONS)
    mark = mark_of(file_id)
    answer = f"It stands and waits {mark}."
    service.upstream.reply(body=chat_calls(ToolCall("file_search", '{"queries": ["How do herons hunt?"]}')))
    service.upstream.reply(body=chat_stream(answer[:24], answer[24:]))
    final = checked_stream(friend.read_stream(input="How do herons hunt?", tools=[SEARCH]), friend)
    receipt, said = final["output"]
    assert (receipt["type"], receipt["status"], receipt["queries"]) == (
        "antiphon:file_search_call",
        "completed",
        ["How do herons hunt?"],
    )
    (found,) = receipt["results"]
    assert (found["file_id"], found["filename"]) == (file_id, "herons.md")
    assert said["content"][0]["text"] == answer
    assert said["content"][0]["annotations"] == [
        {
            "type": "url_citation",
            "start_index": answer.index(mark),
            "end_index": answer.index(mark) + len(mark),
            "url": f"/v1/files/{file_id}/content",
            "title": "herons.md",
        }
    ]
    told = service.upstream.requests()[1].body["messages"][-1]
    assert told["role"] == "tool"
    assert f"{mark} herons.md, Herons" in told["content"]

    # The receipt as input stands for the search, also when the file is gone.
    app.files.delete(file_id)
    service.upstream.clear()
    service.upstream.reply(body=chat_stream(f"Still {mark}."))
    again = checked_response(
        friend, friend.create(input=[receipt, {"role": "user", "content": "Really?"}], tools=[SEARCH]).json()
    )
    (request,) = service.upstream.requests()
    assert [message["content"] for message in request.body["messages"] if message["role"] == "tool"] == [
        told["content"]
    ]
    assert [item["type"] for item in again["output"]] == ["message"]
    assert again["output"][0]["content"][0]["annotations"][0]["title"] == "herons.md"


def test_a_search_that_is_refused_tells_its_rule(friend: Client, service: Service) -> None:
    calls = [ToolCall("file_search", '{"queries": ["Herons?"]}', f"call_{number}") for number in range(2)]
    service.upstream.reply(body=chat_calls(*calls))
    service.upstream.reply(body=chat_stream("One was enough."))
    stream = friend.read_stream(input="How do herons hunt?", tools=[SEARCH], max_tool_calls=1)
    searched, refused, _ = checked_stream(stream, friend)["output"]
    assert (searched["status"], refused["status"], refused["results"]) == ("completed", "failed", [])
    assert refused["antiphon:refused_by"]["rule"] == "max_tool_calls"
    checked_response(friend, friend.create(input=[refused, {"role": "user", "content": "So?"}]).json())


def test_a_search_that_was_approved_names_its_approval(friend: Client, service: Service) -> None:
    asked: Json = {
        "type": "mcp_approval_request",
        "id": "mcpr_search",
        "server_label": "antiphon:file_search",
        "name": "file_search",
        "arguments": '{"queries": ["Herons?"]}',
    }
    approval = {"type": "mcp_approval_response", "approval_request_id": asked["id"], "approve": True}
    service.upstream.reply(body=chat_stream("Nothing is said of them."))
    stream = friend.read_stream(input=[asked, approval], tools=[SEARCH])
    searched, _ = checked_stream(stream, friend)["output"]
    assert (searched["status"], searched["approval_request_id"]) == ("completed", "mcpr_search")


@pytest.mark.parametrize("kind", ["file_search_call", "antiphon:file_search_call"])
@pytest.mark.parametrize(
    "results", [None, [{"file_id": "file_1", "filename": "a.md", "text": "Herons.", "score": None}]]
)
def test_a_search_that_a_client_kept_without_all_of_it_is_listed_as_the_reference_says(
    friend: Client, kind: str, results: list[Json] | None
) -> None:
    told: Json = {"type": kind, "id": "fs_1", "status": "completed", "queries": ["Herons?"]}
    for sent in (told, {**told, "results": results}):
        made = friend.create(input=[sent, {"role": "user", "content": "Go on."}]).json()
        listed = friend.get(f"/responses/{made['id']}/input_items")
        assert_described("GET", f"/v1/responses/{made['id']}/input_items", listed)
    odd = {"file_id": "file_1", "filename": "a.md", "text": "Herons.", "score": "high"}
    refused = friend.create(input=[{**told, "results": [odd]}])
    assert (refused.status, refused.error["param"]) == (400, "input[0]")
    assert "'results[0].score' must be a number or null" in refused.error["message"]


def test_a_strangers_files_are_neither_searched_nor_named(service: Service, app: openai.OpenAI) -> None:
    file_id = uploaded(app, "herons.md", HERONS)
    service.upstream.clear()
    service.upstream.reply(body=chat_calls(ToolCall("file_search", '{"queries": ["How do herons hunt?"]}')))
    service.upstream.reply(body=chat_stream("I do not know."))
    final = service.stranger.create(input="How do herons hunt?", tools=[SEARCH]).json()
    assert final["output"][0]["results"] == []
    refused = service.stranger.create(input="?", tools=[{**SEARCH, "file_ids": [file_id]}])
    assert (refused.status, refused.json()["error"]["param"]) == (400, "tools[0].file_ids[0]")


def test_a_file_that_cannot_be_read_says_why(app: openai.OpenAI) -> None:
    made = app.files.create(file=("a.pdf", b"%PDF-1.7 broken"), purpose="assistants")
    read = app.files.wait_for_processing(made.id, poll_interval=0.1, max_wait_seconds=60)
    assert (read.status, read.status_details) == (
        "error",
        "It is no PDF that can be read: it is broken, or not whole.",
    )


def test_the_tool_of_the_architecture_is_one(friend: Client, service: Service) -> None:
    service.upstream.reply(body=chat_calls(ToolCall("roll", '{"count": 3}')))
    service.upstream.reply(body=chat_calls(ToolCall("roll", '{"count": 11}')))
    service.upstream.reply(body=chat_stream("Done."))
    final = checked_response(friend, friend.create(input="Roll", tools=[DICE]).json())
    rolled, refused, said = final["output"]
    assert (rolled["type"], rolled["status"], rolled["error"]) == ("acme:dice_roll", "completed", None)
    assert orjson.loads(rolled["arguments"]) == {"count": 3}
    assert 3 <= int(rolled["output"]) <= 18
    assert (refused["status"], refused["error"]) == ("failed", "'count' must be from 1 to 10.")
    assert said["content"][0]["text"] == "Done."
    told = [message["content"] for message in service.upstream.requests()[2].body["messages"]]
    assert told[-1] == "The call failed: 'count' must be from 1 to 10."
    wrong = friend.create(input="Roll", tools=[{**DICE, "most": "many"}])
    assert (wrong.status, wrong.json()["error"]["param"]) == (400, "tools[0].most")


def test_a_tool_that_cannot_be_loaded_is_told_of_and_left_out(service: Service) -> None:
    sentence = r"W007\) The tool 'broken' of acme-dice \(acme_dice:Missing\) cannot be used"
    with pytest.raises(RuntimeError, match=sentence):
        service.manage("check", "--fail-level", "WARNING")
