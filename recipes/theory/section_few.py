"""Section 6 of the theory page: the toy with few prompts, from its kept results alone."""

from typing import Any

import numpy as np

from pacs.base.markdown import table
from recipes.theory.few import RESULTS, SETTINGS, WORLDS, named
from recipes.theory.kept import read_runs
from recipes.theory.section_toy import best, interval
from recipes.theory.toy import BASE

FIGURE = "few.png"
BASELINE = "GRPO"
BALANCED, INVERSE = "PACS, balanced, never", "PACS, w = 1/q, never"
TRAINED = "trained pass@1"
#: Position of the learning rate of the second table: the lowest.
LOWEST = 0
#: Numbers of prompts and of rollouts.
CASES = SETTINGS["cases"]
#: Of the tables; the figure has them.
LEFT_OUT = ([32, 100_000], [128, 100_000], [None, 400_000])

INTRODUCTION = """\
## 6. The toy with few prompts

The policy is trained on few prompts, over and over, and measured on the same 512 held-out ones. The world
`noisy` is that of section 5. In `known` the base already knows more of what the features tell, and labels
are noisier (Gumbel noise of scale 1, cosine 0.7). The base has a held-out pass@1/pass@32 of {noisy} in
`noisy` and {known} in `known`. Rates {rates}; {seeds} seeds
(`python -m recipes.theory few`, results in `recipes/theory/few.json`).

The table has held-out pass@1, each at its best rate: GRPO's (in brackets on its training prompts), and the
difference of PACS without resets to it, paired by seed (95%, Student's t):
"""
LOWEST_RATE = """
Held-out pass@32 at a rate of {rate}, where it is highest for all:
"""
VERDICT = """
![Held-out pass@1 against the number of prompts, a line a method, in two worlds]({figure})

{verdict}
"""
SAYS = """\
- **A reference that is never reset holds the policy.** In `known` its held-out pass@1 goes from
  {never_few:.2f} with 16 prompts to {never_all:.2f} with always new ones (balanced), GRPO's from {grpo_few:.2f} to
  {grpo_all:.2f}.
- **It leads because it loses less of what the base could do.** With 16 prompts in `known`, at a rate of {rate}, no
  method is clearly above the base at pass@1: GRPO {base_grpo_1}, never reset
  {base_balanced_1}. All are below it at pass@32 (GRPO {base_grpo_32:+.3f}, MaxRL {base_maxrl_32:+.3f},
  never {base_balanced_32:+.3f}, with w = 1/q {base_inverse_32:+.3f}).
- **With 64 prompts** w = 1/q without resets has {gain_1} of pass@1 over the base, and nearly
  its pass@32 ({gain_32}). GRPO and MaxRL have as much pass@1 but lost {lost_grpo:.3f} and
  {lost_maxrl:.3f} of pass@32. This is one rate, not a frontier.
- **In `noisy`**, where there is more to learn, PACS without resets cannot be told from GRPO at pass@1 with 16 and 32
  prompts (intervals of up to ± {wide:.2f}). It is clearly behind from {behind} on (balanced).
- **With four times the rollouts both lose more.** Whether the gap at pass@32 widens is not settled
  ({widens}, 64 prompts in `known`).
- Stopping early was not tried.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, WORLDS)["runs"]
    rates = SETTINGS["learning_rates"]
    introduction = INTRODUCTION.format(
        rates=", ".join(map(str, rates)),
        seeds=len(SETTINGS["seeds"]),
        **{world: _both(kept[world][BASE]) for world in WORLDS},
    )
    heads = [f"{name} (`{world}`)" for world in WORLDS for name in (BASELINE, "never", "never, w = 1/q")]
    tables = []
    for cells in (_at_best, _at_lowest):
        rows = [
            [_said(*case), *(cell for world in WORLDS for cell in cells(kept[world], *case))]
            for case in CASES
            if case not in LEFT_OUT
        ]
        tables.append(table(["prompts", *heads], rows))
    verdict = VERDICT.format(figure=FIGURE, verdict=_verdict(kept).strip("\n"))
    return "\n".join([introduction, tables[0], LOWEST_RATE.format(rate=rates[LOWEST]), tables[1], verdict])


def _said(prompts: int | None, rollouts: int) -> str:
    longer = "" if rollouts == CASES[0][1] else f", {rollouts:,} rollouts"
    return f"{'always new' if prompts is None else prompts}{longer}"


def _at_best(runs: dict[str, Any], prompts: int | None, rollouts: int) -> list[str]:
    base = best(runs[named(BASELINE, prompts, rollouts)]).runs
    trained = f" ({base[TRAINED].mean():.2f})" if TRAINED in base else ""
    more = [best(runs[named(name, prompts, rollouts)]).runs["pass@1"] for name in (BALANCED, INVERSE)]
    return [f"{base['pass@1'].mean():.3f}{trained}", *(_signed(each, base["pass@1"]) for each in more)]


def _at_lowest(runs: dict[str, Any], prompts: int | None, rollouts: int) -> list[str]:
    base, *others = (runs[named(name, prompts, rollouts)]["pass@32"][LOWEST] for name in (BASELINE, BALANCED, INVERSE))
    return [f"{np.mean(base):.3f}", *(_signed(each, base) for each in others)]


def _both(run: dict[str, Any]) -> str:
    return "/".join(f"{np.mean(run[measure][LOWEST]):.3f}" for measure in ("pass@1", "pass@32"))


def _signed(ours: Any, theirs: Any) -> str:
    middle, low, high = interval(ours, theirs)
    return f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]"


def lead(runs: dict[str, Any], name: str, prompts: int | None, rollouts: int = 100_000) -> tuple[float, float, float]:
    """What a method has more than GRPO of held-out pass@1, each at its best rate, with the 95% interval."""
    ours, theirs = (best(runs[named(each, prompts, rollouts)]).runs["pass@1"] for each in (name, BASELINE))
    return interval(ours, theirs)


def _verdict(kept: dict[str, Any]) -> str:
    known, rate = kept["known"], SETTINGS["learning_rates"][LOWEST]

    def ones(name: str, prompts: int | None) -> float:
        return float(best(known[named(name, prompts, 100_000)]).runs["pass@1"].mean())

    def gain(name: str, prompts: int, measure: str) -> str:
        return _signed(known[named(name, prompts, 100_000)][measure][LOWEST], known[BASE][measure][LOWEST])

    def change(name: str, prompts: int, measure: str) -> float:
        return float(np.mean(known[named(name, prompts, 100_000)][measure][LOWEST]) - np.mean(known[BASE][measure]))

    def gap(rollouts: int) -> Any:
        ours, theirs = (np.array(known[named(each, 64, rollouts)]["pass@32"][LOWEST]) for each in (INVERSE, BASELINE))
        return ours - theirs

    level = [lead(kept["noisy"], name, prompts) for name in (BALANCED, INVERSE) for prompts in (16, 32)]

    behind = next(
        prompts
        for prompts, rollouts in CASES
        if prompts is not None and rollouts == 100_000 and lead(kept["noisy"], BALANCED, prompts)[2] < 0
    )
    return SAYS.format(
        never_few=ones(BALANCED, 16),
        never_all=ones(BALANCED, None),
        grpo_few=ones(BASELINE, 16),
        grpo_all=ones(BASELINE, None),
        rate=rate,
        base_grpo_1=gain(BASELINE, 16, "pass@1"),
        base_balanced_1=gain(BALANCED, 16, "pass@1"),
        base_grpo_32=change(BASELINE, 16, "pass@32"),
        base_maxrl_32=change("MaxRL", 16, "pass@32"),
        base_balanced_32=change(BALANCED, 16, "pass@32"),
        base_inverse_32=change(INVERSE, 16, "pass@32"),
        gain_1=gain(INVERSE, 64, "pass@1"),
        gain_32=gain(INVERSE, 64, "pass@32"),
        lost_grpo=-change(BASELINE, 64, "pass@32"),
        lost_maxrl=-change("MaxRL", 64, "pass@32"),
        wide=max((high - low) / 2 for _, low, high in level),
        widens=_signed(gap(400_000), gap(100_000)),
        behind=behind,
    )
