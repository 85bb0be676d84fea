#!/usr/bin/env bash
# math-verify 0.9.0: a formula that ends in one of nine letters loses it as a unit: the volume of a cylinder, \pi r^2 h, is
# \pi r^2.
#
# Guessed: units are words behind a number, such as \text{cm}; a letter in a formula is a variable.
# Seen (2026-11-29, math-verify 0.9.0, latex2sympy2_extended 1.11.0, sympy 1.14.0): c, d, g, h, l, m, o, s and t are dropped
# at the end of an answer if a digit, a space or a closing brace stands before them, as in 2t, v t, n^2 m, \frac{1}{2} g t and
# x=2h, in a box as well. Answer and gold lose it alike, so what is written the same way is still right, and a short test
# shows nothing. But h\pi r^2 is wrong, \pi r^2 is right, and so is v d for v t. 2 \sin t is 2. In mgh, (a+b)t and 2\,t the
# letter stays. 3 km and 3 cm are equal. A reward by it pays for leaving the variable out; verl 0.9.1 grades so in
# reward_score/math_verify. LatexExtractionConfig with a NormalizationConfig whose units is false keeps the letters; then
# \text{ cm} stays, too: take units out of the golds, and ask for none.
#
#   dropped behind 2: c, d, g, h, l, m, o, s, t
#   \pi r^2 h: pi*r**2
#   \frac{1}{2} g t: 1/2
#   2 \sin t: 2
#   for the gold \pi r^2 h: \pi r^2 h right, h\pi r^2 wrong, \pi r^2 right
#   for the gold v t: v\cdot t wrong, v right, v d right
#   for the gold x=2t: x=t\cdot 2 wrong, x=2 right, x=2m right
#   for the gold 3\text{ km}: 3\text{ cm} right
#   without units, \pi r^2 h: pi*h*r**2
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2_extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.9.3
cat >"$folder/letters.py" <<'PYTHON'
import string
import sys

from latex2sympy2_extended import NormalizationConfig
from math_verify import LatexExtractionConfig, parse, verify

SEEN = r"""
dropped behind 2: c, d, g, h, l, m, o, s, t
\pi r^2 h: pi*r**2
\frac{1}{2} g t: 1/2
2 \sin t: 2
for the gold \pi r^2 h: \pi r^2 h right, h\pi r^2 wrong, \pi r^2 right
for the gold v t: v\cdot t wrong, v right, v d right
for the gold x=2t: x=t\cdot 2 wrong, x=2 right, x=2m right
for the gold 3\text{ km}: 3\text{ cm} right
without units, \pi r^2 h: pi*h*r**2
""".strip()
ANSWERS = {
    r"\pi r^2 h": (r"\pi r^2 h", r"h\pi r^2", r"\pi r^2"),
    "v t": (r"v\cdot t", "v", "v d"),
    "x=2t": (r"x=t\cdot 2", "x=2", "x=2m"),
    r"3\text{ km}": (r"3\text{ cm}",),
}


def read(text, **settings):
    """Without the time limit, which on a busy machine ends the first call while modules are loaded."""
    return parse(f"${text}$", parsing_timeout=None, **settings)[0]


def graded(gold, answer):
    right = verify(read(gold), read(answer), timeout_seconds=None)
    return f"{answer} {'right' if right else 'wrong'}"


dropped = [letter for letter in string.ascii_letters if read(f"2{letter}") == read("2")]
without = [LatexExtractionConfig(normalization_config=NormalizationConfig(units=False))]
found = "\n".join(
    [
        f"dropped behind 2: {', '.join(dropped)}",
        *(f"{text}: {read(text)}" for text in (r"\pi r^2 h", r"\frac{1}{2} g t", r"2 \sin t")),
        *(f"for the gold {gold}: {', '.join(graded(gold, each) for each in all_)}" for gold, all_ in ANSWERS.items()),
        r"without units, \pi r^2 h: " + str(read(r"\pi r^2 h", extraction_config=without)),
    ]
)
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/letters.py" 2>/dev/null
