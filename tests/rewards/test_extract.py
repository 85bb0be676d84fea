"""Which text is taken for the answer."""

import pytest

from pacs.rewards.extract import final_part, last_boxed


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


def test_long_and_hostile_texts_are_read_in_linear_time() -> None:
    assert last_boxed("\\boxed" * 200_000) is None
    assert last_boxed("\\boxed{" * 200_000) is None
    assert last_boxed("\\boxed{" + "{" * 200_000 + "}" * 200_000 + "}") == "{" * 200_000 + "}" * 200_000
