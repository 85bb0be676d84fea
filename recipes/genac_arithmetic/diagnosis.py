"""Where the critic's error lies, as Markdown."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from pacs.base.markdown import table
from recipes.genac_arithmetic.sizes import COMPARED
from recipes.laboratory.tables import plus_minus

PARTS = {
    "MSE": "",
    "of sound states": "sound",
    "of mistaken states": "mistaken",
    "of misjudged states": "of_misjudged",
    "share misjudged": "misjudged",
}


def diagnosis(found: Mapping[str, Mapping[int, Mapping[str, Any]]]) -> str:
    """The parts of the error before and after REINFORCE by state; stage -> seed -> result."""
    of = [*found.get(COMPARED, {}).values()]
    if not of:
        return ""
    rows = []
    for name, key in (("SFT", "sft"), ("SFT and RL by state", "rl")):
        totals = plus_minus([each[key]["mse"] for each in of])
        rows.append(
            [name, totals, *(plus_minus([e[f"{key}_parts"][part] for e in of]) for part in PARTS.values() if part)]
        )
    limit = plus_minus([each["by_steps"] for each in of])
    first, last = (fmean(each["differ"][place] for each in of) for place in (0, 1))
    told = (
        f"Seeds {', '.join(map(str, sorted(found[COMPARED])))}. "
        "A state is sound if its steps so far are right, and mistaken otherwise. It is misjudged if the trace says the "
        "opposite. The columns say what each kind of state adds to the MSE, from traces of their own; misjudged states "
        "are also counted among the sound or the mistaken ones. A value that knows only whether a state is sound, and "
        f"how many steps are left if it is, has an MSE of {limit} when it is fitted to these states. REINFORCE by "
        "state learns from a state only where its traces earn different rewards. That was so for "
        f"{first:.1%} of the states in the first ten steps and for {last:.1%} in the last ten."
    )
    return f"### Where the error lies\n\n{told}\n\n{table(['critic', *PARTS], rows)}"
