"""The names of LaTeX's commands, by what they stand for."""

from typing import Final

TRIGONOMETRIC: Final = ("sin", "cos", "tan", "cot", "sec", "csc")
FUNCTIONS: Final = frozenset(
    [*TRIGONOMETRIC, *(f"arc{name}" for name in TRIGONOMETRIC), "sinh", "cosh", "tanh", "coth", "ln", "log", "exp"]
)
#: What stands for something that has to be calculated, and is not calculated here.
_OPERATIONS_LIST: Final = """
    sum prod int iint iiint oint lim limsup liminf gcd lcm det max min sup inf partial nabla bmod mod pmod dim
    ker deg Pr arg
"""
OPERATIONS: Final = frozenset(_OPERATIONS_LIST.split())
_GREEK_LIST: Final = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi
    chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega hbar ell Re Im aleph vartheta
"""
GREEK: Final = frozenset(_GREEK_LIST.split())
#: Marks over or around a name that make another one of it.
_ACCENTS_LIST: Final = """
    vec hat bar tilde dot ddot overline overrightarrow widehat mathbb mathcal mathfrak bm
"""
ACCENTS: Final = frozenset(_ACCENTS_LIST.split())
