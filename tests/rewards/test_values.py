"""Values of expressions, held against sympy's for expressions drawn at random."""

import math
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.rewards.answers.exact import NoValue, exact
from pacs.rewards.answers.expression_values import equal, proportional
from pacs.rewards.answers.parse import Unreadable, parse_expression
from pacs.rewards.answers.refusals import TooMuch
from pacs.rewards.answers.tokens import plain, tokenize

X, Y = sympy.symbols("x y", real=True)


def tree(text: str):  # type: ignore[no-untyped-def]
    return parse_expression(tokenize(plain(text)))


def both(latex: str, value: sympy.Expr) -> tuple[str, sympy.Expr]:
    return f"({latex})", value


LEAVES = st.one_of(
    st.integers(0, 30).map(lambda n: both(str(n), sympy.Integer(n))),
    st.tuples(st.integers(0, 99), st.integers(0, 99)).map(
        lambda d: both(f"{d[0]}.{d[1]:02}", sympy.Rational(100 * d[0] + d[1], 100))
    ),
    st.tuples(st.integers(0, 30), st.integers(1, 30)).map(
        lambda d: both(rf"\frac{{{d[0]}}}{{{d[1]}}}", sympy.Rational(*d))
    ),
    st.sampled_from([both(r"\pi", sympy.pi), both("e", sympy.E), both("x", X), both("y", Y)]),
)


def grown(inner: st.SearchStrategy[tuple[str, sympy.Expr]]) -> st.SearchStrategy[tuple[str, sympy.Expr]]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: both(f"{p[0][0]}+{p[1][0]}", p[0][1] + p[1][1])),
        pairs.map(lambda p: both(f"{p[0][0]}-{p[1][0]}", p[0][1] - p[1][1])),
        pairs.map(lambda p: both(f"{p[0][0]}{p[1][0]}", p[0][1] * p[1][1])),
        pairs.map(lambda p: both(rf"{p[0][0]} \cdot {p[1][0]}", p[0][1] * p[1][1])),
        pairs.filter(lambda p: p[1][1] != 0).map(
            lambda p: both(rf"\frac{{{p[0][0]}}}{{{p[1][0]}}}", p[0][1] / p[1][1])
        ),
        st.tuples(inner, st.integers(1, 3)).map(lambda p: both(f"{p[0][0]}^{{{p[1]}}}", p[0][1] ** p[1])),
        inner.map(lambda e: both(rf"\sqrt{{{e[0]}^2+1}}", sympy.sqrt(e[1] ** 2 + 1))),
        inner.map(lambda e: both(rf"\sin{e[0]}", sympy.sin(e[1]))),
        inner.map(lambda e: both(rf"|{e[0]}|", sympy.Abs(e[1])) if "|" not in e[0] else e),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=5)


def same_for_sympy(a: sympy.Expr, b: sympy.Expr) -> bool:
    """By sympy's evaluation to 60 digits at points of its own."""
    points = [(sympy.Rational(7, 5), sympy.Rational(-3, 7)), (sympy.Rational(-11, 4), sympy.Rational(5, 3))]
    for x, y in points:
        difference = (a - b).subs({X: x, Y: y})
        if difference.has(sympy.zoo, sympy.nan) or abs(difference.evalf(60, maxn=400)) > sympy.Float("1e-40"):
            return False
    return True


@settings(deadline=None, derandomize=True, max_examples=100)
@given(EXPRESSIONS, EXPRESSIONS)
def test_two_expressions_are_equal_where_sympy_has_the_same_values(
    a: tuple[str, sympy.Expr], b: tuple[str, sympy.Expr]
) -> None:
    try:
        ours = equal(tree(a[0]), tree(b[0]))
    except (NoValue, TooMuch):
        return
    if not any("." in text for text, _ in (a, b)):
        assert ours == same_for_sympy(a[1], b[1]), (a, b)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(EXPRESSIONS)
def test_an_expression_equals_what_sympy_expands_it_to(a: tuple[str, sympy.Expr]) -> None:
    expanded = sympy.latex(sympy.expand(a[1]), fold_short_frac=False)
    try:
        assert equal(tree(a[0]), tree(expanded)), (a[0], expanded)
        if a[1] != 0 and "." not in a[0]:  # a decimal may be rounded
            assert not equal(tree(a[0]), tree(f"({expanded})+10^{{-12}}")), (a[0], expanded)
    except (NoValue, TooMuch):
        pass


@settings(deadline=None, derandomize=True)
@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6), st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_rational_numbers_are_exact(a: int, b: int, c: int, d: int) -> None:
    expression = rf"\frac{{{a}}}{{{b}}} \cdot ({c}) - \frac{{1}}{{{d}}}"
    assert exact(tree(expression)) == Fraction(a, b) * c - Fraction(1, d)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2^{10}", Fraction(1024)),
        ("2^{-2}", Fraction(1, 4)),
        ("(-2)^3", Fraction(-8)),
        ("-2^2", Fraction(-4)),
        (r"\sqrt{\frac{9}{4}}", Fraction(3, 2)),
        ("8^{2/3}", Fraction(4)),
        (r"\sqrt[3]{-8}", None),
        (r"\sqrt{2}", None),
        ("5!", Fraction(120)),
        (r"\binom{50}{25}", Fraction(math.comb(50, 25))),
        (r"1\frac{3}{4}", Fraction(7, 4)),
        (r"-1\frac{3}{4}", Fraction(-7, 4)),
        (r"0.1\overline{6}", Fraction(1, 6)),
        ("6/2(3)", Fraction(9)),
        (r"\frac12", Fraction(1, 2)),
        (r"\frac 3 4", Fraction(3, 4)),
        (r"\frac3{10}", Fraction(3, 10)),
        (r"3\frac{x}{2}", None),
    ],
)
def test_how_numbers_are_read(text: str, value: Fraction | None) -> None:
    assert exact(tree(text)) == value


@pytest.mark.parametrize("text", ["1/0", "0^0", "0^{-1}", "(-1)!", r"(1/2)!", r"\binom{2}{3}", r"\frac{1}{1-1}"])
def test_what_has_no_value(text: str) -> None:
    with pytest.raises(NoValue):
        exact(tree(text))


@pytest.mark.parametrize(
    "text",
    [
        "72 73",
        "x 2",
        "9^9^9",
        r"2\frac{4}{3}",
        "(1",
        "1)",
        r"\frac{1}",
        "+",
        "",
        "1+",
        r"\unknown 2",
        "x^",
        r"\sqrt",
        "|1",
    ],
)
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises(Unreadable):
        tree(text)


#: What must be over at once: numbers that would fill the memory, and work that would never end.
TOO_MUCH = [
    r"9^{9\cdot 9^9}",
    "(10^9)!",
    r"\binom{10^9}{5\cdot 10^8}",
    r"2^{\sqrt{10^{20}}}",
    "2^{10^{10}}",
    "(10^{1999})^{1999}",
    "e^{e^{e^{100}}}",
    r"\exp(\exp(\exp(100)))",
    r"\sinh(10^{9})",
    "10^{5001}",
    "((9!)!)!",
    r"(2^{9000}+1)!",
    "(1/2)^{10^{12}}",
    r"\pi^{10^{9}}",
]


@pytest.mark.parametrize("text", TOO_MUCH)
def test_what_is_too_large(text: str) -> None:
    with pytest.raises(TooMuch):
        equal(tree(text), tree("72"))


@pytest.mark.parametrize("text", [r"\sin \pi", r"\sqrt{2}\sqrt{2}-2", r"e^{i\pi}+1"])
def test_what_is_zero_but_for_rounding(text: str) -> None:
    assert equal(tree(text), tree("0"))
    assert not equal(tree(text), tree("10^{-60}"))


def test_what_is_proportional() -> None:
    assert proportional(tree("2x+3y-5"), tree("4x+6y-10"))
    assert proportional(tree("2x+3y-5"), tree("-2x-3y+5"))
    assert not proportional(tree("2x+3y-5"), tree("-2x-3y+5"), positive=True)
    assert not proportional(tree("2x+3y-5"), tree("2x+3y-6"))
    assert not proportional(tree("x-y"), tree("x^2-y^2"))
    assert not proportional(tree("x-x"), tree("x"))
