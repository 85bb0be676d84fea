"""Section 6 of the theory page: the toy with few prompts, from its kept results alone."""

from typing import Any

import numpy as np

from pacs.base.markdown import table
from recipes.theory.few import METHODS, RESULTS, SETTINGS, WORLDS, named
from recipes.theory.kept import read_runs
from recipes.theory.section_toy import best, interval
from recipes.theory.toy import BASE

FIGURE = "theory-few.png"
BASELINE = "GRPO"
BALANCED, INVERSE = "PACS, balanced, never", "PACS, w = 1/q, never"
TRAINED = "trained pass@1"
#: Position of the learning rate of the second table: the lowest.
LOWEST = 0

INTRODUCTION = """\
## 6. The toy with few prompts

In section 5 no prompt comes twice. Here the same policy is trained on so many prompts, over and over, and measured on
the same 512 others. Two worlds: `noisy` as in section 5, and `known`, whose base has more of what the features can tell
and whose labels have more chance in them (Gumbel noise of scale 1, cosine 0.7), so that a policy has less to learn and
more to learn by heart. The untrained base has a held-out pass@1/pass@32 of {noisy} in `noisy` and
{known} in `known`. Everything else is that of section 5, but for five learning rates
({rates}); {seeds} seeds (`python -m recipes.theory few`, kept in `recipes/theory/few.json`).
"""
BY_PROMPTS = """
### World `{world}`, by the number of prompts

Held-out pass@1, each method at its best of the five rates (and in brackets its pass@1 on the prompts that it was
trained on), and the difference from GRPO's, paired by seed with 95% intervals (Student's t):
"""
LOWEST_RATE = """
Held-out pass@1/pass@32 at a learning rate of {rate}, the lowest and that at which pass@32 is highest for all (a still
lower one was not run), and what the two that are never reset have more than GRPO there:
"""
VERDICT = """
![Held-out pass@1 against the number of prompts, a line a method, in two worlds]({figure})

**What this says.**
{verdict}
"""
SAYS = """\
A reference that is never reset holds the policy: in `known` its held-out pass@1 depends little on how many prompts it
was trained on (balanced, {never_few:.2f} with 16 and {never_all:.2f} with new ones at each step), while GRPO's goes
from {grpo_few:.2f} to {grpo_all:.2f}. So it is ahead there where prompts are few, and behind where they are many.

What it is ahead in is not losing what the base could do. With 16 prompts in `known`, at a learning rate of {rate}, no
method is clearly above the base at pass@1 (GRPO {base_grpo_1}, MaxRL {base_maxrl_1}, never reset
{base_balanced_1}, with w = 1/q {base_inverse_1}), and all are below it at pass@32
({base_grpo_32:+.3f}, {base_maxrl_32:+.3f}, {base_balanced_32:+.3f} and {base_inverse_32:+.3f}); balanced weights have
{few_1} of pass@1 and {few_32} of pass@32 over GRPO. With 64 prompts w = 1/q without resets has
{gain_1} of pass@1 over the base and nearly the base's pass@32 ({gain_32}), where GRPO and
MaxRL have as much pass@1 but lost {lost_grpo:.3f} and {lost_maxrl:.3f} of pass@32: it is {mid_1} and
{mid_32} over GRPO, and {max_1} and {max_32} over
MaxRL. As much pass@1 and more pass@32 is what the earlier look of section 5 had found. (How many prompts it had is not
known.) These are one learning rate, and no frontier.

In `noisy`, where there is more to learn, what is never reset is not told apart from GRPO at pass@1 with 16 and 32
prompts (intervals of up to ± {wide:.2f}), and is clearly behind from {behind} on (balanced).

With four times the rollouts both lose more: with 64 prompts in `known`, at a learning rate of {rate}, pass@1/pass@32
goes from {short} to {long} with GRPO, and from {short_q} to {long_q} with w = 1/q and no
reset. Whether the gap at pass@32 widens is not settled ({widens}).

A policy that has learned its prompts by heart (with 16 in `known` GRPO is right in {heart:.0%} of its samples on them,
and in {held:.0%} on others) would be stopped early in practice, which was not tried here. What it means for a language
model, whose training problems come several times, is a question for the laboratory.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, WORLDS)["runs"]
    rates = SETTINGS["learning_rates"]
    parts = [
        INTRODUCTION.format(
            rates=", ".join(map(str, rates)),
            seeds=len(SETTINGS["seeds"]),
            **{world: _both(kept[world][BASE]) for world in WORLDS},
        )
    ]
    for world in WORLDS:
        runs = kept[world]
        parts += [
            BY_PROMPTS.format(world=world),
            table(["prompts", *METHODS, f"{BALANCED}, less GRPO's", f"{INVERSE}, less GRPO's"], _by_prompts(runs)),
            LOWEST_RATE.format(rate=rates[LOWEST]),
            table(["prompts", *METHODS, *_heads()], _at_lowest(runs)),
        ]
    parts.append(VERDICT.format(figure=FIGURE, verdict=_verdict(kept)))
    return "\n".join(parts)


def _said(prompts: int | None, rollouts: int) -> str:
    longer = "" if rollouts == SETTINGS["cases"][0][1] else f", {rollouts:,} rollouts"
    return f"{'always new' if prompts is None else prompts}{longer}"


def _by_prompts(runs: dict[str, Any]) -> list[list[str]]:
    rows = []
    for prompts, rollouts in SETTINGS["cases"]:
        found = {name: best(runs[named(name, prompts, rollouts)]).runs for name in METHODS}
        cells = [
            f"{one['pass@1'].mean():.3f}" + (f" ({one[TRAINED].mean():.2f})" if TRAINED in one else "")
            for one in found.values()
        ]
        less = [_signed(found[name]["pass@1"], found[BASELINE]["pass@1"]) for name in (BALANCED, INVERSE)]
        rows.append([_said(prompts, rollouts), *cells, *less])
    return rows


def _heads() -> list[str]:
    return [f"{name}: {measure}" for name in (BALANCED, INVERSE) for measure in ("pass@1", "pass@32")]


def _at_lowest(runs: dict[str, Any]) -> list[list[str]]:
    rows = []
    for prompts, rollouts in SETTINGS["cases"]:
        found = {name: runs[named(name, prompts, rollouts)] for name in METHODS}
        cells = [
            f"{np.mean(one['pass@1'][LOWEST]):.3f}/{np.mean(one['pass@32'][LOWEST]):.3f}" for one in found.values()
        ]
        more = [
            _signed(found[name][measure][LOWEST], found[BASELINE][measure][LOWEST])
            for name in (BALANCED, INVERSE)
            for measure in ("pass@1", "pass@32")
        ]
        rows.append([_said(prompts, rollouts), *cells, *more])
    return rows


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

    def ones(name: str, prompts: int | None, measure: str = "pass@1") -> float:
        return float(best(known[named(name, prompts, 100_000)]).runs[measure].mean())

    def more(name: str, prompts: int, measure: str, other: str = BASELINE) -> str:
        ours, theirs = (known[named(each, prompts, 100_000)][measure][LOWEST] for each in (name, other))
        return _signed(ours, theirs)

    def point(name: str, rollouts: int) -> str:
        return _both(known[named(name, 64, rollouts)])

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
        for prompts, rollouts in SETTINGS["cases"]
        if prompts is not None and rollouts == 100_000 and lead(kept["noisy"], BALANCED, prompts)[2] < 0
    )
    return SAYS.format(
        never_few=ones(BALANCED, 16),
        never_all=ones(BALANCED, None),
        grpo_few=ones(BASELINE, 16),
        grpo_all=ones(BASELINE, None),
        rate=rate,
        base_grpo_1=gain(BASELINE, 16, "pass@1"),
        base_maxrl_1=gain("MaxRL", 16, "pass@1"),
        base_balanced_1=gain(BALANCED, 16, "pass@1"),
        base_inverse_1=gain(INVERSE, 16, "pass@1"),
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
        few_1=more(BALANCED, 16, "pass@1"),
        few_32=more(BALANCED, 16, "pass@32"),
        mid_1=more(INVERSE, 64, "pass@1"),
        mid_32=more(INVERSE, 64, "pass@32"),
        max_1=more(INVERSE, 64, "pass@1", "MaxRL"),
        max_32=more(INVERSE, 64, "pass@32", "MaxRL"),
        behind=behind,
        short=point(BASELINE, 100_000),
        long=point(BASELINE, 400_000),
        short_q=point(INVERSE, 100_000),
        long_q=point(INVERSE, 400_000),
        heart=ones(BASELINE, 16, TRAINED),
        held=ones(BASELINE, 16),
    )
