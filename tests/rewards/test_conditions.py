r"""Conditions, statements, systems and sets: what "and", "or", commas, `\ne` and `=` make of an answer."""

import pytest

from pacs.rewards.math import gold_problem, grade

from .met_by import assert_met_by

#: Gold answer -> what it is met by, and what not.
CASES: dict[str, tuple[list[str], list[str]]] = {
    r"x>3 \text{ and } x<5": (
        ["3<x<5", "(3,5)", r"x<5 \text{ and } x>3", "x>3, x<5", r"x>3 \land x<5", r"\{x \mid 3<x<5\}", r"x\in(3,5)"],
        [r"x>3 \text{ or } x<5", "[3,5]", "3<x<6", "x>3", "x<5", r"y>3 \text{ and } y<5", r"x\ge3 \text{ and } x<5"],
    ),
    "3<x<5": ([r"x>3 \text{ and } x<5", "5>x>3"], [r"x>3 \text{ or } x<5", r"x<3 \text{ and } x>5", "3<x"]),
    r"x<-1 \text{ or } x>3": (
        [r"(-\infty,-1)\cup(3,\infty)", r"x>3 \text{ or } x<-1", "x<-1, x>3", r"x<-1 \text{ and } x>3"],
        ["-1<x<3", r"x<-1", r"x<-1 \text{ or } x\ge3", r"(-\infty,-1)\cap(3,\infty)"],
    ),
    r"x\ge2 \text{ and } x\ne3": ([r"[2,3)\cup(3,\infty)", r"x\neq3, x\ge2"], [r"x\ge2", r"x\ne3", "[2,3)"]),
    r"0<x<1 \text{ or } 2<x<3": ([r"(0,1)\cup(2,3)", r"(2,3)\cup(0,1)"], ["0<x<3", r"0<x<1 \text{ or } 2<x<4"]),
    r"x\neq 3,5": (
        [r"x\ne 5,3", r"x\ne3 \text{ and } x\ne5", r"\mathbb{R}\setminus\{3,5\}", r"x\ne 3, x\ne 5"],
        [r"x\neq 3", "3,5", r"x\ne 3,6", r"x=3,5", r"(-\infty,3)\cup(5,\infty)"],
    ),
    r"x>=2": ([r"x\ge2", r"[2,\infty)", r"2\le x", "2<=x"], ["x>2", "x<=2", "2"]),
    "x != 3": ([r"x\ne3"], ["x=3", "3"]),
    r"-30^\circ": (["-30", "-30°", r"-30^{\circ}", r"-(30^\circ)"], ["30", r"30^\circ", r"-30\text{ cm}", "-31"]),
    "-30": ([r"-30^\circ"], [r"30^\circ"]),
    r"\log(\sqrt[3]{10^5})=\frac53": (
        [r"\frac53", r"\log(\sqrt[3]{10^5})=\frac53", r"\frac{5}{3}"],
        [r"\log(\sqrt[3]{10^5})=\frac35", r"\frac35", "5", r"\log(\sqrt[3]{10^5})"],
    ),
    "85": (["47+38=85"], ["47+38", "47+38=86", "85=47+38", "84=85", "85=84"]),
    "x_{1}=1, x_{2}=2": (
        ["2, 1", r"x=1 \text{ or } x=2", "x_1=1, x_2=2", r"\{1,2\}", "x=2, x=1", "(1,2)"],
        ["1", "1,3", "x_1=1, x_2=3", "x_1=1", "x_1=2, x_2=1", r"y=1 \text{ or } y=2", "1,2,2", "(2,1)"],
    ),
    "1, 2": (["x_1=2, x_2=1", r"x=1 \text{ or } x=2"], ["x_1=1, x_2=1", "x_1=1"]),
    "x=1, y=2": (["(1,2)", "y=2, x=1", "1,2"], ["(2,1)", "2,1", "[1,2]", "x=2, y=1", "x=1", "1<x<2", r"x\in\{1,2\}"]),
    "x=a+b": (["a+b=x", "b+a", "x=b+a", "b+a=x"], ["a-b=x", "y=a+b", "x=a"]),
    "m+n=5": (["5", "m+n=5", "n+m=5"], ["m+n=6", "m-n=5"]),
    "m+n=85": ([], ["m+n=47+38"]),
    "x+y=1": (
        ["y=1-x", "1-y=x", "y+x=1", "2x+2y=2", "x+y-1=0"], ["1", "x-y=1", "x+y=2", "x=1", "y=x-1", "x+z=1", "x+y>1"],
    ),
    "x+y+z=6": (["z=6-x-y"], ["6", "x+y=6"]),
    "5": (["x+y=5"], ["x+y=6"]),
    "1<x<2": (["(1,2)"], ["x=1, y=2", r"y=2 \text{ and } x=1"]),
    r"x\in\{1,2\}": (["1, 2", "x_1=1, x_2=2"], ["x=1, y=2"]),
    "P=(1,2)": (["x=1, y=2"], ["x=2, y=1"]),
    r"\mathbb{R}": (
        ["all real numbers", r"\text{all real numbers}", r"(-\infty,\infty)", r"x\in\mathbb{R}", r"\text{all reals}"],
        ["all numbers", r"\text{no real numbers}", r"[0,\infty)", "R", r"\emptyset"],
    ),
    r"\emptyset": ([r"\text{no solution}", r"\{\}", r"\text{the empty set}"], ["0", r"\{0\}", r"\mathbb{R}"]),
    r"\text{no real solutions}": ([r"\varnothing", r"\text{No solution}"], ["0", r"\text{one solution}"]),
    "(n-2)2^n+1": ([r"(n-2)\cdot2^n+1", r"1+2^n(n-2)"], ["(n-2)2^n-1", "(n-2)2^{n+1}", "(n-1)2^n+1", "(n-2)^2n+1"]),
    "n2^{n-1}": ([r"n\cdot 2^{n-1}", r"2^{n-1}n"], ["n2^{n+1}", "2^{n-1}", "n2^{n}-1", "(2n)^{n-1}"]),
    r"\sqrt{3}2^n": ([r"2^n\sqrt{3}"], [r"\sqrt{32^n}", r"\sqrt{3}\cdot2n"]),
    "0.25": ([r"\frac14", "0.250", ".25"], ["0.2500001", "0.2499999", "0.25000001"]),
    "0.333333": ([r"\frac13", "0.3333333"], ["0.333334", "0.3333339", "0.33333"]),
    r"\frac13": (["0.333333", "0.3333333333"], ["0.3333", "0.333335"]),
    r"x=1 \text{ or } y=2": ([r"y=2 \text{ or } x=1"], ["x=1, y=2", "(1,2)", "1,2", r"x=1 \text{ and } y=2"]),
    "(1,2)": (["(x,y)=(1,2)"], [r"x=1 \text{ or } y=2"]),
    r"x<1 \text{ or } x>2": (
        [r"\{x\mid x<1 \text{ or } x>2\}", r"(-\infty,1)\bigcup(2,\infty)"],
        [r"x<1 \text{ or } y>2", r"\{x\mid 1<x<2\}", r"\{y \mid x<1 \text{ or } x>2\}"],
    ),
    r"\{\}": ([r"\emptyset"], [r"\{\emptyset\}"]),
    r"x\ne3,5": (
        [r"x\notin\{3,5\}", r"\mathbb{R}-\{3,5\}", r"\{x\mid x\ne5, x\ne3\}"],
        [r"x\notin\{3\}", r"x\notin(3,5)", r"x\notin3,5", r"x\in\{3,5\}", r"\mathbb{Z}-\{3,5\}"],
    ),
    r"(0,1)\cup(1,2)": (
        [r"(0,2)\setminus\{1\}", r"0<x<2, x\ne1"], [r"[0,2)\setminus\{1\}", r"(0,2)\setminus\{1.5\}", "(0,2)"],
    ),
    "x+y>1": (["y+x>1", "1<y+x", "x+y-1>0"], [r"x+y\ge1", "x+y<1", "x-y>1", "x+y>2"]),
    "(0,\\infty)": (
        [r"\text{all positive real numbers}"],
        [r"\text{all non-negative real numbers}", r"\text{all positive integers}"],
    ),
    "(-\\infty,0]": ([r"\text{nonpositive real numbers}"], [r"\text{all negative real numbers}"]),
    r"\mathbb{Z}": ([r"\text{all integers}"], [r"\text{all real numbers}", r"\text{positive integers}", "Z"]),
    r"\text{all rational numbers}": ([r"\mathbb{Q}"], [r"\text{all irrational numbers}", r"\mathbb{R}"]),
}  # fmt: skip


@pytest.mark.parametrize("gold", CASES)
def test_what_it_is_met_by(gold: str) -> None:
    assert_met_by(gold, *CASES[gold])


@pytest.mark.parametrize("statement", ["2+2=5", r"\log 10=2", r"1=\frac{1}{0}", r"\sqrt{2}=1.5"])
def test_a_statement_that_is_not_true_is_no_gold(statement: str) -> None:
    assert gold_problem(statement) is not None
    assert grade(statement.partition("=")[2], statement) != "correct"


def test_a_number_behind_a_number_is_none_with_it() -> None:
    for answer in ("72 73", "x2", "3 2^n", "(x+1)2"):
        assert gold_problem(answer) is not None, answer
