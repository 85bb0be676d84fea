"""Section 5 of the theory page: the toy with held-out prompts, from its kept results alone."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from pacs.base.markdown import table
from recipes.theory.kept import read_runs
from recipes.theory.toy import BASE, METHODS, RESULTS, SETTINGS
from recipes.theory.toy_task import WORLDS

FIGURE = "toy.png"
RIVALS = ("GRPO", "MaxRL")
#: Methods of the first table.
SHORT = [name for name in METHODS if name not in ("PACS, w = 1/q, K = 100", "PACS, w = 1/q, never, dropped")]
PERIODS = ("K = 20", "never")
#: Learning rates and methods of the second table.
SHOWN = (0.03, 0.1, 0.3, 0.6)
COMPARED = (*RIVALS, *(f"PACS, {weights}, {period}" for weights in ("balanced", "w = 1/q") for period in PERIODS))
LEVEL = 0.95

INTRODUCTION = """\
## 5. A toy with held-out prompts

The toy has 32 answers, 48 features, 512 held-out prompts, exact pass@k, 4 updates a step, 100,000
rollouts, groups of 8, and Adam. A prompt's answers have features x, normal with variance 1/48. The
three right ones are those
with the highest x . u + noise. The policy is softmax(x . theta), with 48 parameters for all prompts. The
base has theta = 3.5 (cosine u + sine v), with v at right angles to u. There are 64 new prompts a step, and 195 steps,
so K = 100 is one reset.

| world | noise | cosine | base pass@1, @32 |
| --- | --- | --- | --- |
| `clear` | none: the features decide the labels | 0.35 | {clear} |
| `noisy` | Gumbel, scale 2/3, beside a signal of deviation 1 | 0.5 | {noisy} |

GRPO, RLOO and MaxRL have PPO's clip of 0.2 and keep Adam's moments. PACS resets the moments with the
reference, except with K = 1. {seeds} seeds, the same for all methods (`python -m recipes.theory toy`, results in
`recipes/theory/toy.json`).

Each method has the one of seven learning rates with its best mean pass@1, chosen on the same seeds. An
asterisk marks the edge of the grid. Cells: rate; pass@1/pass@32 (largest standard error
{error:.3f}); pass@1 minus GRPO's, paired by
seed (95%, Student's t). Larger rates mostly have a lower pass@32.
"""
FRONTIER = """
pass@1/pass@32 in `noisy` by learning rate (the figure has all rates, methods, and `clear`):
"""
VERDICT = """
![pass@1 against pass@32, a curve a method over learning rates]({figure})

{verdict}
"""


SAYS = """\
- **PACS with w = 1/q and no reset is behind.** At no rate does its pass@1 (at most {never_clear:.3f} in
  `clear`, {never_noisy:.3f} in `noisy`) reach the worst of GRPO's and MaxRL's ({least_clear:.3f}, {least_noisy:.3f}).
  Its best rate is the largest one tried, so it may do better at a larger one. In an earlier run it was
  ahead, perhaps because of few prompts (section 6).
- **Section 3 explains why**: without resets PACS stops short if the features do not decide the labels. From
  0.03 to 0.15 its pass@1 in `noisy` rises only from {slow:.3f} to {slower:.3f}. A beta of 0.25 recovers
  {small}.
- **Dropping single-class groups recovers a part**: balanced, {dropped_clear} in `clear` and
  {dropped_noisy} in `noisy`.
- **PACS with K = 20 is near a policy gradient.** At the same rate 1/q differs by at most {maxrl_most:.3f}
  from MaxRL, which has the same weights, over both worlds and measures. Balanced differs by at most
  {grpo_most:.3f} from GRPO and {rloo_most:.3f} from RLOO.
- **Neither 1/q with K = 20 nor MaxRL is ahead of GRPO's frontier** in `noisy` at the best rates: 1/q has
  {twenty}, GRPO {twenty_grpo}; MaxRL {maxrl_best}, GRPO
  {maxrl_grpo}. At rates of 0.1 and less both have more pass@32 than GRPO at any rate, at a
  pass@1 below any of GRPO's ({grpo_least:.3f} and more).
"""


class Best(NamedTuple):
    """A method at that of the learning rates that gives its best mean pass@1.

    Attributes:
        rate: position of the learning rate.
        runs: measure -> (seeds,) values.
    """

    rate: int
    runs: dict[str, np.ndarray[Any, np.dtype[np.float64]]]


def best(kept: dict[str, Any]) -> Best:
    """Of measure -> a list a learning rate of a value a seed."""
    rate = int(np.argmax([np.mean(line) for line in kept["pass@1"]]))
    return Best(rate, {measure: np.array(lines[rate]) for measure, lines in kept.items()})


def by_rate(kept: dict[str, Any], measure: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(L,) means over seeds."""
    means: np.ndarray[Any, np.dtype[np.float64]] = np.mean(kept[measure], axis=1)
    return means


def no_worse(kept: dict[str, Any], other: dict[str, Any]) -> int:
    """Position of the first learning rate at which pass@1 is at least the best of the other method."""
    return int(np.flatnonzero(by_rate(kept, "pass@1") >= by_rate(other, "pass@1").max())[0])


def apart(kept: dict[str, Any], ours: str, theirs: str) -> float:
    """Largest difference of two methods at the same learning rate, over worlds and pass@1 and pass@32."""
    return max(
        float(np.abs(by_rate(runs[ours], measure) - by_rate(runs[theirs], measure)).max())
        for runs in kept.values()
        for measure in ("pass@1", "pass@32")
    )


def interval(ours: Sequence[float] | Any, theirs: Sequence[float] | Any) -> tuple[float, float, float]:
    """Mean of the differences by seed, and its 95% interval."""
    from scipy.stats import t  # slow to import

    differences = np.asarray(ours) - np.asarray(theirs)
    half = standard_error(differences) * float(t.ppf((1 + LEVEL) / 2, len(differences) - 1))
    middle = float(differences.mean())
    return middle, middle - half, middle + half


def standard_error(values: Any) -> float:
    """Of the mean."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5)


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, WORLDS)["runs"]
    ends = {world: {name: best(kept[world][name]) for name in METHODS} for world in WORLDS}
    rates = SETTINGS["learning_rates"]
    last = [runs[name].runs[key] for runs in ends.values() for name in METHODS for key in ("pass@1", "pass@32")]
    bases = {world: ", ".join(f"{np.mean(kept[world][BASE][f'pass@{k}']):.3f}" for k in (1, 32)) for world in WORLDS}
    frontier = [[name, *(_both(kept["noisy"][name], rates.index(rate)) for rate in SHOWN)] for name in COMPARED]
    rows = [[name, *(cell for world in WORLDS for cell in _cells(name, ends[world]))] for name in SHORT]
    header = [f"{name} (`{world}`)" for world in WORLDS for name in ("rate; pass@1/pass@32", "minus GRPO's")]
    return "\n".join(
        [
            INTRODUCTION.format(seeds=len(SETTINGS["seeds"]), error=max(map(standard_error, last)), **bases),
            table(["method", *header], rows),
            FRONTIER,
            table(["method", *map(str, SHOWN)], frontier),
            VERDICT.format(figure=FIGURE, verdict=_verdict(kept).strip("\n")),
        ]
    )


def _cells(name: str, ends: dict[str, Best]) -> list[str]:
    rates, (rate, chosen) = SETTINGS["learning_rates"], ends[name]
    edge = "*" if rate in (0, len(rates) - 1) else ""
    middle, low, high = interval(chosen["pass@1"], ends[RIVALS[0]].runs["pass@1"])
    return [
        f"{rates[rate]}{edge}; {chosen['pass@1'].mean():.3f}/{chosen['pass@32'].mean():.3f}",
        "" if name == RIVALS[0] else f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]",
    ]


def _both(kept: dict[str, Any], rate: int) -> str:
    return "/".join(f"{by_rate(kept, measure)[rate]:.3f}" for measure in ("pass@1", "pass@32"))


def _point(kept: dict[str, Any], rate: int) -> str:
    return f"{_both(kept, rate)} (at {SETTINGS['learning_rates'][rate]})"


def _verdict(kept: dict[str, Any]) -> str:
    """What the tables say, with its numbers."""

    def less(ours: str, theirs: str, measure: str, world: str) -> str:
        chosen, other = (best(kept[world][name]).runs[measure] for name in (ours, theirs))
        middle, low, high = interval(chosen, other)
        return f"{middle:+.3f} [{low:+.3f}, {high:+.3f}]"

    balanced_never, dropped = "PACS, balanced, never", "PACS, balanced, never, dropped"
    never, twenty, grpo = "PACS, w = 1/q, never", "PACS, w = 1/q, K = 20", "GRPO"
    balanced = "PACS, balanced, K = 20"
    never_clear, never_noisy = (best(kept[world][never]).runs["pass@1"].mean() for world in ("clear", "noisy"))
    least_clear, least_noisy = (
        min(by_rate(kept[world][name], "pass@1").min() for name in RIVALS) for world in ("clear", "noisy")
    )
    slow = by_rate(kept["noisy"][never], "pass@1")
    return SAYS.format(
        twenty=_point(kept["noisy"][twenty], best(kept["noisy"][twenty]).rate),
        twenty_grpo=_point(kept["noisy"][grpo], no_worse(kept["noisy"][grpo], kept["noisy"][twenty])),
        maxrl_best=_point(kept["noisy"]["MaxRL"], best(kept["noisy"]["MaxRL"]).rate),
        maxrl_grpo=_point(kept["noisy"][grpo], no_worse(kept["noisy"][grpo], kept["noisy"]["MaxRL"])),
        grpo_least=by_rate(kept["noisy"][grpo], "pass@1").min(),
        never_clear=never_clear,
        never_noisy=never_noisy,
        least_clear=least_clear,
        least_noisy=least_noisy,
        slow=slow[0],
        slower=slow[4],
        small=less("PACS, w = 1/q, never, beta = 0.25", never, "pass@1", "noisy"),
        dropped_clear=less(dropped, balanced_never, "pass@1", "clear"),
        dropped_noisy=less(dropped, balanced_never, "pass@1", "noisy"),
        grpo_most=apart(kept, balanced, grpo),
        rloo_most=apart(kept, balanced, "RLOO"),
        maxrl_most=apart(kept, twenty, "MaxRL"),
    )
