"""What rules demand of an answer, in one place."""

from responses_api.conformance.outcomes import Broken, NotShown, require
from responses_api.conformance.wire import Answer
from responses_api.protocol.plain import Json


def refused(answer: Answer, *statuses: int, code: str | None = None, param: str | None = None) -> Json:
    """The error of a call that must be refused with one of `statuses` (400 unless given).

    `param` is how the error's own must begin. Raises `Broken`, and `NotShown` at a rate limit.
    """
    wanted = statuses or (400,)
    if answer.status == 429 and 429 not in wanted:
        raise NotShown("the server limits the run")
    if answer.status not in wanted:
        expected = " or ".join(map(str, wanted))
        raise Broken(
            f"{answer.request} must be refused with {expected} and was answered with {answer.status}"
        )
    error = answer.error
    if code is not None:
        require(error.get("code") == code, f"the error's code is {error.get('code')!r}, not '{code}'")
    if param is not None:
        told = error.get("param")
        require(
            isinstance(told, str) and told.startswith(param),
            f"the error's param is {told!r}, which does not begin with '{param}'",
        )
    return error


def found(answer: Answer) -> Json:
    """The object of a call that must be served. Raises `Broken`."""
    if answer.status != 200:
        raise Broken(f"{answer.request} must be served and was answered with {answer.status}")
    return answer.json()


def no_server_error(answer: Answer) -> None:
    """An answer to whatever a client sent: never the server's own fault. Raises `Broken`."""
    require(answer.status < 500, f"what a client sent is answered with {answer.status}")
