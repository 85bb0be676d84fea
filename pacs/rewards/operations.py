r"""Carries out what `answers.evaluate` does not: sums, integrals, limits, derivatives, determinants, gcd, ...

Runs in processes that can be killed (see `isolation`): sympy may take for ever over an integral.
"""

import logging

import sympy
from math_verify import LatexExtractionConfig, parse
from sympy.core.function import AppliedUndef

# It would warn in every process that its own timeout, signal.alarm, is off.
logging.getLogger("math_verify").setLevel(logging.ERROR)


def carried_out(answer: str) -> str:
    """An answer with its operations carried out, as LaTeX.

    Args:
        answer: an answer without its box.

    Raises:
        ValueError: If math-verify cannot read all of it as LaTeX, or an operation is left.
    """
    forms = parse(
        f"\\boxed{{{answer}}}",
        extraction_config=[LatexExtractionConfig()],
        fallback_mode="no_fallback",
        parsing_timeout=None,
    )
    if len(forms) != 1 or not isinstance(forms[0], sympy.Basic):
        raise ValueError("math-verify does not read it as one formula")
    value = forms[0].doit()
    if value.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative, AppliedUndef):
        raise ValueError(f"{value} is what cannot be carried out of it")
    return str(sympy.latex(value))


# The first calls build parsers and fill sympy's tables, for tenths of a second, on a busy machine for seconds: they are
# made here, in the server that the processes are forked from, before any time limit.
for _formula in (r"\sum_{k=1}^{n} k", r"\int_0^1 x dx", r"\lim_{x \to 0} \frac{\sin x}{x}", r"\frac{d}{dx} x^2"):
    carried_out(_formula)
