"""Whether a predicted answer is the gold answer."""

from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Final, Literal

from pacs.rewards.answers import kinds
from pacs.rewards.answers.evaluate import check_value as check_node
from pacs.rewards.answers.evaluate import equal, proportional
from pacs.rewards.answers.exact import NoValue, exact
from pacs.rewards.answers.expression import Node, Number, Quotient, Sum, Variable, negative
from pacs.rewards.answers.form import missing_form

_OF_X: Final = ("f(x)", "g(x)", "h(x)")
Comparison = Literal["correct", "wrong", "unevaluated"]


def compare(answer: kinds.Answer, gold: kinds.Answer) -> Comparison:
    """Whether an answer is the gold one in value, and evaluated as far as that one is.

    A gold answer without a name or a unit takes one, and one with a name or a unit is met without; two different names
    or units are different answers. No `Operation` is compared.

    Raises:
        NoValue, TooMuch: As `evaluate.equal`.
    """
    answer, gold = _of_one(answer), _of_one(gold)
    match answer, gold:
        case kinds.Named(first, value), kinds.Named(second, of_gold):
            return compare(value, of_gold) if _same_name(first, second) else "wrong"
        case kinds.Named(name, kinds.Expression(node)), kinds.Equation():
            return compare(kinds.Equation(Sum((Variable(name), negative(node)))), gold)
        case kinds.Equation(), kinds.Named(name, kinds.Expression(node)):
            # Of the same solutions, but not solved: 2x+3=13 for x=5.
            same = compare(answer, kinds.Equation(Sum((Variable(name), negative(node)))))
            return "unevaluated" if same == "correct" else same
        case kinds.Named(_, value), _:
            return compare(value, gold)
        case _, kinds.Named(_, of_gold):
            return compare(answer, of_gold)
        case kinds.Approximation(value), kinds.Approximation(of_gold):
            return compare(value, of_gold)
        case _, kinds.Approximation(of_gold):
            return compare(answer, of_gold)
        case kinds.Expression(node, unit), kinds.Expression(of_gold, of_unit):
            return _evaluated(node, of_gold) if of_unit is None or unit in (None, of_unit) else "wrong"
        case kinds.Collection(items), kinds.Collection(of_gold_items):
            if _numbered(items) != _numbered(of_gold_items):
                return _in_any_order(_without_numbers(items), _without_numbers(of_gold_items))  # 2, 1 for x_1=1, x_2=2
            if _named_apart(of_gold_items) and not _named_apart(items):
                return _in_order(items, of_gold_items)  # 3, 5 for x=3, y=5
            return _in_any_order(items, of_gold_items)
        case kinds.Time((first, second), None), kinds.Expression(of_gold, None):
            return (
                _evaluated(Quotient(Number(Fraction(first)), Number(Fraction(second))), of_gold) if second else "wrong"
            )
        case kinds.Expression(node, None), kinds.Time((first, second), None) if second:
            return _evaluated(node, Quotient(Number(Fraction(first)), Number(Fraction(second))))
        case kinds.Union(members), kinds.Union(of_gold_members):
            one, other = ({type(member) is kinds.Named for member in of} for of in (members, of_gold_members))
            return _in_any_order(members, of_gold_members) if one == other else "wrong"  # x<1 or y>2
        case kinds.Collection(items), kinds.Bracketed("(", of_gold_items, ")") if named := _named_apart(items):
            return _in_order([item.value for item in named], of_gold_items)  # x=1, y=2 for (1,2)
        case kinds.Bracketed("(", items, ")"), kinds.Collection(of_gold_items) if named := _named_apart(of_gold_items):
            return _in_order(items, [item.value for item in named])
        case kinds.Bracketed(opening, items, closing), kinds.Bracketed():
            if (opening, closing) != (gold.opening, gold.closing):
                return "wrong"
            return _in_order(items, gold.items)
        case kinds.Ratio(terms), kinds.Ratio(of_gold_terms):
            return _in_order(terms, of_gold_terms)
        case kinds.Ratio((kinds.Expression(above), kinds.Expression(below))), kinds.Expression(of_gold, None):
            return _evaluated(Quotient(above, below), of_gold)
        case kinds.Expression(node, None), kinds.Ratio((kinds.Expression(above), kinds.Expression(below))):
            return _evaluated(node, Quotient(above, below))
        case kinds.Matrix(rows), kinds.Matrix(of_gold_rows):
            if len(rows) != len(of_gold_rows) or len(rows[0]) != len(of_gold_rows[0]):
                return "wrong"
            return _in_order([cell for row in rows for cell in row], [cell for row in of_gold_rows for cell in row])
        case kinds.Equation(difference), kinds.Equation(of_gold):
            return "correct" if proportional(difference, of_gold) else "wrong"
        case kinds.Inequality(difference, or_equal), kinds.Inequality(of_gold, of_gold_or_equal):
            alike = or_equal == of_gold_or_equal and proportional(difference, of_gold, positive=True)
            return "correct" if alike else "wrong"
        case kinds.Numeral(), kinds.Expression(node, None):
            return "wrong"
        case kinds.Expression(node, None), kinds.Numeral(digits):
            return "correct" if digits.removeprefix("-").isdigit() and exact(node) == Fraction(int(digits)) else "wrong"
        case _, kinds.Congruence():
            return "correct" if _congruent(answer, gold) else "wrong"
        case kinds.Time(), kinds.Time():
            alike = answer.numbers == gold.numbers and gold.meridiem in (None, answer.meridiem)
            return "correct" if alike else "wrong"
    return "correct" if answer == gold else "wrong"


def _of_one(answer: kinds.Answer) -> kinds.Answer:
    """The only member of a set."""
    match answer:
        case kinds.Collection((only,)) if only != kinds.Collection(()):  # the set of the empty set is not empty
            return only
    return answer


def _same_name(first: str, second: str) -> bool:
    """Whether two names are one; y is the name of f(x), g(x) and h(x)."""
    return first == second or (first == "y" and second in _OF_X) or (second == "y" and first in _OF_X)


def _named_apart(items: Sequence[kinds.Answer]) -> list[kinds.Named]:
    """The values of different variables, by name; none if the items are not that."""
    named = [item for item in items if isinstance(item, kinds.Named)]
    apart = len(named) == len(items) == len({item.name for item in named}) > 1
    return sorted(named, key=attrgetter("name")) if apart else []


def _numbered(items: Sequence[kinds.Answer]) -> str | None:
    """The unknown whose values x_1, x_2, ... all the items are; None if they are not."""
    names = [item.name.rpartition("_") for item in items if isinstance(item, kinds.Named)]
    bases = {base for base, _, number in names if number.isdigit()}
    return bases.pop() if len(names) == len(items) and len(bases) == 1 else None


def _without_numbers(items: Sequence[kinds.Answer]) -> list[kinds.Answer]:
    """The values of an unknown with its own name, where they were numbered."""
    base = _numbered(items)
    return list(items) if base is None else [kinds.Named(base, item.value) for item in items]  # type: ignore[union-attr]


def _evaluated(answer: Node, gold: Node) -> Comparison:
    if answer == gold:
        return "correct"
    if not equal(answer, gold):
        return "wrong"
    return "unevaluated" if missing_form(answer, gold) else "correct"


def _in_order(answers: Sequence[kinds.Answer], golds: Sequence[kinds.Answer]) -> Comparison:
    if len(answers) != len(golds):
        return "wrong"
    all_of_them: Comparison = "correct"
    for answer, gold in zip(answers, golds, strict=True):
        one = compare(answer, gold)
        if one == "wrong":
            return one
        if one == "unevaluated":
            all_of_them = one
    return all_of_them


def _in_any_order(answers: Sequence[kinds.Answer], golds: Sequence[kinds.Answer]) -> Comparison:
    if len(answers) != len(golds):
        return "wrong"
    left = list(answers)
    all_of_them: Comparison = "correct"
    for gold in golds:
        found = [compare(answer, gold) for answer in left]
        best = next((kind for kind in ("correct", "unevaluated") if kind in found), None)
        if best is None:
            return "wrong"
        if best == "unevaluated":
            all_of_them = "unevaluated"
        del left[found.index(best)]
    return all_of_them


def _congruent(answer: kinds.Answer, gold: kinds.Congruence) -> bool:
    """The same class of the same modulus, whatever member it is given by; a number alone must be the gold's own."""
    match answer:
        case kinds.Congruence(name, residue, modulus):
            values = [exact(node) for node in (residue, gold.residue, modulus, gold.modulus)]
            if None in values or values[2] != values[3] or (None not in (name, gold.name) and name != gold.name):
                return False
            return (values[0] - values[1]) % values[2] == 0  # type: ignore[operator]
        case kinds.Expression(node, None):
            return equal(node, gold.residue)
    return False


def check_value(answer: kinds.Answer) -> None:
    """Raise `NoValue` or `TooMuch` if no other answer can be compared with this one."""
    match answer:
        case kinds.Expression(node):
            check_node(node)
        case kinds.Named(_, value) | kinds.Approximation(value):
            check_value(value)
        case kinds.Collection(items) | kinds.Bracketed(_, items) | kinds.Union(items) | kinds.Ratio(items):
            for item in items:
                check_value(item)
        case kinds.Matrix(rows):
            for row in rows:
                for cell in row:
                    check_value(cell)
        case kinds.Equation(difference) | kinds.Inequality(difference):
            proportional(difference, difference)
        case kinds.Congruence(_, residue, modulus):
            check_node(residue)
            if not exact(modulus):
                raise NoValue("a modulus that is no number other than 0")
