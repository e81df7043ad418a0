"""Dispatch: what could not be handed to the broker is taken back, and its tenant's line does not stop another's."""

import threading
from collections.abc import Sequence

import pytest

from responses_api import dispatch
from responses_api.dispatch import Dispatcher


class Room:
    """Notes what is offered and taken back; the first offer waits until it is let in."""

    def __init__(self) -> None:
        self.offered: list[str] = []
        self.taken_back: list[str] = []
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()
        self.has_taken_back = threading.Event()

    def offer(self, queue_name: str, jobs: Sequence[tuple[str, str, bytes]]) -> None:
        self.has_begun.set()
        assert self.may_go_on.wait(5)
        self.offered += [response_id for _, response_id, _ in jobs]

    def take_back(self, response_ids: Sequence[str]) -> None:
        self.taken_back += response_ids
        self.has_taken_back.set()


def ask(dispatcher: Dispatcher, *response_ids: str, refused: list[str]) -> None:
    """Dispatch these, of the tenants that their first letters name."""
    for name in response_ids:

        def refuse(name: str = name) -> None:
            refused.append(name)

        dispatcher.dispatch(name, b"", tenant_id=name[0], service_tier="default", on_failure=refuse)


def test_what_the_broker_did_not_take_is_refused_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(queue_name: str, count: int) -> None:
        raise OSError("no broker")

    monkeypatch.setattr(dispatch, "_send_ticket", broken)
    room, refused = Room(), list[str]()
    room.may_go_on.set()
    ask(Dispatcher(room), "a1", refused=refused)
    assert room.has_taken_back.wait(5)
    assert (refused, room.offered, room.taken_back) == (["a1"], ["a1"], ["a1"])


def test_a_tenant_crowds_no_other_out_of_a_slow_dispatch(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = threading.Semaphore(0)
    tickets: list[tuple[str, int]] = []

    def send(queue_name: str, count: int) -> None:
        tickets.append((queue_name, count))
        sent.release()

    monkeypatch.setattr(dispatch, "_send_ticket", send)
    monkeypatch.setattr(dispatch, "_MOST_WAITING", 10)
    room, refused = Room(), list[str]()
    dispatcher = Dispatcher(room)
    ask(dispatcher, "a0", refused=refused)
    assert room.has_begun.wait(5)
    ask(dispatcher, *(f"a{number}" for number in range(1, 16)), "b1", "b2", refused=refused)
    room.may_go_on.set()
    for _ in range(3):
        assert sent.acquire(timeout=5)
    assert refused == [f"a{number}" for number in (11, 12, 13, 14, 15, 10, 9)]
    assert room.offered == ["a0", "a1", "b1", "a2", "b2", "a3", "a4", "a5", "a6", "a7", "a8"]
    assert tickets == [("antiphon.default", count) for count in (1, 8, 2)]
