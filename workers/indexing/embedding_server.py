"""Embeddings by a server that speaks OpenAI's format, as vLLM, llama.cpp, Ollama and the hosted ones do.

OpenAI's API reference: "Create embeddings". The operator chose the address: nothing keeps it from being a private one.
"""

from collections.abc import Sequence
from typing import Any, Final

import httpx2

from workers.indexing.embedding import EmbeddingError, Vectors

_BATCH: Final = 64
_SECONDS: Final = 60.0


class EmbeddingServer:
    """Asks `url` (`/embeddings` is below it) for vectors of `model`, with `key` as a bearer token if there is one."""

    def __init__(self, url: str, model: str, key: str) -> None:
        self.model: Final = model
        self._url: Final = f"{url.rstrip('/')}/embeddings"
        self._headers: Final = {"Authorization": f"Bearer {key}"} if key else {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text. Raises `EmbeddingError`, which names neither address nor key."""
        with httpx2.Client(headers=self._headers, timeout=_SECONDS, trust_env=False) as client:
            batches = (texts[begin : begin + _BATCH] for begin in range(0, len(texts), _BATCH))
            return [vector for batch in batches for vector in self._ask(client, batch)]

    def _ask(self, client: httpx2.Client, texts: Sequence[str]) -> Vectors:
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        try:
            answer = client.post(self._url, json=body)
        except httpx2.HTTPError as error:
            raise EmbeddingError(f"The embedding server does not answer ({type(error).__name__}).") from error
        if answer.status_code != httpx2.codes.OK:
            raise EmbeddingError(f"The embedding server answered with status {answer.status_code}.")
        try:
            return _vectors(answer.json(), len(texts))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise EmbeddingError("The embedding server's answer is no list of embeddings.") from error


def _vectors(answer: Any, count: int) -> Vectors:
    """Raises KeyError, IndexError, TypeError or ValueError for what is no answer to so many texts."""
    made: list[list[float]] = [[]] * count
    for entry in answer["data"]:
        made[entry["index"]] = [float(number) for number in entry["embedding"]]
    if not all(made) or len({len(vector) for vector in made}) != 1:
        raise ValueError("vectors are missing, or of several lengths")
    return made
