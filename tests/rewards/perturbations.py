r"""Gold answers, written otherwise and made wrong: what the verifier must take, and what it must refuse."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

#: Answers of the shapes that the sets have: numbers, roots, formulas, lists, points, intervals, units, words.
GOLDS = Path(__file__).with_name("golds.txt").read_text().splitlines()

#: Operator or relation -> another one.
_OPERATORS = {
    "+": "-", "<": ">", r"\le": "<", r"\ge": ">", r"\cup": r"\cap", "and": "or", r"\ne": "=", r"\cdot": "+",
}  # fmt: skip
#: Kind of unit -> another one.
_UNITS = {"cm": "m", "mph": "km", "hours": "days", "inches": "feet"}


def made_wrong(gold: str) -> Iterator[tuple[str, str]]:
    """Kind of a change, and the answer after it: another value as a rule, which the caller makes sure of."""
    yield "sign", gold[1:] if gold.startswith("-") else f"-{gold}"
    for place in [found.start() for found in re.finditer(r"\d", gold)][:6]:
        yield "digit", f"{gold[:place]}{(int(gold[place]) + 1) % 10}{gold[place + 1 :]}"
        yield "digit", f"{gold[:place]}{gold[place]}0{gold[place + 1 :]}"
    for old, new in (("(", "["), ("[", "("), (")", "]"), ("]", ")")):
        if gold.count(old) == 1 and not gold.startswith(("\\begin", "|")) and "\\text" not in gold:
            yield "bracket", gold.replace(old, new)
    for old, new in _OPERATORS.items():
        if old in gold:
            yield "operator", gold.replace(old, new, 1)
    for old, new in (("x", "z"), ("y", "w"), ("a", "k")):
        if re.search(rf"(?<![a-zA-Z\\]){old}(?![a-zA-Z])", gold):
            yield "variable", re.sub(rf"(?<![a-zA-Z\\]){old}(?![a-zA-Z])", new, gold)
    for old, new in _UNITS.items():
        if old in gold:
            yield "unit", gold.replace(old, new)
    if "," in gold.rstrip(",") and not re.search(r"\d,\d{3}|\{,\}", gold):
        head, _, tail = gold.rpartition(",")
        yield "element", head + (tail[-1] if tail.endswith((")", "]", "}")) else "")
        yield "element", f"{head},17,{tail}"
    if gold.startswith("\\text"):
        yield "word", r"\text{none of these}"
    yield "more", f"{gold}+1" if not gold.endswith("}") else f"{gold}, 1"


def rewritten(gold: str) -> Iterator[tuple[str, str]]:
    """Way of writing, and the gold answer in it."""
    yield "as it is", gold
    yield "dollars", f"${gold}$"
    yield "stop", f"{gold.rstrip('.,')}."
    yield "display", rf"\displaystyle {gold}"
    if "frac" in gold and "dfrac" not in gold and "tfrac" not in gold:
        yield "dfrac", gold.replace(r"\frac", r"\dfrac")
    if found := re.fullmatch(r"(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}", gold):
        value = Fraction(int(found[2]), int(found[3]))
        yield "slash", f"{found[1]}{found[2]}/{found[3]}"
        yield "sign above", rf"\frac{{{found[1]}{found[2]}}}{{{found[3]}}}"
        if Fraction(str(float(value))) == value:
            yield "decimal", f"{found[1]}{float(value)}"
    if found := re.fullmatch(r"(-?)(\d+)\.(\d+)", gold):
        value = Fraction(gold)
        fraction = rf"{found[1]}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
        yield "fraction", str(value) if value.denominator == 1 else fraction
        yield "zeros", f"{gold}0"
    if re.fullmatch(r"[1-9]\d{3}", gold):
        yield "thousands", f"{gold[0]},{gold[1:]}"
    if re.fullmatch(r"-?\d+", gold):
        yield "point", f"{gold}.0"
        yield "name", f"x={gold}"
    if re.search(r"[(\[].*,.*[)\]]", gold) and "left" not in gold and "begin" not in gold and "cup" not in gold:
        yield "left", re.sub(r"([)\]])$", r"\\right\1", re.sub(r"^([(\[])", r"\\left\1", gold))
        yield "spaces", gold.replace(",", ", ")
    in_a_list = re.fullmatch(r"-?[^()\[\]{}]+(,-?[^()\[\]{}]+)+", gold)
    if in_a_list and not re.search(r"\d,(?:\\!\s*)?\d{3}|\\ne", gold):
        yield "order", ", ".join(reversed(gold.split(",")))
    if gold.startswith(r"\{") and gold != r"\{\}":
        yield "list", gold[2:-2]
    if found := re.fullmatch(r"x(>|<|\\le|\\ge)(.*)", gold.replace("\\ge\\", "\\ge \\")):
        sign = {">": "<", "<": ">", r"\le": r"\ge ", r"\ge": r"\le "}[found[1]]
        if "text" not in gold:
            yield "mirrored", f"{found[2]}{sign}x"
            low, high = ("(" if found[1] == ">" else "[", ")" if found[1] == "<" else "]")
            is_above = found[1] in (">", r"\ge")
            yield "interval", rf"{low}{found[2]},\infty)" if is_above else rf"(-\infty,{found[2]}{high}"
            yield "typed", gold.replace(r"\le", "<=").replace(r"\ge", ">=")
    if (equation := re.fullmatch(r"([xym])=([^=,]*)", gold)) and "text" not in gold:
        yield "mirrored", f"{equation[2]}={equation[1]}"
        yield "value", equation[2]
