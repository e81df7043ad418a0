"""How a conversation of items becomes the turns of a Messages request."""

import base64
import re
from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.messages import (
    OLDER,
    block,
    body,
    call,
    output,
    reasoning,
    result,
    thought,
    turns,
    use,
    user,
)
from workers.backends.anthropic.turns import BEGINNING, GOING_ON

DATA = "iVBORw0KGgo="
ASSISTANT = {"role": "assistant", "content": "both:"}


def refusal(*items: Json) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        turns(*items)
    assert (caught.value.status, caught.value.code) == (400, "unsupported_value")
    return caught.value


# ---------------------------------------------------------------- roles


def test_instructions_and_whatever_the_operator_says_later_are_the_system_prompt_in_order() -> None:
    told = body(
        instructions="Be kind.",
        input=[
            {"role": "developer", "content": "Be brief."},
            user("hi"),
            {"role": "system", "content": "In verse."},
        ],
    )
    assert told["system"] == [block("Be kind."), block("Be brief."), block("In verse.")]
    assert told["messages"] == [{"role": "user", "content": [block("hi")]}]
    assert "system" not in body(input="hi")


def test_neighbours_of_one_role_are_one_turn() -> None:
    assert turns(user("a"), user("b"), ASSISTANT, {"role": "assistant", "content": "c"}, user("d")) == [
        ("user", [block("a"), block("b")]),
        ("assistant", [block("both:"), block("c")]),
        ("user", [block("d")]),
    ]


def test_text_that_the_format_refuses_is_left_out_and_a_turn_of_nothing_else_too() -> None:
    empty = {"role": "assistant", "content": [{"type": "output_text", "text": " \n"}]}
    assert turns(user("a", "", "  "), empty, user("b")) == [("user", [block("a"), block("b")])]


def test_a_conversation_begins_and_ends_with_the_user() -> None:
    assert turns(ASSISTANT) == [
        ("user", [block(BEGINNING)]),
        ("assistant", [block("both:")]),
        ("user", [block(GOING_ON)]),
    ]
    assert turns({"role": "developer", "content": "Say hi."}) == [("user", [block(GOING_ON)])]


def test_an_input_of_nothing_is_refused() -> None:
    assert refusal(user(" ")).param == "input"


def test_a_refusal_of_the_model_goes_back_as_its_words() -> None:
    said = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert turns(user("a"), said, user("b"))[1] == ("assistant", [block("No.")])


def test_items_of_a_vendor_are_left_out() -> None:
    assert turns(user("a"), {"type": "acme:note", "x": 1}, user("b")) == [("user", [block("a"), block("b")])]


# ---------------------------------------------------------------- calls


def test_the_results_of_parallel_calls_begin_the_next_turn_in_the_order_of_the_calls() -> None:
    items = (user("x"), ASSISTANT, call("a"), call("b"), output("b", "2"), output("a", "1"), user("y"))
    assert turns(*items) == [
        ("user", [block("x")]),
        ("assistant", [block("both:"), use("a"), use("b")]),
        ("user", [result("a", block("1")), result("b", block("2")), block("y")]),
    ]


def test_what_is_said_between_a_call_and_its_output_comes_after_the_result() -> None:
    assert turns(call("a"), user("quick!"), output("a", "1"))[1:] == [
        ("assistant", [use("a")]),
        ("user", [result("a", block("1")), block("quick!")]),
    ]
    said = {"role": "system", "content": "Now."}
    assert turns(user("x"), call("a"), said, output("a"))[2] == ("user", [result("a", block("4C"))])


@pytest.mark.parametrize("empty", ["", "   ", []])
def test_an_empty_output_is_a_result_all_the_same(empty: Any) -> None:
    assert turns(user("x"), call("a"), output("a", empty))[-1] == ("user", [result("a")])


def test_an_id_that_comes_again_is_another_one_in_the_request() -> None:
    told = turns(user("x"), call("a"), output("a", "1"), ASSISTANT, call("a"), output("a", "2"))
    ids = [each["id"] for _, blocks in told for each in blocks if each["type"] == "tool_use"]
    answered = [each["tool_use_id"] for _, blocks in told for each in blocks if each["type"] == "tool_result"]
    assert ids == answered
    assert ids[0] == "a"
    assert len(set(ids)) == 2


@pytest.mark.parametrize("call_id", ["functions.look:0", "ü" * 64, "a b", "call|x"])
def test_an_id_that_does_not_fit_has_a_stand_in_that_is_always_the_same(call_id: str) -> None:
    def id_of() -> str:
        told = turns(user("x"), call(call_id), output(call_id))
        assert told[1][1][0]["id"] == told[2][1][0]["tool_use_id"]
        return str(told[1][1][0]["id"])

    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id_of())
    assert id_of() == id_of()
    assert id_of() != call_id


DEEP = '{"a":' * 300 + "1" + "}" * 300


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", {}),
        (' {"city": "Oslo"} ', {"city": "Oslo"}),
        ("[1]", {"arguments": "[1]"}),
        ('{"city": "Os', {"arguments": '{"city": "Os'}),
        (r'{"a": "\ud800"}', {"arguments": r'{"a": "\ud800"}'}),
        (DEEP, {"arguments": DEEP}),
    ],
)
def test_arguments_are_an_object_whatever_the_model_wrote(arguments: str, expected: Json) -> None:
    assert turns(user("x"), call("a", arguments=arguments), output("a"))[1][1] == [use("a", input=expected)]


# ---------------------------------------------------------------- thinking


def test_thinking_comes_back_as_it_was_and_where_it_was() -> None:
    hidden = {"type": "redacted_thinking", "data": "Zm9v"}
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
        reasoning(thought(), hidden),
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One."}]},
        reasoning(thought("c2lnMg==", "")),
        call("a"),
        call("b"),
    ]
    assert turns(output("a"), output("b"), history=history)[1] == (
        "assistant",
        [thought(), hidden, block("One."), thought("c2lnMg==", ""), use("a"), use("b")],
    )


def test_reasoning_of_another_model_is_nothing_here() -> None:
    replayed = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "secret"}],
        "content": [{"type": "reasoning_text", "text": "secret"}],
    }
    assert "secret" not in str(turns(user("x"), replayed, call("a"), output("a")))


def test_a_thought_that_led_to_nothing_is_left_out() -> None:
    history = [reasoning(thought())]
    assert turns(user("x"), history=history) == [("user", [block("x")])]


def test_a_thought_without_a_signature_goes_to_servers_that_do_not_sign() -> None:
    unsigned = thought("")
    items: Json = {"history": [reasoning(unsigned), call("a")]}
    assert turns(output("a"), **items)[1] == ("assistant", [use("a")])
    assert turns(output("a"), model="qwen3", **items)[1] == ("assistant", [unsigned, use("a")])


# ---------------------------------------------------------------- media


def image(url: str) -> Json:
    return {"type": "input_image", "image_url": url, "detail": "low"}


def test_images_go_by_address_or_inline_in_their_order() -> None:
    url = "https://img.test.invalid/a%20b.png?x=1&y=2"
    inline = f"data:image/JPG;charset=x;base64,{DATA}"
    assert turns(user("what?", image(url), image(inline))) == [
        (
            "user",
            [
                block("what?"),
                {"type": "image", "source": {"type": "url", "url": url}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": DATA}},
            ],
        )
    ]


def test_a_result_may_hold_images_and_files() -> None:
    pdf = {"type": "input_file", "file_data": "JVBERi0xLjQ="}
    told = turns(
        user("x"), call("a"), output("a", [user("see")["content"][0], image("https://a.test/b.png"), pdf])
    )
    (given,) = told[-1][1]
    assert [each["type"] for each in given["content"]] == ["text", "image", "document"]


TEXT_DATA = base64.b64encode("a;b\nü".encode()).decode()
PDF_SOURCE = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQ="}
TEXT_SOURCE = {"type": "text", "media_type": "text/plain", "data": "a;b\nü"}


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"file_data": "data:application/pdf;base64,JVBERi0xLjQ="}, {"source": PDF_SOURCE}),
        ({"file_data": "JVBERi0xLjQ=", "filename": "a.pdf"}, {"source": PDF_SOURCE, "title": "a.pdf"}),
        ({"file_data": f"data:text/csv;base64,{TEXT_DATA}"}, {"source": TEXT_SOURCE}),
        ({"file_data": TEXT_DATA, "filename": "A.CSV"}, {"source": TEXT_SOURCE, "title": "A.CSV"}),
        ({"file_url": "https://a.test/b.pdf"}, {"source": {"type": "url", "url": "https://a.test/b.pdf"}}),
    ],
)
def test_files_are_documents(part: Json, expected: Json) -> None:
    assert turns(user({"type": "input_file", **part})) == [("user", [{"type": "document", **expected}])]


def test_a_file_that_is_an_image_is_an_image() -> None:
    (sent,) = turns(user({"type": "input_file", "file_data": f"data:image/png;base64,{DATA}"}))[0][1]
    assert sent == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}


@pytest.mark.parametrize(
    ("part", "field", "word"),
    [
        (image(f"data:image/svg+xml;base64,{DATA}"), "image_url", "svg"),
        ({"type": "input_file", "file_data": DATA, "filename": "a.docx"}, "file_data", "docx"),
        ({"type": "input_file", "file_data": DATA}, "file_data", "unknown"),
        ({"type": "input_file", "file_data": "not base64", "filename": "a.txt"}, "file_data", "UTF-8"),
        ({"type": "input_file", "file_data": f"data:image/tiff;base64,{DATA}"}, "file_data", "tiff"),
    ],
)
def test_what_the_format_has_no_block_for_is_refused_by_name(part: Json, field: str, word: str) -> None:
    error = refusal(user("x", part))
    assert error.param == f"input[0].content[1].{field}"
    assert word in error.message


def test_videos_are_refused() -> None:
    video = {"type": "input_video", "video_url": "https://a.test/b.mp4"}
    error = refusal(user("x"), call("a"), output("a", [video]))
    assert error.param == "input[2].output[0].type"
    assert "input_video" in error.message


def test_what_lies_in_the_history_is_refused_as_a_part_of_the_input() -> None:
    past = {"type": "message", "role": "user", "content": [image("data:image/bmp;base64,AAAA")]}
    with pytest.raises(ProtocolError) as caught:
        body(OLDER, history=[past], input="hi")
    assert caught.value.param == "input"
