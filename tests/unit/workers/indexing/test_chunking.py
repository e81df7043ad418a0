"""Documents are cut into passages that an embedding model reads whole."""

from hypothesis import given
from hypothesis import strategies as st

from workers.indexing.chunking import MOST_TOKENS, Chunk, chunks, count_tokens
from workers.indexing.document import Block, Document

WORDS = " ".join(["word"] * 60)


def cut(*blocks: Block) -> list[Chunk]:
    return list(chunks(Document(blocks)))


def test_short_paragraphs_of_a_section_are_one_chunk() -> None:
    assert cut(Block("a", ("T",), 1), Block("b", ("T",), 2)) == [Chunk("a\nb", ("T",), 1)]


def test_short_sections_are_joined_with_their_headings() -> None:
    assert cut(Block("a", ("T", "A")), Block("b", ("T", "B"))) == [Chunk("a\nB\nb", ("T", "A"), None)]


def test_a_new_section_begins_a_new_chunk_where_there_is_enough_before_it() -> None:
    sections = cut(Block(WORDS, ("A",)), Block(WORDS, ("A",)), Block("b", ("B",)))
    assert [(chunk.headings, chunk.text) for chunk in sections] == [
        (("A",), f"{WORDS}\n{WORDS}"),
        (("B",), "b"),
    ]


def test_parts_of_a_long_section_overlap() -> None:
    short = "The last words of a part."
    first, second = cut(Block(WORDS), Block(WORDS), Block(WORDS), Block(short), Block(WORDS))
    assert first.text.endswith(short)
    assert second.text.startswith(short)


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentence = f"{WORDS}."
    assert {chunk.text[-1] for chunk in cut(Block(" ".join([sentence] * 10)))} == {"."}


@given(st.lists(st.builds(Block, st.text(min_size=1)), max_size=8))
def test_no_chunk_is_too_long_and_nothing_is_lost(blocks: list[Block]) -> None:
    made = cut(*blocks)
    assert all(count_tokens(chunk.text) <= MOST_TOKENS for chunk in made)
    said = "".join("".join(chunk.text.split()) for chunk in made)
    for block in blocks:
        for word in block.text.split():
            assert word in said


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    made = cut(Block("字" * 1000))
    assert "".join(chunk.text for chunk in made) == "字" * 1000
    assert len(made) == 5


def test_spaces_without_end_are_no_passage() -> None:
    assert cut(Block("a" + " " * 1_000_000 + "b")) == [Chunk("a\nb", (), None)]
