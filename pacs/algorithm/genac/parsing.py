"""From what the critic has written to a value."""

import re
from typing import Final

#: The best score; a value is a score divided by it.
BEST: Final = 10
_LAST_BOX = re.compile(r".*\\boxed\s*\{\s*(?P<score>10|[0-9])?\s*(?P<end>\})?", re.DOTALL)


def read_score(text: str) -> int | None:
    r"""The integer from 0 to 10 that is alone in the last `\boxed{}`; None of any other text."""
    found = _LAST_BOX.match(text)
    return int(found["score"]) if found and found["score"] and found["end"] else None


def read_value(text: str) -> float | None:
    """The score as a probability; None where there is none."""
    score = read_score(text)
    return None if score is None else score / BEST
