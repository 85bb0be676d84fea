"""Which text is taken for the answer."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from pacs.rewards.answers.refusals import MAX_CHARS
from pacs.rewards.exact_match import compute_score as exact_match
from pacs.rewards.extract import MAX_BOX_CHARS, OVERLONG, last_boxed, unboxed_answer
from pacs.rewards.math import compute_score as math_score
from pacs.rewards.multiple_choice import BOX_CHARS
from pacs.rewards.multiple_choice import compute_score as multiple_choice
from pacs.rewards.reasoning import final_part


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{7}.", "7"),
        (r"\boxed{1} no, \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}} is it", r"\frac{1}{2}"),
        (r"\boxed{\text{a {b} c}}", r"\text{a {b} c}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\left\{1\right.}", r"\left\{1\right."),  # an escaped brace opens nothing
        (r"\boxed { 7 }", "7"),
        ("\\boxed{\n7\n}", "7"),
        (r"\boxed{\boxed{7}}", "7"),
        (r"\boxed{ \boxed{\boxed{7}} }", "7"),
        (r"\boxed{5+\boxed{5}}", r"5+\boxed{5}"),
        (r"\boxed{\boxed{7}+\boxed{8}}", r"\boxed{7}+\boxed{8}"),
        (r"\boxed{\boxed{7} \text{or} 8}", r"\boxed{7} \text{or} 8"),
        (r"\boxed{6 \boxed{7}", "7"),  # the outer one is none
        (r"\boxed{}", ""),
        (r"\boxed{7} \boxed 8", "7"),  # without braces it is no box
        (r"\boxed{7} and \boxed{8", None),  # cut off: 7 was not the last word
        (r"\boxed{7\}", None),
        (r"\boxed", None),
        ("boxed{7}", None),
        ("7", None),
        ("", None),
    ],
)
def test_last_boxed(text: str, answer: str | None) -> None:
    assert last_boxed(text) == answer


@pytest.mark.parametrize(
    ("response", "part"),
    [
        ("all of it", "all of it"),
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),  # the template opened the reasoning
        ("<think>a</think>b</think>c", "c"),
        ("<think>a", ""),
        ("<think>a</think>b<think>c", ""),
    ],
)
def test_final_part(response: str, part: str) -> None:
    assert final_part(response) == part


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        ("7" * MAX_BOX_CHARS, "7" * MAX_BOX_CHARS),
        ("7" * (MAX_BOX_CHARS + 1), OVERLONG),
        (" " * (MAX_BOX_CHARS - 1) + "7", "7"),
        (" " * MAX_BOX_CHARS + "7", OVERLONG),
        ("7" + " " * MAX_BOX_CHARS + "8", OVERLONG),  # not 7
        (
            "{" * (MAX_BOX_CHARS // 2) + "}" * (MAX_BOX_CHARS // 2),
            "{" * (MAX_BOX_CHARS // 2) + "}" * (MAX_BOX_CHARS // 2),
        ),
        ("\\}" * (MAX_BOX_CHARS // 2), "\\}" * (MAX_BOX_CHARS // 2)),
        ("\\}" * MAX_BOX_CHARS, OVERLONG),
    ],
    ids=lambda text: f"{text[:4]}...{len(text)}",
)
def test_a_box_has_a_longest_content(content: str, answer: str) -> None:
    assert last_boxed(f"\\boxed{{{content}}} end") == answer


def test_a_box_that_is_not_closed_is_cut_off_or_too_long() -> None:
    assert last_boxed("\\boxed{" + "7" * MAX_BOX_CHARS) is None
    assert last_boxed("\\boxed{" + "7" * (MAX_BOX_CHARS + 1)) == OVERLONG


@pytest.mark.parametrize("content", ["C" + " " * MAX_BOX_CHARS + "D", "C" * (MAX_BOX_CHARS + 1)])
def test_what_is_too_long_is_wrong_in_all_verifiers(content: str) -> None:
    """Whatever its beginning: something was boxed."""
    assert len(OVERLONG) > max(MAX_CHARS, BOX_CHARS)
    for end in ("}", ""):
        for grade, gold in ((math_score, "C"), (exact_match, "C"), (multiple_choice, "C")):
            assert grade("test", f"\\boxed{{{content}{end}", gold)["status"] == "wrong"


TEN_MB = 10**7
HOSTILE = [
    "\\boxed", "\\boxed{", "\\boxed ", "\\boxed{1", "\\boxed{}", "{", "}", "\\", "\\{", " ", "\n", "a",
    "answer", "answer:", "answer is ", "**", "**a", "<think>", "</think>", "<",
]  # fmt: skip


@pytest.mark.parametrize("start", ["", "\\boxed{", "\\boxed", "answer:"])
def test_texts_of_10_mb_are_not_gone_through_in_python(start: str) -> None:
    """The lines of Python that run are counted; in regular expressions, what grew with the square would never end."""
    for part in HOSTILE:
        text = start + part * (TEN_MB // len(part))
        for read in (final_part, last_boxed, unboxed_answer):
            with at_most_lines(4 * MAX_BOX_CHARS):
                read(text)


@contextmanager
def at_most_lines(most: int) -> Iterator[None]:
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        assert lines <= most
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        yield
    finally:
        sys.settrace(before)
