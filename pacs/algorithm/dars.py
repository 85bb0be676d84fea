"""DARS (arXiv 2508.13755): how many more responses a prompt gets that few of its first ones solve.

A prompt has n first responses, of which the share q is right (none: q = 1/(2n)). Of q below 1/2 it gets

    equal      dN = ceil(n/(4q(1-q)) - n)     the sum of |R - q| over the group is then n/2 whatever q is
    hardness   dN = ceil(n/(2q) - n)          and here (1-q) n: the harder, the more

more, but no more than make `most` in all. With n = 8 and 0 to 4 right ones, uncapped: 27, 11, 3, 1, 0 and
56, 24, 8, 3, 0. Whole numbers and fractions are calculated with, so that no rounding adds a response.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

Schedule = Literal["equal", "hardness"]


def extra_responses(labels: Sequence[float], schedule: Schedule, most: int) -> int:
    """How many more responses a prompt gets.

    Args:
        labels: of its n first responses, finite, in [0, 1]; what is outside counts as the nearer end.
        schedule: equal or hardness.
        most: of its responses in all.

    Returns:
        dN, at least 0 and at most `most` - n.
    """
    n = len(labels)
    # Twice the right ones: one half of a response where there is none.
    twice = max(sum((Fraction(min(max(label, 0.0), 1.0)) for label in labels), Fraction()) * 2, Fraction(1))
    if twice >= n:
        return 0
    size = n**3 / (twice * (2 * n - twice)) if schedule == "equal" else n**2 / twice
    return max(0, min(math.ceil(size), most) - n)
