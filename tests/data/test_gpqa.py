"""GPQA's choices: shuffled once for all, and the gold letter is the right one's."""

from collections import Counter

import pytest

from pacs.data.columns import LETTERS, RIGHT, WRONG, Choices
from pacs.data.problem import Dropped


def row(i: int) -> dict[str, str]:
    return {"Record ID": f"rec{i}", "Question": f"Question {i}?\n", RIGHT: f"right {i}"} | {
        column: f"{column} of {i}" for column in WRONG
    }


def test_the_gold_letter_stands_before_the_right_answer() -> None:
    for i in range(50):
        problem = Choices()(row(i), "7")
        lines = problem.content.splitlines()
        assert lines[:2] == [f"Question {i}?", ""]
        assert [line[:3] for line in lines[2:]] == [f"{letter}) " for letter in LETTERS]
        assert lines[2 + LETTERS.index(problem.gold)] == f"{problem.gold}) right {i}"
        assert sorted(line[3:] for line in lines[2:]) == sorted(
            [f"right {i}", *(f"{column} of {i}" for column in WRONG)]
        )
        assert problem.choices == tuple(line[3:] for line in lines[2:])
        assert problem.id == f"rec{i}"


def test_the_order_is_the_same_in_every_run_and_differs_between_questions() -> None:
    golds = [Choices()(row(i), "0").gold for i in range(400)]
    # From the first run; another Python gives the same.
    assert "".join(golds[:20]) == "BBCCCDDAACBCAADACDCA"
    # 100 each are expected; 5 standard deviations are 43.
    assert all(57 < count < 143 for count in Counter(golds).values())
    assert len(set(golds)) == 4


@pytest.mark.parametrize(("column", "reason"), [("Question", "empty question"), (WRONG[1], "empty answer")])
@pytest.mark.parametrize("value", [None, " "])
def test_a_row_that_lacks_something(column: str, reason: str, value: str | None) -> None:
    with pytest.raises(Dropped, match=reason):
        Choices()(row(0) | {column: value}, "0")
