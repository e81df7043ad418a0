"""Server-sent events: our frames, and a decoder that does not care where the chunks are cut."""

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from responses_api.protocol.sse import DONE, KEEP_ALIVE, SseDecoder, SseEvent, encode, frame, frames_to_data

STREAMS: dict[str, tuple[bytes, list[SseEvent]]] = {
    "LF": (b"event: a\ndata: 1\n\ndata: 2\n\n", [SseEvent("a", "1"), SseEvent(None, "2")]),
    "CR": (b"event: a\rdata: 1\r\rdata: 2\r\r", [SseEvent("a", "1"), SseEvent(None, "2")]),
    "CRLF": (b"event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [SseEvent("a", "1"), SseEvent(None, "2")]),
    "mixed line ends": (b"data: 1\r\n\ndata: 2\n\rdata: 3\r\r\n", [SseEvent(None, x) for x in "123"]),
    "several data lines": (b"data: a\ndata:b\ndata\ndata:  c\n\n", [SseEvent(None, "a\nb\n\n c")]),
    "empty data": (b"data:\n\ndata\n\n", [SseEvent(None, ""), SseEvent(None, "")]),
    "comments, ids and retry": (
        b": hello\n\nid: 7\nretry: 10\n\n:x\nid: 1\ndata: 1\nretry: 1\n\n",
        [SseEvent(None, "1")],
    ),
    "an event without data": (b"event: a\n\ndata: 1\n\n", [SseEvent(None, "1")]),
    "an empty event name": (b"event:\ndata: 1\n\n", [SseEvent(None, "1")]),
    "blank lines everywhere": (
        b"\n\n\ndata: 1\n\n\n\ndata: 2\n\n\n",
        [SseEvent(None, "1"), SseEvent(None, "2")],
    ),
    "a BOM at the start": (b"\xef\xbb\xbfdata: 1\n\n", [SseEvent(None, "1")]),
    "a second BOM": (
        b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\ndata: 2\n\n",
        [SseEvent(None, "2")],
    ),
    "a BOM inside": (b"data: \xef\xbb\xbf1\n\n", [SseEvent(None, "\ufeff1")]),
    "other line separators": (
        "data: a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg\n\n".encode(),
        [SseEvent(None, "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg")],
    ),
    "long code points": ("data: é€😀\n\n".encode(), [SseEvent(None, "é€😀")]),
    "bytes that are not UTF-8": (b"data: a\xff\xc3b\n\n", [SseEvent(None, "a\ufffd\ufffdb")]),
    "colons in data": (b"data: a:b: c\n\n", [SseEvent(None, "a:b: c")]),
    "fields of other names": (b"database: 1\nDATA: 2\n data: 3\ndata: 4\n\n", [SseEvent(None, "4")]),
}


def decode_in(chunks: list[bytes]) -> list[SseEvent]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close()


@pytest.mark.parametrize("name", STREAMS)
def test_it_decodes_a_stream_cut_at_any_two_places(name: str) -> None:
    raw, expected = STREAMS[name]
    for first in range(len(raw) + 1):
        for second in range(first, len(raw) + 1):
            assert decode_in([raw[:first], raw[first:second], raw[second:]]) == expected


@pytest.mark.parametrize("name", STREAMS)
def test_it_decodes_a_stream_byte_by_byte(name: str) -> None:
    raw, expected = STREAMS[name]
    assert decode_in([raw[index : index + 1] for index in range(len(raw))]) == expected


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(
            [b"data: x", b"event: e", b":", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xe2\x80", b"\xa8"]
        )
    ),
    st.data(),
)
def test_chunk_boundaries_never_change_what_is_decoded(pieces: list[bytes], data: st.DataObject) -> None:
    raw = b"".join(pieces)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)))))
    chunks = [raw[start:end] for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    assert decode_in(chunks) == decode_in([raw])


def test_an_event_is_told_as_soon_as_its_blank_line_begins() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: 1\r\n") == []
    assert decoder.feed(b"\r") == [SseEvent(None, "1")]
    assert decoder.feed(b"\n") == []
    assert decoder.close() == []


def test_a_cut_last_event_is_told_only_at_the_end() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"event: a\ndata: [DONE]") == []
    assert decoder.close() == [SseEvent("a", "[DONE]")]
    assert decoder.close() == []


def test_a_cut_last_event_without_data_is_dropped() -> None:
    assert decode_in([b"event: a\n"]) == []


def test_a_code_point_cut_by_the_end_becomes_a_replacement_character() -> None:
    assert decode_in([b"data: a\xe2\x82"]) == [SseEvent(None, "a\ufffd")]


def test_what_we_frame_is_what_is_decoded() -> None:
    event = {"type": "x", "text": "a\nb\r\n\u2028"}
    assert decode_in([frame("x", encode(event))]) == [SseEvent("x", orjson.dumps(event).decode())]


def test_the_data_of_our_frames_comes_without_comments_and_the_end_mark() -> None:
    blob = KEEP_ALIVE + frame("a", b"{}") + KEEP_ALIVE + frame("b", b'{"data: ":"\\n\\n"}') + DONE
    assert list(frames_to_data(blob)) == [b"{}", b'{"data: ":"\\n\\n"}']
    assert list(frames_to_data(b"")) == []
