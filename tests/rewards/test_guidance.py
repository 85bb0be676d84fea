"""What is told before another try, and where."""

import pytest

from pacs.rewards.guidance import guidance_of, guided_messages, share_of

ROW = {"hint": " It is even.\nAnd small. ", "solution": "one\ntwo\n\nfour\n"}


@pytest.mark.parametrize(
    ("kind", "said", "part", "characters", "wanted"),
    [
        ("hint", {}, 0.1, 3, "It is even.\nAnd small."),
        ("solution", {}, 0.25, 3, "one"),
        ("solution", {}, 0.26, 3, "one\ntwo"),
        ("solution", {}, 1.0, 3, "one\ntwo\n\nfour"),
        ("error", {"feedback": "ValueError: no", "status": "wrong"}, 1.0, 100, "ValueError: no"),
        ("error", {"feedback": "ValueError: no"}, 1.0, 2, "no"),
        ("error", {"status": "no_answer"}, 1.0, 100, "There is no answer."),
        ("error", {"status": "timeout"}, 1.0, 100, "It took too long."),
        ("error", {}, 1.0, 100, "The answer is wrong."),
    ],
)
def test_guidance(kind: str, said: dict, part: float, characters: int, wanted: str) -> None:
    assert guidance_of(kind, ROW, said, part=part, characters=characters) == wanted  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [{}, {"hint": None}, {"hint": ""}, {"hint": " \n"}, {"hint": 3}])
def test_rows_without_any(row: dict) -> None:
    assert guidance_of("hint", row, {}, part=1.0, characters=9) is None


def test_the_prompt_stays_as_it_is() -> None:
    asked = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "1+1"}]
    kept = [dict(message) for message in asked]
    guided = guided_messages(asked, "hint", "{guidance} is even", "Hint: {guidance}.", "3")
    assert guided == [asked[0], {"role": "user", "content": "1+1\n\nHint: {guidance} is even."}]
    answered = guided_messages(asked, "error", "wrong", "So: {guidance}", "3")
    assert answered == [*asked, {"role": "assistant", "content": "3"}, {"role": "user", "content": "So: wrong"}]
    assert asked == kept


def test_a_share_is_of_the_number_that_is_written() -> None:
    """0.28 * 25 is 7.000000000000001 in binary numbers."""
    for percent in range(1, 101):
        for count in range(65):
            assert share_of(percent / 100, count) == -(-percent * count // 100)
