r"""math-verify's verdict on a predicted and a gold answer. Runs in processes that can be killed (see `isolation`)."""

import logging
from functools import lru_cache
from typing import Any

from math_verify import parse, verify

# It would warn in every process that its own timeout, signal.alarm, is off.
logging.getLogger("math_verify").setLevel(logging.ERROR)


def equal(predicted: str, gold: str) -> bool:
    """Whether math-verify takes two answers for equal, in any of the forms in which it reads them.

    Args:
        predicted: an answer without its box.
        gold: the right one.

    Raises:
        ValueError: math-verify cannot read the gold answer.
        Exception: what math-verify raises, if it takes no form for equal.
    """
    raised: Exception | None = None
    for target in _parse_gold(gold):
        for candidate in _parse(predicted):
            try:
                if verify(target, candidate, timeout_seconds=None, raise_on_error=True):
                    return True
            except Exception as error:
                raised = error
    if raised is not None:
        raise raised
    return False


def _parse(answer: str) -> list[Any]:
    """A box around it makes math-verify take all of it, as LaTeX."""
    forms: list[Any] = parse(f"\\boxed{{{answer}}}", parsing_timeout=None)
    return forms


@lru_cache(maxsize=4096)
def _parse_gold(gold: str) -> list[Any]:
    forms = _parse(gold)
    if not forms:
        raise ValueError(f"math-verify cannot read {gold!r}")
    return forms


# The first comparisons build parsers and fill sympy's tables, for tenths of a second, on a busy machine for seconds:
# they are made here, in the server that the processes are forked from, before any time limit.
for _pair in (("(x+1)^2", "x^2+2x+1"), ("(x+1)^2", "x^2+2x"), (r"\sqrt{8}", r"\frac{4}{\sqrt{2}}"), ("(1,2]", "[1,2)")):
    equal(*_pair)
