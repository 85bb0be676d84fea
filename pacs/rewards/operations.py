r"""Carries out what `answers.evaluate` does not: sums, integrals, limits, derivatives, determinants, gcd, ...

Runs in processes that can be killed (see `isolation`): sympy may take for ever over an integral.
"""

import logging
import re
from dataclasses import replace

import sympy
from math_verify import LatexExtractionConfig, parse
from sympy.core.function import AppliedUndef

# It would warn in every process that its own timeout, signal.alarm, is off.
logging.getLogger("math_verify").setLevel(logging.ERROR)

#: What math-verify passes over: relations (but for the ranges of sums and limits), words, dots, primes.
_MISREAD = re.compile(
    r"\\(?:le|ge|ne|leq|geq|neq|text|mbox|dots|ldots|cdots|equiv)(?![a-zA-Z])|[<>']|\.\.|=(?![^{}]*\})"
)
#: Those that it carries out at once, letters and all.
_OF_NUMBERS = re.compile(r"\\?(?:gcd|lcm|max|min|bmod)(?![a-zA-Z])")
#: By default a last letter is taken for a unit, and dropped (findings/math_verify_reads_variables_as_units.sh).
_LATEX = LatexExtractionConfig()
_READ = replace(_LATEX, normalization_config=replace(_LATEX.normalization_config, units=False))
_A_COMMAND, _LETTER = re.compile(r"\\[a-zA-Z]+(?:\{(?:gcd|lcm|max|min)\})?"), re.compile(r"[a-zA-Z]")


def carried_out(answer: str) -> str:
    """An answer with its operations carried out, as LaTeX.

    Args:
        answer: an answer without its box.

    Raises:
        ValueError: If math-verify cannot read all of it as LaTeX, or an operation is left.
    """
    if problem := _MISREAD.search(answer):
        raise ValueError(f"math-verify would not read {problem[0]!r} as it is meant")
    if _OF_NUMBERS.search(answer) and _LETTER.search(_A_COMMAND.sub("", answer)):
        raise ValueError("an operation on numbers, and letters in it")
    forms = parse(f"\\boxed{{{answer}}}", extraction_config=[_READ], fallback_mode="no_fallback", parsing_timeout=None)
    if len(forms) != 1 or not isinstance(forms[0], sympy.Expr):
        raise ValueError("math-verify does not read it as one formula")
    for derivative in forms[0].atoms(sympy.Derivative):
        if not set(derivative.variables) & derivative.expr.free_symbols:
            raise ValueError(f"{derivative.expr} is a name here, not a function that is written out")
    value = forms[0].doit()
    if value.has(sympy.Integral, sympy.Sum, sympy.Product, sympy.Limit, sympy.Derivative, AppliedUndef):
        raise ValueError(f"{value} is what cannot be carried out of it")
    return str(sympy.latex(value))


# The first calls build parsers and fill sympy's tables, for tenths of a second, on a busy machine for seconds: they are
# made here, in the server that the processes are forked from, before any time limit.
for _formula in (r"\sum_{k=1}^{n} k", r"\int_0^1 x dx", r"\lim_{x \to 0} \frac{\sin x}{x}", r"\frac{d}{dx} x^2"):
    carried_out(_formula)
