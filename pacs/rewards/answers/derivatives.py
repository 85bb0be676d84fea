r"""Derivatives in an equation, in whatever notation: \\frac{dx}{dt}, \\dot{x}, x'(t) and x' are one unknown."""

import re
from typing import Final

from pacs.rewards.answers.tokens import GREEK

_D: Final = r"(?:d|\\(?:mathrm|text) ?\{d\})"
_POWER: Final = r"(?:\^(?:\d|\{\d\}))"
_FUNCTION: Final = r"((?:[a-zA-Z]|\\[a-z]+)(?:_(?:\w|\{\w+\}))?)"
_QUOTIENT = re.compile(
    rf"\\[dt]?frac ?\{{ ?{_D}({_POWER}?) ?{_FUNCTION} ?(?:\([a-z]\))? ?\}} ?\{{ ?{_D} ?([a-z]){_POWER}? ?\}}"
    rf"|(?<![a-zA-Z\\]){_D} ?{_FUNCTION} ?/ ?{_D} ?([a-z])(?![a-zA-Z])"
)
_DOTS = re.compile(rf"\\(d{{1,2}})ot(?![a-z]) ?(?:\{{ ?{_FUNCTION} ?\}}|{_FUNCTION})")
_PRIME_OF = re.compile(r"' ?\(([a-z])\)")
_ARGUMENT = re.compile(r"(\\[a-zA-Z]+|_\w|_\{\w+\}|[a-zA-Z']) ?\(([a-z])\)")


def with_primes(text: str) -> str:
    """With primes for dots; an equation with primes for all derivatives, and without their variable as an argument."""
    text = _DOTS.sub(lambda found: f"{found[2] or found[3]}{_primes(found[1])} ", text)
    if "=" not in text:
        return text
    arguments = {found[3] or found[5] for found in _QUOTIENT.finditer(text)}
    text = _QUOTIENT.sub(lambda found: f"{found[2] or found[4]}{_primes(found[1])} ", text)
    if "'" not in text:
        return text
    arguments |= set(_PRIME_OF.findall(text)) or {"t"}

    def without(found: re.Match[str]) -> str:
        is_function = found[1][0] == "\\" and found[1][1:] not in GREEK
        return found[0] if is_function or found[2] not in arguments else f"{found[1]} "

    return _ARGUMENT.sub(without, text)


def _primes(order: str | None) -> str:
    r"""As many as the d of \\dot and \\ddot, or as the power of a derivative says."""
    order = (order or "1").strip("^{}")
    return "'" * (int(order) if order.isdigit() else len(order))
