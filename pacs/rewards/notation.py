r"""Ways of writing the same answer, made one by rewriting its text."""

import re
from typing import Final

_AROUND: Final = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_PERCENT = re.compile(r"\s*\\?%$")
_FULL_STOP = re.compile(r"(?<=[\w)}\]%$])\s*\.$", re.ASCII)
_WITHOUT_MEANING = re.compile(r"\\!|\\displaystyle(?![a-zA-Z])|\\(?:left|right)(?![a-zA-Z])\.?")
_SPACE = re.compile(r"(?:\\[,;: ]|~|\s)+")
#: Spaces that separate nothing. Letters and digits are kept apart; 10, 000 are two numbers, and 10,000 is one.
_NEEDLESS_SPACE = re.compile(r"(?<![a-zA-Z\d,]) | (?![a-zA-Z\d])|(?<=,) (?!\d{3}(?!\d))")
_FRACTION_COMMAND = re.compile(r"\\[dtc]frac(?![a-zA-Z])")
_SCIENTIFIC = re.compile(r"^([+-]?\d+(?:\.\d+)?)[eE]\+?(-?\d+)$", re.ASCII)
_WORDS = re.compile(r"\\(?:text|textbf|textit|textrm|textnormal|mathrm|mathbf|mbox)\{([^{}\\$]*)\}")


def bare(answer: str) -> str:
    r"""The answer alone.

    Without white space, the full stop behind it, one pair of dollars, `\(...\)` or `\[...\]` around it, and the percent
    sign at its end, as math-verify reads a formula: 50\% is met by 50 (and not by 0.5). `\text{...}` around anything
    with a digit goes too, and 1.5e3 is written out: math-verify would read letters.
    """
    answer = _FULL_STOP.sub("", answer.strip())
    for opening, closing in _AROUND:
        inner = answer[len(opening) : -len(closing)]
        if answer == opening + inner + closing and opening not in inner and closing not in inner:
            answer = _FULL_STOP.sub("", inner.strip())
            break
    words = _WORDS.fullmatch(answer)
    if words and any(map(str.isdigit, words[1])):
        answer = words[1].strip()
    return _SCIENTIFIC.sub(r"\1 \\times 10^{\2}", _PERCENT.sub("", answer))


def canonical(answer: str) -> str:
    r"""One text for the commonest ways of writing the same answer.

    Spaces, `\left` and `\right`, `\!`, `\dfrac`, `10{,}000` and `\text{...}` around the whole are written in one way.

    Args:
        answer: as `bare` leaves it.
    """
    answer = _SPACE.sub(" ", _WITHOUT_MEANING.sub("", answer).replace("{,}", ",")).strip()
    answer = _FRACTION_COMMAND.sub(r"\\frac", answer)
    words = _WORDS.fullmatch(answer)
    return words[1].strip() if words else _NEEDLESS_SPACE.sub("", answer)
