"""The values of several unknowns: x = 1, y = 2, or (x, y) = (1, 2), or without their names (1, 2)."""

from collections.abc import Sequence
from typing import Final

from pacs.rewards.answers import types
from pacs.rewards.answers.expression import Sum, Variable, negative, variables

#: w goes before x, or behind z.
_ALPHABET: Final = "abcdefghijklmnopqrstuv xyz"
#: Letters of which a sum is a line or a plane; that of others (m+n=5) is what was asked for.
COORDINATES: Final = frozenset("xyz+")


def named_apart(items: Sequence[types.Answer]) -> list[types.Named]:
    """The values of different variables, in their order; none if the items are not that."""
    named = [item for item in items if isinstance(item, types.Named)]
    if not len(named) == len(items) == len({item.name for item in named}) > 1:
        return []
    order = in_order([item.name for item in named])
    return sorted(named, key=lambda item: order.index(item.name))


def together(named: Sequence[types.Named], alternatives: Sequence[Sequence[types.Answer]]) -> types.Answer | None:
    """Values of several unknowns of which some belong together; None if all do, or if they are of one unknown.

    x = 1, y = 2 or x = 3, y = 4 are two points, also without the "or"; x = 1 or y = 2 is no x = 1, y = 2.
    """
    if len({item.name.rpartition("_")[0] or item.name for item in named}) < 2:
        return None
    size = len({item.name for item in named})
    groups = alternatives if len(alternatives) > 1 else [named[k : k + size] for k in range(0, len(named), size)]
    if len(groups) > 1 and all(map(named_apart, groups)):
        return types.Collection(tuple(types.Collection(tuple(group)) for group in groups))
    return types.Union(tuple(named)) if len(alternatives) > 1 else None


def numbered(items: Sequence[types.Answer]) -> str | None:
    """The unknown whose values x_1, x_2, ... all the items are; None if they are not."""
    names = [item.name.rpartition("_") for item in items if isinstance(item, types.Named)]
    bases = {base for base, _, number in names if number.isdigit()}
    return bases.pop() if len(names) == len(items) and len(bases) == 1 else None


def without_numbers(items: Sequence[types.Answer]) -> list[types.Answer]:
    """The values of an unknown with its own name, where they were numbered."""
    base = numbered(items)
    return list(items) if base is None else [types.Named(base, item.value) for item in items]  # type: ignore[attr-defined]


def names_of(name: str) -> list[str]:
    """Those in the name of a point, (x,y); none in another name."""
    return name[1:-1].split(",") if name.startswith("(") else []


def in_order(names: Sequence[str]) -> list[str]:
    """The names in the order in which a point has them: neighbours in the alphabet, or numbered; else as they are.

    So x goes before y, but of (n, k) and (w, x, y, z) only the problem knows.
    """
    numbers = [name.rpartition("_")[2] for name in names]
    if all(map(str.isdecimal, numbers)) and len({name.rpartition("_")[0] for name in names}) == 1:
        return sorted(names, key=lambda name: int(name.rpartition("_")[2]))
    return sorted(names) if "".join(sorted(names)).casefold() in _ALPHABET else list(names)


def by_name(answer: types.Answer) -> dict[str, types.Answer]:
    """The values of several unknowns; empty if an answer is something else."""
    match answer:
        case types.Named(name, types.Bracketed("(", items, ")")) if len(names := names_of(name)) == len(items):
            return dict(zip(names, items, strict=True))
        case types.Collection(items):
            return {item.name: item.value for item in named_apart(items)}
    return {}


def ordered(value: types.Answer, names: Sequence[str], order: Sequence[str]) -> types.Answer:
    """A point, or the points of a set, with entries of these names in another order of them."""
    match value:
        case types.Bracketed(opening, items, closing) if len(items) == len(names):
            return types.Bracketed(opening, tuple(items[names.index(name)] for name in order), closing)
        case types.Collection(items):
            return types.Collection(tuple(ordered(item, names, order) for item in items))
    return value


def as_equations(answer: types.Answer, gold: types.Answer) -> tuple[types.Answer, types.Answer] | None:
    """With x+y=1 as an equation, if the other is something else than a value of x+y; None if neither is such a sum.

    An equation with derivatives, but for one that is solved for a derivative, is solved for nothing: my'+by=f is no f.
    """
    if isinstance(answer, types.Named) and isinstance(gold, types.Named) and answer.name == gold.name:
        return None
    is_solved = isinstance(gold, types.Named) and "'" in gold.name
    names = "'" if not is_solved and all(map(_has_derivative, (answer, gold))) else "+"
    of_answer, of_gold = _as_equation(answer, names), _as_equation(gold, names)
    return (of_answer or answer, of_gold or gold) if of_answer or of_gold else None


def _has_derivative(answer: types.Answer) -> bool:
    match answer:
        case types.Named(name, types.Expression(node)):
            return any("'" in variable for variable in (name, *variables(node)))
        case types.Equation(node):
            return any("'" in variable for variable in variables(node))
    return False


def _as_equation(answer: types.Answer, sign: str) -> types.Equation | None:
    match answer:
        case types.Named(name, types.Expression(node, None)) if sign == "'" or sign in name:
            return types.Equation(Sum((*map(Variable, name.split("+")), negative(node))))
    return None
