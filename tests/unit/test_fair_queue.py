"""The queue in which every tenant has a line of its own."""

import threading

import pytest

from responses_api.fair_queue import FairQueue


def filled(*waiting: str, most: int = 100) -> FairQueue[str]:
    """A queue in which these wait; the first letter says in which line."""
    queue: FairQueue[str] = FairQueue(most)
    for name in waiting:
        assert queue.put(name[0], name) is None
    return queue


def test_each_line_has_its_turn_and_its_order() -> None:
    queue = filled("a1", "a2", "a3", "b1", "c1", "c2")
    assert queue.get(4) == ["a1", "b1", "c1", "a2"]
    assert queue.get(100) == ["c2", "a3"]


def test_who_comes_waits_for_one_of_each_other_line() -> None:
    queue = filled(*(f"a{number}" for number in range(50)), "b1")
    queue.get(3)
    queue.put("c", "c1")
    assert queue.get(2) == ["a2", "c1"]


def test_a_full_queue_pushes_out_the_newest_of_the_longest_line() -> None:
    queue = filled("a1", "a2", "a3", "b1", most=4)
    assert queue.put("b", "b2") == "a3"
    assert queue.put("a", "a4") == "a4"
    assert queue.put("c", "c1") == "b2"
    assert queue.get(100) == ["a1", "b1", "c1", "a2"]


def test_of_lines_of_one_length_who_comes_last_gives_way() -> None:
    queue = filled("a1", "b1", most=2)
    assert queue.put("c", "c1") == "c1"
    assert queue.get(100) == ["a1", "b1"]


def test_an_empty_queue_waits_for_what_comes() -> None:
    queue: FairQueue[str] = FairQueue(2)
    got: list[str] = []
    waiting = threading.Thread(target=lambda: got.extend(queue.get(5)))
    waiting.start()
    queue.put("a", "a1")
    waiting.join(5)
    assert got == ["a1"]


@pytest.mark.parametrize("most", [1, 8])
def test_nothing_is_lost_or_doubled_between_threads(most: int) -> None:
    queue: FairQueue[int] = FairQueue(10_000)
    got: list[int] = []

    def put(line: int) -> None:
        for number in range(500):
            queue.put(str(line), line * 1000 + number)

    threads = [threading.Thread(target=put, args=(line,)) for line in range(4)]
    for thread in threads:
        thread.start()
    while len(got) < 2000:
        got += queue.get(most)
    for line in range(4):
        assert [number for number in got if number // 1000 == line] == [line * 1000 + n for n in range(500)]
