"""What a job becomes as a Chat Completions request."""

from typing import Any

import pytest

from responses_api.protocol.errors import ProtocolError
from responses_api.protocol.plain import Json
from tests.unit.workers.builders import make_job
from workers.backends.chat_completions.request import build
from workers.backends.registry import KINDS, adapter_for

LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}}
HEAR = {"type": "function", "name": "hear", "description": "Listens.", "strict": True, "parameters": None}


def body(history: list[Json] | None = None, **fields: Any) -> Json:
    return build(make_job(history=history, **fields))


def messages(*items: Json, **fields: Any) -> list[Json]:
    told: list[Json] = body(input=list(items), **fields)["messages"]
    return told


def user(*content: Json) -> Json:
    return {"role": "user", "content": list(content)}


def call(call_id: str, name: str = "look", arguments: str = "{}") -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, value: Any) -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def tool_call(call_id: str, name: str = "look", arguments: str = "{}") -> Json:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(call_id: str, content: str) -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


TEXT = {"type": "input_text", "text": "look:"}


# ---------------------------------------------------------------- the frame


def test_a_plain_request_carries_nothing_that_was_not_asked_for() -> None:
    assert body() == {
        "model": "sparrow-7b",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_settings_that_were_given_are_sent() -> None:
    sent = body(temperature=0, top_p=0.5, presence_penalty=1, frequency_penalty=-1, max_output_tokens=16)
    assert (sent["temperature"], sent["top_p"]) == (0, 0.5)
    assert (sent["presence_penalty"], sent["frequency_penalty"], sent["max_tokens"]) == (1, -1, 16)


def test_openai_gets_the_token_limit_under_its_new_name() -> None:
    sent = adapter_for("openai_chat_completions").build(make_job(max_output_tokens=16))
    assert sent["max_completion_tokens"] == 16
    assert "max_tokens" not in sent


def test_an_unknown_kind_of_backend_is_told_with_the_known_ones() -> None:
    with pytest.raises(LookupError, match="chat_completions"):
        adapter_for("pigeon")
    assert {"chat_completions", "openai_chat_completions"} < set(KINDS)


def test_log_probabilities_can_be_asked_for_in_two_ways() -> None:
    assert body(top_logprobs=3) | {"logprobs": True, "top_logprobs": 3} == body(top_logprobs=3)
    included = body(include=["message.output_text.logprobs"])
    assert included["logprobs"] is True
    assert "top_logprobs" not in included
    assert "logprobs" not in body(top_logprobs=0)


def test_the_form_of_the_text_is_sent() -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}}
    wanted = {"type": "json_schema", "name": "verdict", "schema": schema, "strict": None}
    sent = body(text={"format": wanted, "verbosity": "low"})
    assert sent["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": schema, "strict": False},
    }
    assert sent["verbosity"] == "low"
    assert body(text={"format": {"type": "json_object"}})["response_format"] == {"type": "json_object"}
    assert "response_format" not in body(text={"format": {"type": "text"}})


def test_the_effort_of_reasoning_is_sent_and_the_wish_for_a_summary_is_not() -> None:
    sent = body(reasoning={"effort": "high", "summary": "auto"})
    assert sent["reasoning_effort"] == "high"
    assert not any("summary" in name for name in sent)
    assert "reasoning_effort" not in body(reasoning={"summary": "auto"})


def test_the_end_user_is_named_and_notes_are_kept_back() -> None:
    sent = body(safety_identifier="u-7", prompt_cache_key="k", metadata={"a": "b"})
    assert sent["user"] == "u-7"
    assert not {"safety_identifier", "prompt_cache_key", "metadata"} & set(sent)


# ---------------------------------------------------------------- tools


def test_tools_are_nested_and_what_is_unset_is_left_out() -> None:
    sent = body(tools=[LOOK, HEAR])
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "look", "parameters": LOOK["parameters"]}},
        {"type": "function", "function": {"name": "hear", "description": "Listens.", "strict": True}},
    ]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (None, "auto"),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "look"}, {"type": "function", "function": {"name": "look"}}),
        ({"type": "allowed_tools", "tools": [{"type": "function", "name": "look"}]}, "auto"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]},
            "required",
        ),
    ],
)
def test_the_choice_of_tools_is_translated_and_all_tools_are_sent(choice: Any, sent: Any) -> None:
    told = body(tools=[LOOK, HEAR], tool_choice=choice)
    assert told["tool_choice"] == sent
    assert len(told["tools"]) == 2


def test_parallel_calls_are_mentioned_only_to_forbid_them() -> None:
    assert "parallel_tool_calls" not in body(tools=[LOOK], parallel_tool_calls=True)
    assert "parallel_tool_calls" not in body(parallel_tool_calls=False)
    assert body(tools=[LOOK], parallel_tool_calls=False)["parallel_tool_calls"] is False


# ---------------------------------------------------------------- conversations


def test_instructions_are_the_first_message_and_developers_speak_as_the_system() -> None:
    told = messages(
        {"role": "system", "content": "S"},
        {"role": "developer", "content": "D"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a", "phase": "final_answer"},
        instructions="I",
    )
    assert told == [
        {"role": "system", "content": "I"},
        {"role": "system", "content": "S"},
        {"role": "system", "content": "D"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
    ]


def test_the_history_comes_before_the_input() -> None:
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]},
    ]
    told = body(history, input="next")["messages"]
    assert [message["content"] for message in told] == ["first", "ok", "next"]
    continued = body(history, input=[], previous_response_id="resp_0")["messages"]
    assert [message["content"] for message in continued] == ["first", "ok"]


def test_text_parts_are_joined_into_a_string() -> None:
    two = user({"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"})
    assert messages(two) == [{"role": "user", "content": "ab"}]


def test_images_and_files_keep_their_place_and_their_address() -> None:
    far = {"type": "input_image", "image_url": "https://pics.test/a%20b.png?x=1&y=2", "detail": None}
    near = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
    file = {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}
    assert messages(user(TEXT, far, near, file))[0]["content"] == [
        {"type": "text", "text": "look:"},
        {"type": "image_url", "image_url": {"url": far["image_url"]}},
        {"type": "image_url", "image_url": {"url": near["image_url"], "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": file["file_data"]}},
    ]


def test_what_was_said_and_the_calls_after_it_are_one_message_with_the_answers_in_call_order() -> None:
    told = messages(
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "both:"},
        call("c_a"),
        call("c_b", "hear"),
        output("c_b", "2"),
        output("c_a", "1"),
        {"role": "user", "content": "y"},
    )
    assert told[1:] == [
        {"role": "assistant", "content": "both:", "tool_calls": [tool_call("c_a"), tool_call("c_b", "hear")]},
        tool("c_a", "1"),
        tool("c_b", "2"),
        {"role": "user", "content": "y"},
    ]


def test_a_call_made_after_an_answer_is_a_round_of_its_own() -> None:
    told = messages(call("c_a"), output("c_a", "1"), call("c_b"), output("c_b", "2"))
    assert [message["role"] for message in told] == ["assistant", "tool", "assistant", "tool"]


def test_a_call_id_may_come_again_in_a_later_round() -> None:
    told = messages(
        call("look:0", arguments='{"a":1}'),
        output("look:0", "1"),
        {"role": "assistant", "content": "mid"},
        {"role": "user", "content": "z"},
        call("look:0", arguments='{"a":2}'),
        output("look:0", "2"),
    )
    answers = [message["content"] for message in told if message["role"] == "tool"]
    rounds = [
        message["tool_calls"][0]["function"]["arguments"] for message in told if "tool_calls" in message
    ]
    assert (rounds, answers) == (['{"a":1}', '{"a":2}'], ["1", "2"])


def test_answers_follow_their_calls_whatever_came_between() -> None:
    told = messages(call("c_a"), {"role": "user", "content": "wait"}, output("c_a", "1"))
    assert [message["role"] for message in told] == ["assistant", "tool", "user"]


def test_reasoning_is_left_out_and_does_not_part_what_belongs_together() -> None:
    reasoning = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "secret"}],
    }
    told = messages({"role": "assistant", "content": "so"}, reasoning, call("c_a"), reasoning, call("c_b"))
    assert len(told) == 1
    assert [entry["id"] for entry in told[0]["tool_calls"]] == ["c_a", "c_b"]
    assert "secret" not in str(told)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("", ""),
        ([], ""),
        ("   ", "   "),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "ab"),
    ],
)
def test_the_output_of_a_function_is_text_and_never_missing(value: Any, content: str) -> None:
    assert messages(call("c_a"), output("c_a", value))[1] == tool("c_a", content)


def test_a_refusal_stays_a_refusal() -> None:
    told = messages({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]})
    assert told == [{"role": "assistant", "content": None, "refusal": "No."}]


def test_an_assistant_message_that_says_nothing_is_left_out() -> None:
    told = messages({"role": "user", "content": "a"}, {"role": "assistant", "content": ""})
    assert told == [{"role": "user", "content": "a"}]


# ---------------------------------------------------------------- what cannot be carried

VIDEO = {"type": "input_video", "video_url": "https://pics.test/a.mp4"}
IMAGE = {"type": "input_image", "image_url": "https://pics.test/a.png"}
FAR_FILE = {"type": "input_file", "file_url": "https://pics.test/a.pdf"}


@pytest.mark.parametrize(
    ("items", "param"),
    [
        ([user(TEXT, FAR_FILE)], "input[0].content[1].file_url"),
        ([user(TEXT, FAR_FILE | {"file_data": "AAAA"})], "input[0].content[1].file_url"),
        ([user(TEXT, {"type": "input_file", "file_data": ""})], "input[0].content[1].file_data"),
        ([call("c_a"), output("c_a", [TEXT, FAR_FILE])], "input[1].output[1].file_url"),
        ([{"type": "acme:note", "text": "x"}], "input"),
        ([{"type": "reasoning", "summary": []}], "input"),
        ([{"type": "compaction", "encrypted_content": "abc"}], "input[0].type"),
    ],
)
def test_content_without_a_counterpart_is_refused_with_its_path(items: list[Json], param: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        body(input=items)
    assert (refused.value.status, refused.value.type, refused.value.param) == (400, "invalid_request", param)


def test_items_of_a_vendor_have_no_place_in_this_format_and_disturb_nothing() -> None:
    note = {"type": "acme:note", "text": "x"}
    told = messages(note, user(TEXT), call("c_a"), note, output("c_a", "1"), note)
    assert told == messages(user(TEXT), call("c_a"), output("c_a", "1"))


def test_what_lies_in_the_history_is_refused_by_the_input_as_a_whole() -> None:
    history = [{"type": "message", "role": "user", "content": [FAR_FILE]}]
    with pytest.raises(ProtocolError) as refused:
        body(history)
    assert refused.value.param == "input"


def test_what_a_function_put_out_besides_text_follows_the_outputs_of_its_round() -> None:
    told = messages(
        call("c_a"),
        call("c_b", "hear"),
        output("c_b", [IMAGE]),
        output("c_a", [TEXT, VIDEO, {"type": "input_text", "text": "done"}]),
        user(TEXT),
    )
    follows = "(More of this output follows as a message.)"
    assert told[1:3] == [tool("c_a", f"look:done\n{follows}"), tool("c_b", follows)]
    assert told[3] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "The rest of what look (c_a) has put out:"},
            {"type": "video_url", "video_url": {"url": VIDEO["video_url"]}},
            {"type": "text", "text": "The rest of what hear (c_b) has put out:"},
            {"type": "image_url", "image_url": {"url": IMAGE["image_url"]}},
        ],
    }
    assert told[4:] == [{"role": "user", "content": "look:"}]


def test_openai_itself_takes_no_video_and_a_cache_key() -> None:
    openai = adapter_for("openai_chat_completions")
    with pytest.raises(ProtocolError) as refused:
        openai.build(make_job(input=[call("c_a"), output("c_a", [VIDEO])]))
    assert (refused.value.param, refused.value.code) == ("input[1].output[0].type", "unsupported_value")
    assert openai.build(make_job(prompt_cache_key="k"))["prompt_cache_key"] == "k"


def test_annotations_and_sealed_reasoning_have_no_place_in_this_format() -> None:
    cited = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": "https://h", "title": "H"}
    told = messages(
        {"role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": [cited]}]},
        {"type": "reasoning", "summary": [], "encrypted_content": "sealed"},
    )
    assert told == [{"role": "assistant", "content": "a"}]


def test_tools_of_other_kinds_are_refused_by_their_type() -> None:
    with pytest.raises(ProtocolError) as refused:
        body(tools=[LOOK, {"type": "acme:search"}])
    assert (refused.value.status, refused.value.param) == (400, "tools[1].type")
