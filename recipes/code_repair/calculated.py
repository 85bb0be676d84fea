"""The verifier of this task without a sandbox: programs that return an expression of their two numbers are calculated.

The sandbox takes most of a run's time; the laboratory grades with this. Every other program counts as one that fails.
"""

import ast
import operator
from collections.abc import Callable
from functools import cache

from pacs.rewards.code import last_code_block
from recipes.code_repair.problems import tests_of
from recipes.code_repair.programs import NAME, failure

_CALCULATES: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
}
#: What is said of a longer output is that the program fails, as in `recipes.code_repair.reward`.
_SHOWN = len("-999")


@cache
def first_failure(response: str, truth: str) -> str | None:
    """What is said of the first test that a response's program fails; None if it passes all.

    Args:
        response: as text.
        truth: the row's ground truth.
    """
    code = last_code_block(response)
    if code is None:
        return "no program"
    returned = _returned(code)
    for at, right in tests_of(truth):
        given = None if returned is None else _value(returned[1], dict(zip(returned[0], at, strict=True)))
        if given != right:
            shown = None if given is None or len(str(given)) > _SHOWN else str(given)
            return failure(at, right, shown)
    return None


def _returned(code: str) -> tuple[list[str], ast.expr] | None:
    """The names of the two numbers, and the expression that is returned; None of a program of another form."""
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):
        return None
    match body:
        case [ast.FunctionDef(name=name, args=ast.arguments(args=[_, _] as given), body=[ast.Return(value=found)])]:
            names = [each.arg for each in given]
            return (names, found) if name == NAME and found is not None else None
    return None


def _value(node: ast.expr, numbers: dict[str, int]) -> int | None:
    """None where it ends with an error, or has what is not calculated here."""
    match node:
        case ast.Name(id=name):
            return numbers.get(name)
        case ast.Constant(value=int(value)):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, numbers)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _CALCULATES:
            first, second = _value(left, numbers), _value(right, numbers)
            if first is None or second is None or (second == 0 and isinstance(op, ast.Mod | ast.FloorDiv)):
                return None
            return _CALCULATES[type(op)](first, second)
    return None
