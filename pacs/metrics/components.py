"""What a reward function says beside the score, by the names that it gives: parts of a reward, penalties, counts."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import torch


def component_metrics(infos: Iterable[Mapping[str, Any]], besides: Iterable[str]) -> dict[str, float]:
    """The mean of each number that is said under a name, over the responses of which it is said and finite.

    Args:
        infos: what was said of each response, by name; others than numbers, true and false are left out.
        besides: names that are not meant.

    Returns:
        `pacs/reward/NAME/mean` -> value.
    """
    values: defaultdict[str, list[float]] = defaultdict(list)
    left_out = set(besides)
    for info in infos:
        # verl keeps the number that a function gives alone under this name; it is the score then.
        for name in info.keys() - left_out - (set() if "score" in info else {"acc"}):
            if _is_number(info[name]) and math.isfinite(value := float(info[name])):
                values[str(name)].append(value)
    return {f"pacs/reward/{name}/mean": math.fsum(given) / len(given) for name, given in sorted(values.items())}


def averaged(values: Iterable[Any]) -> bool:
    """Whether verl's validation can take means of what is said under a name: numbers, or text, which it leaves out."""
    said = [value for value in values if value is not None]
    return all(isinstance(value, str) for value in said) or all(map(_is_number, said))


def _is_number(value: Any) -> bool:
    """True and false among them, and tensors of one number, as verl's DAPO manager says its punishment."""
    return isinstance(value, Real | np.bool_) or (isinstance(value, torch.Tensor) and value.ndim == 0)
