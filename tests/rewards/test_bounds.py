"""What is not read at all."""

import pytest

from pacs.rewards.answers.refusals import MAX_CHARS, MAX_DEPTH, TooMuch, check_operation, check_size


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("1" * (MAX_CHARS + 1), "longer"),
        ("{" * 3000 + "1" + "}" * 3000, "longer"),
        ("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1), "nested"),
        (r"\{" * (MAX_DEPTH + 1), "nested"),
    ],
)
def test_too_long_or_too_deep(answer: str, why: str) -> None:
    with pytest.raises(TooMuch, match=why):
        check_size(answer)


def test_what_is_not_too_long() -> None:
    check_size("x" * MAX_CHARS)
    check_size("(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH)
    check_size("()" * 400)


@pytest.mark.parametrize(
    "operation",
    [
        r"\sum_{k=1}^{100000000000} k",
        r"\sum_{k=1}^{10} k!",
        r"\int_0^1 x^{99999} dx",
        r"\gcd(9^{9^9}, 3)",
        r"\gcd(2**99999, 3)",
        r"\int_0^1 " + "x+" * 100 + "x dx",
    ],
)
def test_operations_that_sympy_is_not_asked_for(operation: str) -> None:
    with pytest.raises(TooMuch):
        check_operation(operation)


@pytest.mark.parametrize("operation", [r"\sum_{k=1}^{100} k^2", r"\int_0^1 x^{10} e^{x} dx", r"\gcd(123456, 7890)"])
def test_operations_that_it_is_asked_for(operation: str) -> None:
    check_operation(operation)
