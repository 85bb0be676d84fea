r"""What a column of answers holds where there is no answer: `N/A`, `notfound`, `see solution`.

The verifier of mathematics reads most of them as words, and would teach a policy to write them.
"""

import re
from typing import Final

#: What programs write for nothing. `\text{none}` was typeset by someone, and is the answer that there is none.
_MISSING: Final = frozenset(["none", "null", "nan", "na", "tba", "tbd", "todo", "blank", "unk"])
#: What nobody answers, in words; each may begin with "the answer is".
_SAID: Final = re.compile(
    r"(?:the |your )?(?:final )?(?:answer|solution)(?: here)?"
    r"|(?:(?:the )?(?:final )?(?:answer|solution)(?: is| was)? )?"
    r"(?:n[/.]a|not ?(?:found|available|applicable|provided|given|specified|known)|unknown|omitted|missing|placeholder)"
    r"|no (?:final )?answer(?: found| given| provided)?"
    r"|(?:the )?proof\b.*|prove\b.*|(?:hence )?(?:proved|proven)|q\.?e\.?d"
    r"|(?:see|refer to)(?: the)? (?:solution|proof|explanation|answer|text|figure|diagram|above|below)s?(?: \w+)?"
)
#: Signs that stand for nothing, and lists of nothing.
_SIGNS: Final = re.compile(r"[-–—.…?_*/#\s]+|\\[lc]?dots|\[\]|\{\}|\(\)")
_TYPESET: Final = re.compile(r"\\(?:text\w*|mathrm|mathbf|mbox|emph)\s*\{([^{}]*)\}")
_AROUND: Final = " .,:;!*_#`'\"()[]<>"


def is_placeholder(gold: str) -> bool:
    """Whether a gold answer of mathematics says that there is none, or that it is elsewhere."""
    gold = gold.strip()
    typeset = _TYPESET.fullmatch(gold)
    said = " ".join((typeset[1] if typeset else gold).replace("\\", " ").split()).casefold().strip(_AROUND)
    return bool(_SIGNS.fullmatch(gold) or _SAID.fullmatch(said)) or (typeset is None and said in _MISSING)
