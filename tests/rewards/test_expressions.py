"""Expressions of whole numbers: against Python's own parser, its precedence and its fractions."""

import ast
import contextlib
import time
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.expressions import MAX_CHARS, MAX_DEPTH, canonical, numbers, read, value

#: Their sums, products and quotients are equal only where the expressions are equal for all numbers.
GENERIC = (101, 10007, 1000003)


def by_python(node: ast.expr) -> Fraction:
    """The value of a tree of Python's own parser. Raises TypeError for other than sums, products and the like."""
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -by_python(operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return by_python(left) + by_python(right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return by_python(left) - by_python(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return by_python(left) * by_python(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return by_python(left) / by_python(right)
    raise TypeError(ast.dump(node))


def python_value(text: str) -> Fraction | None:
    """None: it divides by 0."""
    try:
        return by_python(ast.parse(text.strip(), mode="eval").body)
    except ZeroDivisionError:
        return None


def our_value(text: str) -> Fraction | None:
    try:
        return value(read(text))
    except ZeroDivisionError:
        return None


def expressions_of(chosen: tuple[int, ...]) -> list[str]:
    """Every expression of the numbers in some order, with every pair of brackets that matters, and without."""
    texts = []
    for order in permutations(chosen):
        for signs in product("+-*/", repeat=len(order) - 1):
            flat = str(order[0]) + "".join(sign + str(number) for sign, number in zip(signs, order[1:], strict=True))
            texts.append(flat)
            if len(order) == 3:
                a, b, c = order
                texts += [f"({a}{signs[0]}{b}){signs[1]}{c}", f"{a}{signs[0]}({b}{signs[1]}{c})"]
    return texts


@pytest.mark.parametrize("chosen", [(2, 3, 4), (1, 1, 5), (0, 2, 2), (6, 12, 18)])
def test_every_expression_of_three_numbers_is_evaluated_as_python_does(chosen: tuple[int, ...]) -> None:
    for text in expressions_of(chosen):
        assert our_value(text) == python_value(text), text
        assert sorted(numbers(read(text))) == sorted(chosen)


@pytest.mark.parametrize(("count", "different"), [(1, 1), (2, 6), (3, 68)])
def test_one_canonical_form_for_all_that_are_equal_whatever_the_numbers(count: int, different: int) -> None:
    """6 and 68 are those of OEIS A140606."""
    texts = expressions_of(GENERIC[:count])
    forms = {(canonical(read(text)), python_value(text)) for text in texts}
    assert len(forms) == len({form for form, _ in forms}) == len({found for _, found in forms}) == different
    assert all(python_value(form) == found for form, found in forms)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("(2+1)*3", "3*(1+2)"),
        ("5-(3-1)", "1+5-3"),
        ("-(3-5)+10", "5+10-3"),
        ("\\frac{8}{\\frac{4}{2}}", "2*8/4"),
        ("-3-7", "-3-7"),
        ("((7))", "7"),
        ("-(-(7))", "7"),
        ("(10+2)*(3-1)*12", "12*(3-1)*(2+10)"),
        ("2*1+2*3", "1*2+2*3"),
    ],
)
def test_canonical_forms(text: str, form: str) -> None:
    assert canonical(read(text)) == form
    assert canonical(read(form)) == form


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3×7", "3*7"),
        ("3 \\times 7", "3*7"),
        ("3\\cdot7", "3*7"),
        ("3 · 7", "3*7"),
        ("8÷2", "8/2"),
        ("8\\div 2", "8/2"),
        ("8−2", "8-2"),
        ("\\frac{3+5}{2}\\times7", "(3+5)/2*7"),
        ("\\dfrac{1}{2}", "1/2"),
        ("2*\\tfrac{1}{2}", "2*1/2"),
        ("\\left(3+5\\right)\\,/\\;2", "(3+5)/2"),
        ("\\left (3+5\\right )\\ *2", "(3+5)*2"),
        ("2/\\frac{3}{4}", "2/(3/4)"),
        (" -3 + 7\n", "-3+7"),
        ("2*(-3+7)", "2*(-3+7)"),
        ("-3*7+50", "(-3*7)+50"),
    ],
)
def test_ways_of_writing(text: str, python: str) -> None:
    assert value(read(text)) == python_value(python)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "()", "+", "3+", "*3", "3 7", "3(7)", "(3)(7)", "(3)7", "3**7", "3^7", "3//7", "3--7", "--3", "3+-7",
        "3*-7", "+3", "03", "00", "3_0", "3.0", "3e1", "0x3", "３", "٣", "३", "²", "3\u20e3", "(3", "3)", ")3(",
        "[3+7]", "{3+7}", "\\frac37", "\\frac{3}7", "\\frac{3}", "\\frac{3}{7", "\\timesx", "3\\times", "\\times 3",
        "\\left3", "3\\left)", "\\left[3\\right]", "3!", "a", "3*x", "abs(3)", "__import__('os')", "3;7", "3,7", "3=3",
        "\\sqrt{9}", "3%2", "3<7", "1if 1else 2", "3\x00", "\udcff", "(" * 200 + "3", "3+\\", "\\frac{-}{3}", "$3+7$",
    ],
)  # fmt: skip
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(ValueError, match=r"no number|in place of|is missing|too early|after a whole|deeper"):
        read(text)


def test_bounds() -> None:
    for depth, fits in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
        for text in ("(" * depth + "7" + ")" * depth, "-(" * depth + "7" + ")" * depth):
            if fits:
                assert abs(value(read(text))) == 7
            else:
                with pytest.raises(ValueError, match="brackets deeper"):
                    read(text)
    assert value(read("1" + "+1" * ((MAX_CHARS - 1) // 2))) == (MAX_CHARS + 1) // 2
    with pytest.raises(ValueError, match="more than 256 characters"):
        read("1" + "+1" * (MAX_CHARS // 2))


@pytest.mark.parametrize("text", ["(", "(1", "-(", "\\frac{", "9", " ", "\\ ", "\\left", "1*", "1 "])
def test_long_texts_take_no_time(text: str) -> None:
    for part in (text * 10**5, (text * MAX_CHARS)[:MAX_CHARS]):
        started = time.perf_counter()
        for _ in range(10):
            with contextlib.suppress(ValueError):
                value(read(part))
        assert time.perf_counter() - started < 1


def trees(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(children, st.sampled_from("+-*/"), children).map("".join),
        children.map("({})".format),
        children.map("(-{})".format),
    )


@settings(deadline=None, derandomize=True)
@given(st.recursive(st.integers(0, 30).map(str), trees, max_leaves=12))
def test_written_expressions_are_pythons(text: str) -> None:
    expected = python_value(text)
    assert our_value(text) == expected
    form = canonical(read(text))
    assert canonical(read(form)) == form
    if expected is not None:
        assert our_value(form) == expected


@settings(deadline=None, derandomize=True, max_examples=500)
@given(st.one_of(st.text("0123+-*/() =\n", max_size=20), st.text(max_size=300)))
def test_any_text_is_refused_or_is_pythons(text: str) -> None:
    try:
        expression = read(text)
    except ValueError:
        return
    if text.isascii():
        assert our_value(" ".join(text.split())) == python_value(" ".join(text.split()))
    assert read(canonical(expression)) is not None
