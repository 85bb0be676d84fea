"""Section 4 of the theory page: when the score ranks what the policy samples the wrong way round."""

from collections.abc import Iterable
from itertools import compress
from statistics import fmean
from typing import Any

from pacs.base.markdown import table
from recipes.theory.kept import read_runs
from recipes.theory.ranking import BETAS, PERIODS, RESULTS, SETTINGS
from recipes.theory.section_toy import interval, standard_error

LR, STEPS = 0.3, (0, 2, 3, 4)
RESET = ("1", "5", "20", "100")
#: Of the first table.
LEFT_OUT = (("0.1", "1"), ("0.1", "5"))
IDENTITY = """\
## 4. Why the score can rank sampled responses the wrong way round

The mean log-ratio of pi's samples is KL(pi, pi_ref), which is never negative. For the classes there is an
identity, which a test checks to 1e-12:

    E[r | right] - E[r | wrong] = beta * ( logit p - logit p_ref + KL_right - KL_wrong )

KL_right is the divergence of the policy given a right response from the reference given one; KL_wrong
is the same for wrong ones. The first part, logit p - logit p_ref, is what was learned since the last
reset. KL_wrong is large where the remaining wrong responses are unlikely under the reference; its bound
is loose in a language model. If the first part is small or negative, the score can rank right below wrong.

**An example.** There are 8 prompts with 12 answers each, 5 right. The policy's 96 logits are made of 16
features without information on the labels, so each update also moves the other prompts. PACS is sampled
and balanced, with 8 responses a prompt, two updates a step, Adam (reset with the reference), and {seeds} seeds
(`python -m recipes.theory ranking`, results in `recipes/theory/ranking.json`). Measures are exact, averaged
over seeds, at the last step before a reset. The gap is E[r | right] - E[r | wrong] at beta 1 in nats. The
accuracy is the chance that a right sample has a higher score than a wrong one to the same prompt; brackets
have the number of seeds below 1/2. Learning rate {lr:g}:
"""
RATES = """
Accuracy at beta 1 by learning rate (step 100; 200; 400):
"""
SAYS = """
- **Without resets the ranking improves steadily** at both betas: the first part contains all that
  was learned.
  The calibration error of sigma(psi) on mixed groups (ten bins, groups of two) falls to {error:.2f} with
  beta 1; with beta 0.1 it is {small_error:.2f}. With K = 20 it rises to {twenty_error:.2f}.
- **With K = 20** accuracy is {twenty} at steps {marks} (± s.e.). A
  reset removes what was learned before it. At step {first} the {turned} seeds with a gap below 0 have a
  first part of {odds_turned:+.2f} and a KL_wrong of {wrong_turned:.2f}. At step {lowest} the first part
  is {odds:+.2f}: pass rates have fallen since the reset where most mixed groups are.
- **A beta of 0.1 does not help.** At a rate of 0.03 the effect comes late or not at all.
- **No loss of pass rate was visible.** The differences to no resets ({never_rate:.3f}) at step 400 are {ends}
  (paired by seed, 95% intervals, Student's t). At the lower rates each K ended
  higher than no resets, by {ahead}.
- **Measure calibration on mixed groups.** In single-class groups its error is {single_low:.2f} to
  {single_high:.2f}, whatever was learned.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, BETAS)["runs"]
    lr = SETTINGS["learning_rates"].index(LR)
    rows, singles = [], []
    for beta in BETAS:
        for period in PERIODS:
            run = kept[beta][period]
            name = f"beta {beta}, {'never' if period == 'never' else f'K = {period}'}"
            if (beta, period) not in LEFT_OUT:
                rows.append([name, *(_cell(run, step, lr) for step in STEPS)])
            singles += [mean(run["single_error"], step, lr) for step in STEPS]
    twenty = kept["1.0"]["20"]
    rates = [
        [
            f"learning rate {rate}",
            *("; ".join(f"{mean(kept['1.0'][p]['accuracy'], s, i):.2f}" for s in (2, 3, 4)) for p in PERIODS),
        ]
        for i, rate in enumerate(SETTINGS["learning_rates"])
    ]
    seeds, steps = len(SETTINGS["seeds"]), [f"step {SETTINGS['steps'][step]}" for step in STEPS]
    lows = [mean(twenty["accuracy"], step, lr) for step in range(len(SETTINGS["steps"]))]
    at = lows.index(min(lows))
    gaps = [mean(twenty["gap"], step, lr) for step in range(len(lows))]
    first = next(step for step, gap in enumerate(gaps) if gap < 0)
    turned = [gap < 0 for gap in twenty["gap"][first][lr]]
    ends = {(period, i): pass_rate_gain(kept["1.0"], period, i) for period in RESET for i in range(lr + 1)}
    gains = [ends[period, i][0] for period in RESET for i in range(lr)]
    says = SAYS.format(
        error=mean(kept["1.0"]["never"]["mixed_error"], 4, lr),
        small_error=mean(kept["0.1"]["never"]["mixed_error"], 4, lr),
        twenty_error=max(mean(twenty["mixed_error"], step, lr) for step in STEPS),
        single_low=min(singles),
        single_high=max(singles),
        twenty=accuracies(twenty, range(len(lows)), lr),
        marks=", ".join(map(str, SETTINGS["steps"])),
        odds=mean(twenty["odds"], at, lr),
        lowest=SETTINGS["steps"][at],
        first=SETTINGS["steps"][first],
        turned=sum(turned),
        odds_turned=fmean(compress(twenty["odds"][first][lr], turned)),
        wrong_turned=fmean(compress(twenty["kl_wrong"][first][lr], turned)),
        never_rate=mean(kept["1.0"]["never"]["pass_rate"], 4, lr),
        ends=",\n  ".join("K = {} {:+.3f} [{:+.3f}, {:+.3f}]".format(period, *ends[period, lr]) for period in RESET),
        ahead=f"{min(gains):.3f} to {max(gains):.3f}",
    )
    return "\n".join(
        [
            IDENTITY.format(seeds=seeds, lr=LR),
            table(["pass rate; gap; accuracy", *steps], rows),
            RATES,
            table(["K", *PERIODS], rates),
            says,
        ]
    )


def mean(values: Any, step: int, lr: int) -> float:
    """Over seeds."""
    seeds = values[step][lr]
    return float(sum(seeds) / len(seeds))


def pass_rate_gain(runs: dict[str, Any], period: str, lr: int) -> tuple[float, float, float]:
    """Pass rate at the last mark less that of K never: mean over seeds, and its 95% interval, paired by seed."""
    return interval(*(runs[each]["pass_rate"][-1][lr] for each in (period, "never")))


def accuracies(run: dict[str, Any], steps: Iterable[int], lr: int) -> str:
    """Means at these marks ± their standard errors over seeds."""
    found = run["accuracy"]
    return ", ".join(f"{mean(found, step, lr):.2f} ± {standard_error(found[step][lr]):.2f}" for step in steps)


def _below(values: Any, step: int, lr: int) -> int:
    return sum(value < 0.5 for value in values[step][lr])


def _cell(run: dict[str, Any], step: int, lr: int) -> str:
    rate, gap, accuracy = (mean(run[key], step, lr) for key in ("pass_rate", "gap", "accuracy"))
    return f"{rate:.2f}; {gap:.2f}; {accuracy:.2f} ({_below(run['accuracy'], step, lr)})"
