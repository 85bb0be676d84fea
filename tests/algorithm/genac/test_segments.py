"""Segments: nothing is lost, none depends on what comes later, and each is as long as it may be."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from pacs.algorithm.genac import segment_starts
from pacs.algorithm.genac.segments import DELIMITER, LEAST_TOKENS, MOST_TOKENS

TOKENS = st.lists(st.sampled_from(["a", "b\n", "\n", "\n\n", "c\n\nd", " "]), min_size=1, max_size=40)
DELIMITERS = st.sampled_from(["\n\n", "\n", "b\n"])
LEAST, MOST = st.integers(1, 4), st.integers(1, 9)


def naive_starts(texts: list[str], delimiter: str, least: int, most: int) -> list[int]:
    """Token by token: the segment that is read, and the text since a delimiter was last completed."""
    starts, begun = [0], 0
    for read in range(1, len(texts)):  # tokens that are read
        ended = delimiter in "".join(texts[begun:read])
        if ended:
            begun = read
        length = read - starts[-1]
        if length == most or (ended and length >= least):
            starts.append(read)
    return starts


@given(TOKENS, DELIMITERS, LEAST, MOST)
def test_segments_concatenate_back_and_have_their_lengths(texts: list[str], mark: str, least: int, most: int) -> None:
    starts = segment_starts(texts, mark, least, most)
    assert starts == naive_starts(texts, mark, least, most)
    segments = [texts[start:end] for start, end in itertools.pairwise([*starts, len(texts)])]
    assert list(itertools.chain(*segments)) == texts
    assert all(0 < len(segment) <= most for segment in segments)
    for segment in segments[:-1]:
        assert len(segment) == most or len(segment) >= least


@given(TOKENS, TOKENS, TOKENS, DELIMITERS, LEAST, MOST)
def test_what_comes_later_moves_no_earlier_cut(
    texts: list[str], later: list[str], other: list[str], mark: str, least: int, most: int
) -> None:
    """Else the value before a segment would be a baseline that depends on the action."""
    known = segment_starts([*texts, "a"], mark, least, most)
    for end in (later, other):
        starts = segment_starts(texts + end, mark, least, most)
        assert [start for start in starts if start <= len(texts)] == known


def test_by_default_a_segment_ends_with_a_line_of_64_tokens_or_at_256() -> None:
    assert (DELIMITER, LEAST_TOKENS, MOST_TOKENS) == ("\n", 64, 256)
    assert segment_starts(["x"] * 600) == [0, 256, 512]
    lines = (["x"] * 9 + ["\n"]) * 20
    assert segment_starts(lines) == [0, 70, 140]
    assert segment_starts(["x"]) == [0]
    assert segment_starts(["x"] * 63 + ["\n"]) == [0]
    assert segment_starts(["x"] * 63 + ["\n", "x"]) == [0, 64]


def test_the_longest_is_kept_to_also_where_it_is_less_than_the_shortest() -> None:
    assert segment_starts(["x"] * 5, "\n", 4, 2) == [0, 2, 4]
