r"""What of an expression still has to be calculated: `47+38`, `\frac{8}{22}`, `(x-2)(x-3)`, a factorial, ...

An answer must be a value, or else a copy of the question's formula would be right. Operations that are not carried out
are found by their form; an answer may have those that the gold answer has as well.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from pacs.rewards.answers import expression as tree
from pacs.rewards.answers.exact import all_terms, content_of, factors_of, kind_of, radicand_of, rational
from pacs.rewards.answers.expression import is_decimal, parts, variables, walk


def left_to_calculate(node: tree.Node) -> frozenset[str]:
    """The operations in an expression that are not carried out, by names such as "sum of numbers"."""
    return frozenset(_all(node))


def missing_form(answer: tree.Node, gold: tree.Node) -> frozenset[str]:
    """What an answer of the gold answer's value leaves to be calculated; empty if it is a value as the gold is."""
    left = set(left_to_calculate(answer) - left_to_calculate(gold))
    if any(isinstance(part, tree.Power) and part.base == tree.Constant("e") for part in walk(gold)):
        left.discard("hyperbolic function")
    if variables(answer) and not variables(gold):
        left.add("variables")
    value = rational(gold)
    is_rounded = value is not None and value.denominator > 1 and is_decimal(gold)  # 1.414214 for a root; 27.0 is 27
    if value is not None and rational(answer) is None and not is_rounded:
        left.add("what is not rational")  # 47+38 as (47π+38π)/π
    if _is_complex(gold) and not _is_complex(answer):
        left.add("complex numbers")
    if _is_polynomial(answer) and _is_polynomial(gold):
        if isinstance(gold, tree.Sum) and not _has_brackets(gold) and _has_brackets(answer):
            left.add("brackets")
        if _is_factored(gold) and _is_multiplied_out(answer, gold):
            left.add("factors")
    elif _has_variable_below(answer) and not _has_variable_below(gold):
        left.add("division by a variable")
    return frozenset(left)


def _all(node: tree.Node) -> Iterator[str]:
    match node:
        case tree.Number(repeating=True):
            yield "digits that repeat"
        case tree.Sum(terms):
            yield from _of_sum(terms)
        case tree.Product():
            yield from _of_product(tuple(factors_of(node)))
        case tree.Quotient(above, below):
            yield from _of_fraction(above, below)
        case tree.Power(base, exponent):
            yield from _of_power(node, base, exponent)
        case tree.Root():
            if rational(node) is not None:
                yield "root that comes out"
        case tree.Call("sinh" | "cosh" | "tanh" | "coth") if variables(node):
            yield "hyperbolic function"
        case tree.Call(name) if not name.startswith("function "):
            of = " of variables" if variables(node) else f" {name}"
            yield f"product{of}" if name in ("factorial", "binomial") else "function"
    for part in parts(node):
        yield from _all(part)


def _of_sum(terms: tuple[tree.Node, ...]) -> Iterator[str]:
    terms = tuple(all_terms(terms))
    kinds = Counter(kind_of(term) for term in terms)
    if kinds.pop(None, 0) > 1:
        yield "sum of numbers"
    radicands = [value for term in terms if (value := radicand_of(term)) is not None]
    alike = any(rational(tree.Root(tree.TWO, tree.Number(a * b))) is not None for a, b in combinations(radicands, 2))
    if alike or any(count > 1 for count in kinds.values()):
        yield "sum of like terms"
    constants = [term for term in terms if not variables(term)]
    if any(isinstance(term, tree.Product) and any(isinstance(f, tree.Sum) for f in term.factors) for term in constants):
        yield "sum of products of sums"
    if sum(any(isinstance(part, tree.Call) for part in walk(term)) for term in constants) > 1:
        yield "sum of functions of numbers"


def _of_product(factors: tuple[tree.Node, ...]) -> Iterator[str]:
    bases = Counter(f.base if isinstance(f, tree.Power) else f for f in factors if rational(f) is None)
    if any(count > 1 for base, count in bases.items() if isinstance(base, tree.Variable | tree.Constant)):
        yield "product of like factors"
    numbers = [factor for factor in factors if rational(factor) not in (None, -1)]
    if len(numbers) > 1 and not _is_scientific(numbers):
        yield "product of numbers"
    roots = [factor for factor in factors if isinstance(factor, tree.Root)]
    if len({root.degree for root in roots}) < len(roots):
        yield "product of roots"
    if sum(isinstance(factor, tree.Sum) and not variables(factor) for factor in factors) > 1:
        yield "product of sums"


def _of_fraction(above: tree.Node, below: tree.Node) -> Iterator[str]:
    first, second = rational(above), rational(below)
    if first is None or second is None:
        reducible = (second is not None and abs(second) == 1) or math.gcd(content_of(above), content_of(below)) > 1
    else:
        reducible = abs(second) == 1 or first.denominator != 1 or (first / second).denominator != abs(second)
    if isinstance(below, tree.Sum) and second is None and not variables(below):
        yield "fraction by a sum"
    if reducible:
        yield "fraction that can be reduced"


def _of_power(node: tree.Node, base: tree.Node, exponent: tree.Node) -> Iterator[str]:
    power = rational(exponent)
    of_powers = isinstance(base, tree.Power | tree.Product) and any(
        isinstance(f, tree.Power | tree.Number) for f in factors_of(base)
    )
    if power is not None and of_powers and variables(base):
        yield "power of a power"
    if variables(node):
        return
    if power is None:
        yield "function"  # e^{i\\pi}
    elif power.denominator != 1:
        if rational(node) is not None:
            yield "root that comes out"
    elif isinstance(base, tree.Power | tree.Sum | tree.Root) or base == tree.Constant("i"):
        yield "power of a power or a sum"


def _is_scientific(numbers: list[tree.Node]) -> bool:
    r"""Whether these are the two factors of 1.6\times10^{-19}."""
    match numbers:
        case [tree.Number(), tree.Power(tree.Number(Fraction(numerator=10, denominator=1)), exponent)]:
            return rational(exponent) is not None
    return False


def _is_complex(node: tree.Node) -> bool:
    """Whether it is written as a + bi, with rational a and b; the whole may be divided by a rational number."""
    if node == tree.Constant("i"):
        return True
    match node:
        case tree.Sum(nodes):
            return all(_is_complex(part) or rational(part) is not None for part in nodes) and any(
                map(_is_complex, nodes)
            )
        case tree.Product(nodes):
            return sum(map(_is_complex, nodes)) == 1 and all(_is_complex(n) or rational(n) is not None for n in nodes)
        case tree.Quotient(above, below):
            return _is_complex(above) and rational(below) is not None
    return False


def _is_polynomial(node: tree.Node) -> bool:
    """Of variables, with rational coefficients."""
    match node:
        case tree.Number() | tree.Variable():
            return True
        case tree.Sum(nodes) | tree.Product(nodes):
            return all(map(_is_polynomial, nodes))
        case tree.Quotient(above, below):
            return _is_polynomial(above) and rational(below) is not None
        case tree.Power(base, exponent):
            power = rational(exponent)
            return power is not None and power.denominator == 1 and power > 0 and _is_polynomial(base)
    return False


def _has_brackets(node: tree.Node) -> bool:
    """Whether a sum in brackets is multiplied, or raised to a power, anywhere in an expression."""
    return any(_is_factored(part) for part in walk(node))


def _is_factored(node: tree.Node) -> bool:
    """Whether it is a product of a sum in brackets and more than a sign, or a power of such a sum."""
    match node:
        case tree.Product(factors):
            others = [factor for factor in factors if not _varies(factor) and factor != tree.MINUS_ONE]
            sums = len(factors) - len(others) - factors.count(tree.MINUS_ONE)
            return sums > 1 or (sums == 1 and bool(others))
        case tree.Power(base):
            return _varies(base)
    return False


def _is_multiplied_out(answer: tree.Node, gold: tree.Node) -> bool:
    r"""Whether an answer is less of a product than a gold that is factored; \frac{a+b}{2} is \frac12(a+b)."""
    factors, of_gold = (tuple(_factors(node)) for node in (answer, gold))
    varying, of_gold_varying = _varying(factors), _varying(of_gold)
    if _is_factored(of_gold_varying):
        return not _is_factored(varying)
    return not _is_factored(tree.Product(factors)) or content_of(varying) > content_of(of_gold_varying)


def _factors(node: tree.Node) -> Iterator[tree.Node]:
    """The factors of a polynomial, with those of what is divided by a number, and the number."""
    for factor in factors_of(node):
        match factor:
            case tree.Quotient(above, below):
                yield from _factors(above)
                yield below
            case tree.Power(tree.Quotient(above, below), exponent):
                yield tree.Power(above, exponent)
                yield below
            case _:
                yield factor


def _varying(factors: Sequence[tree.Node]) -> tree.Node:
    """The product of the factors with variables."""
    varying = tuple(factor for factor in factors if variables(factor))
    return varying[0] if len(varying) == 1 else tree.Product(varying)


def _varies(node: tree.Node) -> bool:
    """Whether a factor is a sum of variables, or a power of one."""
    return bool(variables(node)) and (
        isinstance(node, tree.Sum) or (isinstance(node, tree.Power) and _varies(node.base))
    )


def _has_variable_below(node: tree.Node) -> bool:
    """Whether something is divided by a variable; what stands within functions is theirs, as in \\ln(1/x)."""
    match node:
        case tree.Call():
            return False
        case tree.Quotient(_, below) if _is_bare(below):
            return True
        case tree.Power(base, exponent) if _is_bare(base) and (rational(exponent) or 0) < 0:
            return True
    return any(map(_has_variable_below, parts(node)))


def _is_bare(node: tree.Node) -> bool:
    """Whether a variable stands outside of all functions."""
    return isinstance(node, tree.Variable) or (not isinstance(node, tree.Call) and any(map(_is_bare, parts(node))))
