"""Whether a predicted answer is the gold answer."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Final, Literal

from pacs.rewards.answers import types
from pacs.rewards.answers.exact import NoValue, exact
from pacs.rewards.answers.expression import Node, Number, Quotient, Sum, Variable, difference, negative, variables
from pacs.rewards.answers.expression_values import check_value as check_node
from pacs.rewards.answers.expression_values import equal, infinite, proportional, solved_alike
from pacs.rewards.answers.field import Field
from pacs.rewards.answers.reals import is_interval, is_no_point
from pacs.rewards.answers.uncalculated import missing_form
from pacs.rewards.answers.unknowns import (
    COORDINATES,
    as_equations,
    by_name,
    in_order,
    named_apart,
    names_of,
    numbered,
    ordered,
    without_numbers,
)

_OF_X: Final = ("f(x)", "g(x)", "h(x)")
Comparison = Literal["correct", "wrong", "unevaluated"]
_STATUSES: Final[tuple[Comparison, ...]] = ("correct", "unevaluated")


def compare(answer: types.Answer, gold: types.Answer) -> Comparison:
    """Whether an answer is the gold one in value, and evaluated as far as that one is.

    A gold answer without a name or a unit takes one, and one with a name or a unit is met without; two different names
    or units are different answers. No `Operation` is compared.

    Raises:
        NoValue, TooMuch: As `evaluate.equal`.
    """
    answer, gold = _of_one(answer), _of_one(gold)
    match answer, gold:
        case types.Named() | types.Equation(), types.Named() | types.Equation() if equations := as_equations(
            answer, gold
        ):
            return compare(*equations)
        case types.Named(first, value), types.Named(second, of_gold):
            if _same_name(first, second):
                return compare(value, of_gold)
            if (names := names_of(first)) and sorted(names) == sorted(names_of(second)):
                return compare(ordered(value, names, names_of(second)), of_gold)
            bound, of_gold_bound = _half_plane(answer), _half_plane(gold)  # y<2x+1 and x>(y-1)/2
            return compare(bound, of_gold_bound) if bound and of_gold_bound else "wrong"
        case types.Named(name, types.Expression(node)), types.Equation():
            return compare(types.Equation(Sum((Variable(name), negative(node)))), gold)
        case types.Equation(), types.Named(name, types.Expression(node)):
            # Of the same solutions, but not solved: 2x+3=13 for x=5.
            same = compare(answer, types.Equation(Sum((Variable(name), negative(node)))))
            return "unevaluated" if same == "correct" else same
        case types.Named(), types.Inequality() if bound := _half_plane(answer):
            return compare(bound, gold)
        case types.Inequality(), types.Named() if bound := _half_plane(gold):
            return compare(answer, bound)
        case (types.Named(), types.Collection()) | (types.Collection(), types.Named()) if (
            values := by_name(answer)
        ) and (of_golds := by_name(gold)):
            if values.keys() != of_golds.keys():
                return "wrong"
            return _in_order([values[name] for name in of_golds], list(of_golds.values()))
        case (types.Named(name), types.Collection(items)) | (types.Collection(items), types.Named(name)) if any(
            item.name == name for item in named_apart(items)
        ):
            return "wrong"  # x=1, y=2 for 1<x<2
        case types.Named(name, value), _:
            names = names_of(name)
            return compare(ordered(value, names, in_order(names)) if names else value, gold)
        case types.Expression(), types.Named(name) if "+" in name and COORDINATES.issuperset(name):
            return "wrong"  # 1 for x+y=1, which is a line
        case _, types.Named(_, of_gold):
            return compare(answer, of_gold)
        case types.Approximation(value), types.Approximation(of_gold):
            return compare(value, of_gold)
        case _, types.Approximation(of_gold):
            return compare(answer, of_gold)
        case types.Expression(node, unit), types.Expression(of_gold, of_unit):
            if unit == "%" and of_unit is None and _is_share(of_gold):
                return "wrong"
            return _evaluated(node, of_gold) if of_unit is None or unit in (None, of_unit) else "wrong"
        case types.Collection(items), types.Collection(of_gold_items):
            if _sets_of_one(items) != _sets_of_one(of_gold_items):
                return "wrong"  # {1}, {2} for {1, 2}
            if numbered(items) != numbered(of_gold_items):
                return _in_any_order(without_numbers(items), without_numbers(of_gold_items))  # 2, 1 for x_1=1, x_2=2
            if named_apart(of_gold_items) and not named_apart(items):
                bare = answer.listed and not any(isinstance(item, types.Named) for item in items)
                return _in_order(items, of_gold_items) if bare else "wrong"  # 3, 5 for x=3, y=5
            return _in_any_order(items, of_gold_items)
        case types.Words() | types.Numeral(), types.Expression(of_gold, None) if plain := types.as_node(answer):
            return _evaluated(plain, of_gold)
        case types.Time((first, second), None), types.Expression(of_gold, None) if second:
            return _evaluated(Quotient(Number(Fraction(first)), Number(Fraction(second))), of_gold)
        case types.Expression(node, None), types.Time((first, second), None) if second:
            return _evaluated(node, Quotient(Number(Fraction(first)), Number(Fraction(second))))
        case types.Collection(items), types.Union(members) if all(map(is_interval, (*items, *members))):
            return _in_any_order(items, members)  # increasing on (-\\infty, 1) and (2, \\infty)
        case types.Union(members), types.Collection(items) if all(map(is_interval, (*items, *members))):
            return _in_any_order(members, items) if any(map(is_no_point, items)) else "wrong"
        case types.Union(members), types.Union(of_gold_members):
            one, other = ({type(member) is types.Named for member in of} for of in (members, of_gold_members))
            return _in_any_order(members, of_gold_members) if one == other else "wrong"  # x<1 or y>2
        case types.Collection(items), types.Bracketed("(", of_gold_items, ")") if named := named_apart(items):
            return _in_order([item.value for item in named], of_gold_items)  # x=1, y=2 for (1,2)
        case types.Bracketed("(", items, ")"), types.Collection(of_gold_items) if named := named_apart(of_gold_items):
            return _in_order(items, [item.value for item in named])
        case types.Bracketed(opening, items, closing), types.Bracketed():
            if (opening, closing) != (gold.opening, gold.closing):
                return "wrong"
            return _in_order(items, gold.items)
        case types.Ratio(terms), types.Ratio(of_gold_terms):
            return _in_order(terms, of_gold_terms)
        case types.Ratio((types.Expression(above), types.Expression(below))), types.Expression(of_gold, None):
            return _evaluated(Quotient(above, below), of_gold)
        case types.Expression(node, None), types.Ratio((types.Expression(above), types.Expression(below))):
            return _evaluated(node, Quotient(above, below))
        case types.Matrix(rows), types.Matrix(of_gold_rows):
            if len(rows) != len(of_gold_rows) or len(rows[0]) != len(of_gold_rows[0]):
                return "wrong"
            return _in_order([*chain.from_iterable(rows)], [*chain.from_iterable(of_gold_rows)])
        case types.Equation(difference), types.Equation(of_gold):
            return _right(proportional(difference, of_gold) or solved_alike(difference, of_gold))
        case types.Inequality(difference, or_equal), types.Inequality(of_gold, of_gold_or_equal):
            return _right(or_equal == of_gold_or_equal and proportional(difference, of_gold, positive=True))
        case types.Expression(node, None), types.Numeral(digits):
            return _right(digits.removeprefix("-").isdigit() and exact(node) == Fraction(int(digits)))
        case _, types.Congruence():
            return _right(_congruent(answer, gold))
        case types.Time(), types.Time():
            return _right(answer.numbers == gold.numbers and gold.meridiem in (None, answer.meridiem))
    return _right(answer == gold)


def _of_one(answer: types.Answer) -> types.Answer:
    """The only member of a set."""
    match answer:
        case types.Collection((only,)) if only != types.Collection(()):  # the set of the empty set is not empty
            return only
    return answer


def _half_plane(answer: types.Named) -> types.Inequality | None:
    """The inequality that y < 2x+1 is, of several variables; None if a number bounds it."""
    match answer.value:
        case types.Bracketed(opening, (types.Expression(low, None), types.Expression(high, None)), closing):
            name = Variable(answer.name)
            if infinite(low) and variables(high):
                return types.Inequality(difference(high, name), closing == "]")
            if infinite(high) and variables(low):
                return types.Inequality(difference(name, low), opening == "[")
    return None


def _sets_of_one(items: Sequence[types.Answer]) -> int:
    return sum(isinstance(item, types.Collection) and len(item.items) == 1 for item in items)


def _same_name(first: str, second: str) -> bool:
    """Whether two names are one; y is the name of f(x), g(x) and h(x)."""
    return first == second or (first == "y" and second in _OF_X) or (second == "y" and first in _OF_X)


def _is_share(gold: Node) -> bool:
    """Whether a number is one that a percentage is not taken for: 0.25 is no 0.25%, nor 5/2 2.5%."""
    if isinstance(gold, Quotient) or variables(gold):
        return True
    return gold != Number(Fraction(0)) and abs(Field(20).value(gold, {})) <= 1


def _evaluated(answer: Node, gold: Node) -> Comparison:
    if answer == gold:
        return "correct"
    if not equal(answer, gold):
        return "wrong"
    return "unevaluated" if missing_form(answer, gold) else "correct"


def _in_order(answers: Sequence[types.Answer], golds: Sequence[types.Answer]) -> Comparison:
    return _worst(map(compare, answers, golds)) if len(answers) == len(golds) else "wrong"


def _in_any_order(answers: Sequence[types.Answer], golds: Sequence[types.Answer]) -> Comparison:
    left = list(answers)

    def best(gold: types.Answer) -> Comparison:
        found = [compare(answer, gold) for answer in left]
        status: Comparison = next((kind for kind in _STATUSES if kind in found), "wrong")
        if status != "wrong":
            del left[found.index(status)]
        return status

    return _worst(map(best, golds)) if len(answers) == len(golds) else "wrong"


def _worst(comparisons: Iterable[Comparison]) -> Comparison:
    """The worst of comparisons; those behind a wrong one are not made."""
    worst: Comparison = "correct"
    for one in comparisons:
        if one == "wrong":
            return one
        worst = max(worst, one, key=_STATUSES.index)
    return worst


def _right(is_right: bool) -> Comparison:
    return "correct" if is_right else "wrong"


def _congruent(answer: types.Answer, gold: types.Congruence) -> bool:
    """The same class of the same modulus, whatever member it is given by; a number alone must be the gold's own."""
    match answer:
        case types.Congruence(name, residue, modulus):
            values = [exact(node) for node in (residue, gold.residue, modulus, gold.modulus)]
            if None in values or values[2] != values[3] or (None not in (name, gold.name) and name != gold.name):
                return False
            return (values[0] - values[1]) % values[2] == 0  # type: ignore[operator]
        case types.Expression(node, None):
            return equal(node, gold.residue)
    return False


def check_value(answer: types.Answer) -> None:
    """Raise `NoValue` or `TooMuch` if no other answer can be compared with this one."""
    match answer:
        case types.Expression(node):
            check_node(node)
        case types.Named(_, value) | types.Approximation(value):
            check_value(value)
        case types.Collection(items) | types.Bracketed(_, items) | types.Union(items) | types.Ratio(items):
            for item in items:
                check_value(item)
        case types.Matrix(rows):
            for cell in chain.from_iterable(rows):
                check_value(cell)
        case types.Equation(difference) | types.Inequality(difference):
            proportional(difference, difference)
        case types.Congruence(_, residue, modulus):
            check_node(residue)
            if not exact(modulus):
                raise NoValue("a modulus that is no number other than 0")
