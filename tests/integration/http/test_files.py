"""Files for models that read them, and for models that do not."""

from responses_api.models import Backend
from responses_api.protocol.plain import Json
from responses_api.services import routing
from tests.support.client import Client
from tests.support.upstream import ScriptedUpstream

FILE: Json = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
READ: Json = {"role": "user", "content": [{"type": "input_text", "text": "Read this."}, FILE]}
SENTENCE = "This model takes no files; ask another model, or leave the file out."


def refuse_files() -> None:
    Backend.objects.update(files="refused")
    routing.read_models()


def test_a_file_that_the_backend_does_not_take_is_refused_before_anything_is_sent(
    friend: Client, stranger: Client, upstream: ScriptedUpstream
) -> None:
    refuse_files()
    for stream in (False, True):
        answer = friend.create(input=[READ], stream=stream)
        error = answer.json()["error"]
        assert (answer.status, error["code"], error["param"]) == (
            400,
            "unsupported_value",
            "input[0].content[1]",
        )
        assert error["message"] == SENTENCE
    assert upstream.requests() == []
    assert stranger.get("/responses").json()["data"] == []


def test_a_file_of_an_earlier_turn_is_named_by_the_turn(friend: Client, upstream: ScriptedUpstream) -> None:
    first = friend.create(input=[READ]).json()
    refuse_files()
    answer = friend.create(input="And now?", previous_response_id=first["id"])
    assert (answer.status, answer.json()["error"]["param"]) == (400, "previous_response_id")
    assert answer.json()["error"]["message"] == SENTENCE


def test_a_file_that_a_tool_gave_is_refused_too(friend: Client) -> None:
    refuse_files()
    call = {"type": "function_call", "call_id": "call_1", "name": "fetch", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": [FILE]}
    answer = friend.create(input=[{"role": "user", "content": "Fetch it."}, call, output])
    assert (answer.status, answer.json()["error"]["param"]) == (400, "input[2].output[0]")
