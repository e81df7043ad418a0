"""Which model embeds, and where: the one that comes with the service, in this process, or a server's.

Vectors of one model say nothing beside those of another: what is stored and what is asked are of `embedder().model`.
"""

import threading
from collections.abc import Sequence
from functools import cache
from typing import Final, Protocol

from django.conf import settings

from responses_api.services.vectors import OWN_MODEL

Vectors = Sequence[Sequence[float]]

_load: Final = threading.Lock()


class EmbeddingError(Exception):
    """The embedding model does not answer, or not as it should; the error's text is a sentence."""


class Embedder(Protocol):
    """Makes vectors of texts; any thread may call it."""

    @property
    def model(self) -> str:
        """The name that its vectors are kept under."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector for each text, in their order. Raises `EmbeddingError`."""


class _Local:
    """The model that comes with the service, loaded when it is first asked."""

    model: Final = OWN_MODEL

    def embed(self, texts: Sequence[str]) -> Vectors:
        # Here, so that a process which never embeds, and a test that never does, has none of it.
        from workers.indexing.minilm import MissingModelError, process_model

        with _load:
            try:
                model = process_model()
            except MissingModelError as error:
                raise EmbeddingError(str(error)) from error
        vectors: Vectors = model.embed(texts).tolist()
        return vectors


@cache
def embedder() -> Embedder:
    """The embedder of this process, as the settings have it."""
    if not settings.EMBEDDING_URL:
        return _Local()
    from workers.indexing.embedding_server import EmbeddingServer

    return EmbeddingServer(settings.EMBEDDING_URL, settings.EMBEDDING_MODEL, settings.EMBEDDING_KEY)
