"""Embeddings from a server that speaks OpenAI's format."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from workers.indexing.embedding import EmbeddingError
from workers.indexing.embedding_server import EmbeddingServer


class Endpoint(ThreadingHTTPServer):
    """Answers with `status` and `answer`, or with vectors of the texts' lengths, the last first."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str | None, Any]] = []
        self.status = 200
        self.answer: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        data = [{"index": index, "embedding": [len(text), 1]} for index, text in enumerate(body["input"])]
        told = json.dumps(self.server.answer or {"data": data[::-1]}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_each_text_gets_its_vector_whatever_their_order(endpoint: Endpoint) -> None:
    server = EmbeddingServer(endpoint.url, "small", "sk-secret")
    assert server.embed(["a", "bcd"]) == [[1.0, 1.0], [3.0, 1.0]]
    body = {"model": "small", "input": ["a", "bcd"], "encoding_format": "float"}
    assert endpoint.asked == [("/v1/embeddings", "Bearer sk-secret", body)]


def test_many_texts_are_sent_in_several_requests(endpoint: Endpoint) -> None:
    vectors = EmbeddingServer(endpoint.url, "small", "").embed(["x" * size for size in range(100)])
    assert [vector[0] for vector in vectors] == list(range(100))
    assert [len(body["input"]) for _, _, body in endpoint.asked] == [64, 36]
    assert endpoint.asked[0][1] is None


@pytest.mark.parametrize(
    "answer",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]},
        {"error": "no"},
        [],
        {"data": [{"index": 9, "embedding": [1]}]},
    ],
)
def test_what_is_no_list_of_vectors_is_an_error(endpoint: Endpoint, answer: Any) -> None:
    endpoint.answer = answer or {"nothing": 1}
    with pytest.raises(EmbeddingError, match="is no list of embeddings"):
        EmbeddingServer(endpoint.url, "small", "").embed(["a", "b"])


def test_a_refusal_names_its_status_and_no_secret(endpoint: Endpoint) -> None:
    endpoint.status = 401
    with pytest.raises(EmbeddingError) as refused:
        EmbeddingServer(endpoint.url, "small", "sk-secret").embed(["a"])
    assert str(refused.value) == "The embedding server answered with status 401."


def test_a_server_that_is_away_is_an_error() -> None:
    with pytest.raises(EmbeddingError, match="does not answer"):
        EmbeddingServer("http://127.0.0.1:9/v1", "small", "").embed(["a"])
