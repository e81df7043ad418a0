"""What the model knows the service's own tools by: plain where that is unique, and always the same for a request."""

import re

from hypothesis import given
from hypothesis import strategies as st

from workers.tools.naming import function_names

_FIT = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_a_tool_keeps_its_name_where_nobody_else_has_it() -> None:
    assert function_names([("a", "add"), ("b", "mail")], ()) == ["add", "mail"]


def test_tools_of_the_same_name_have_their_labels_before_it() -> None:
    assert function_names([("a", "add"), ("b", "add")], ()) == ["a__add", "b__add"]


def test_a_name_of_the_requests_own_functions_is_theirs() -> None:
    assert function_names([("a", "add")], {"add"}) == ["a__add"]
    (name,) = function_names([("a", "add")], {"add", "a__add"})
    assert re.fullmatch(r"a__add_[0-9a-f]{8}", name)


def test_what_no_function_may_be_called_is_put_right() -> None:
    assert function_names([("a", "fs.read/all")], ()) == ["fs_read_all"]
    long, other = function_names([("a", "x" * 70 + "1"), ("a", "x" * 70 + "2")], ())
    assert len(long) == len(other) == 64
    assert long != other


@given(
    st.lists(st.tuples(st.text(max_size=20), st.text(max_size=80)), max_size=12),
    st.sets(st.text(alphabet="ab_", max_size=6), max_size=6),
)
def test_names_are_fit_and_unlike_each_other(tools: list[tuple[str, str]], taken: set[str]) -> None:
    names = function_names(tools, taken)
    assert len(set(names)) == len(tools)
    assert not set(names) & taken
    assert all(_FIT.fullmatch(name) for name in names)
    assert names == function_names(tools, taken)
