"""What is not computed at all."""

import pytest

from pacs.rewards.bounds import MAX_CHARS, MAX_DEPTH, beyond_bounds


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("1" * (MAX_CHARS + 1), "longer"),
        ("{" * 3000 + "1" + "}" * 3000, "longer"),
        ("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), "nested"),
        ("2^{2^{2^{2^{2^2}}}}", "power of a power"),
        ("9^9^9^9", "power of a power"),
        ("9**9**9**9", "power of a power"),
        ("x^{y^{z^{w}}}", "power of a power"),
        ("9^{9^9}", "exponent"),
        ("9^{9^{9}}", "exponent"),
        ("(9^{9})^{99999}", "exponent"),
        ("10^{100000000}", "exponent"),
        ("10^{-99999}", "exponent"),
        ("2^" + "9" * 500, "exponent"),
        ("9^{2^{" + "9" * 500 + "}}", "exponent"),
        ("100000!", "factorial"),
        ("{100000}!", "factorial"),
        ("9" * 500 + "!", "factorial"),
        ("((9!)!)!", "factorial"),
        ("9!!!", "factorial"),
        ("9" * 101 + "+1", "digits"),
    ],
)
def test_too_much(answer: str, why: str) -> None:
    assert why in str(beyond_bounds(answer))


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "72",
        "1" * 100,
        "x" * MAX_CHARS,
        "2^{2024}",
        "2^{2^{3}}",
        "10^{-18}",
        "e^{x^{2}}",
        "x^{2^{n}}",
        r"2^{10} \cdot 3^{5} \cdot 7^2",
        "2^2 + 3^2 + 4^2 + 5^2",
        "a^2b^2c^2d^2",
        r"x^2\sin^2 x\cos^2 x",
        r"\frac{10!}{3!7!}",
        "1000!",
        "(n+1)!",
        "7! + 8!",
    ],
)
def test_within_bounds(answer: str) -> None:
    assert beyond_bounds(answer) is None
