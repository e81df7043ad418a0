"""What is told of one response while it is generated: its events as they are made, then its end, each once."""

from responses_api.eventlog.message import Kind, Message
from responses_api.eventlog.publish import Address, Publisher
from responses_api.protocol.job import Job
from responses_api.protocol.request import CreateRequest
from responses_api.protocol.sse import encode
from workers.emitter import Emitter
from workers.retelling import Retelling


class Telling:
    """Publishes what the emitter of a job makes, but for what an attempt before this one told.

    `worker` is the name that the job was claimed under.
    """

    def __init__(
        self,
        job: Job,
        request: CreateRequest,
        worker: str,
        publisher: Publisher,
        emitter: Emitter,
        retelling: Retelling,
    ) -> None:
        self.has_begun = False
        self._is_background = job.is_background
        self._is_streamed = request.stream or job.is_background
        self._publisher = publisher
        self._emitter = emitter
        self._retelling = retelling
        self._until = retelling.told
        self._address = Address(
            response_id=job.response_id,
            worker=worker,
            inbox=job.inbox,
            journal=self._is_streamed or job.is_keyed,
            keep_journal=request.store or job.is_keyed,
            is_background=job.is_background,
        )

    @property
    def is_known(self) -> bool:
        """Whether anybody has been told the response's id."""
        return self.has_begun or self._is_background

    def begin(self) -> None:
        """Tell that the response has begun, if nobody has yet."""
        if not self.has_begun:
            self.has_begun = True
            self._emitter.start()
            self.go_on()

    def go_on(self) -> None:
        """Publish the events made since the last time. Raises `Diverged`."""
        if self._is_streamed:
            body = self._retelling.rest(self._emitter.drain())
            if body:
                self._publish(Kind.EVENTS, body)

    def end(self, last: bytes) -> None:
        """The last message: the terminal event behind the `last` frames that are still to be told, the whole answer, or
        a refusal where nothing was told.
        """
        error = self._emitter.error
        if error is not None and not (self.is_known and self._is_streamed):
            self._publish(Kind.REJECT, encode(error.to_plain()))
        elif self._is_streamed:
            body = last + self._emitter.drain()
            self._publish(Kind.END, body + self._emitter.terminal())
        else:
            self._publish(Kind.ANSWER, encode(self._emitter.response))

    def _publish(self, kind: Kind, body: bytes) -> None:
        first, following = self._until, self._emitter.next_sequence
        has_events = kind in (Kind.EVENTS, Kind.END)
        self._publisher.publish(
            self._address, Message(kind, first if has_events else 0, following if has_events else 0, body)
        )
        self._until = following
