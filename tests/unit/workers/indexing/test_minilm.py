"""The embedding model, computed here, is the model that its makers published."""

import numpy as np
import pytest

from workers.indexing.minilm import DIMENSIONS, MiniLm, process_model

# The first numbers of what sentence-transformers 6.2.0 makes of these texts with PyTorch 2.13.0.
PUBLISHED = {
    "The cat sits outside": [0.13919, 0.00303, 0.04701, 0.03957, -0.048, -0.00681, 0.01505, 0.03338],
    "A man is playing guitar": [0.02266, -0.00139, -0.00561, -0.06702, -0.1556, -0.0027, 0.07891, -0.01296],
    "How large may an uploaded file be?": [
        *(0.01602, 0.00834, -0.05982, -0.02788, 0.07042, -0.05619, -0.06967, 0.06397),
    ],
    "Größe: 100 MB, naïve façade – 東京": [
        *(0.08308, 0.09748, 0.04877, -0.07135, -0.02039, -0.0549, -0.03141, 0.00229),
    ],
    "": [-0.11884, 0.0483, -0.00255, -0.01101, 0.05195, 0.01029, 0.11543, 0.0007],
}


@pytest.fixture(scope="module")
def model() -> MiniLm:
    return process_model()


def test_its_vectors_are_those_of_the_published_model(model: MiniLm) -> None:
    vectors = model.embed(list(PUBLISHED))
    assert vectors.shape == (len(PUBLISHED), DIMENSIONS)
    np.testing.assert_allclose(vectors[:, :8], list(PUBLISHED.values()), atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_texts_of_one_meaning_are_close(model: MiniLm) -> None:
    cat, guitar, feline = model.embed(
        ["The cat sits outside", "A man is playing guitar", "The feline is sitting in the garden"]
    )
    assert cat @ feline > 0.5
    assert cat @ guitar < 0.1


def test_a_text_has_the_same_vector_whatever_stands_beside_it(model: MiniLm) -> None:
    texts = ["short", "a sentence that is a little longer", "long " * 300]
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(model.embed(texts * 9)[:3], alone, atol=1e-5)


def test_of_a_long_text_the_beginning_counts(model: MiniLm) -> None:
    first, second = model.embed(["word " * 254, "word " * 254 + "and something else"])
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_no_texts_have_no_vectors(model: MiniLm) -> None:
    assert model.embed([]).shape == (0, DIMENSIONS)
