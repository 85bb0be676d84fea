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
#: Nats; a gap within it is none.
SMALL_GAP = 0.02

IDENTITY = """\
## 4. Why the score can rank sampled responses the wrong way round

The mean log-ratio of what pi samples is KL(pi, pi_ref), which is never negative: on the mean, over right and wrong
responses together, what is sampled has become more likely. Between the classes there is an identity, which the test
holds to 1e-12 on random policies:

    E[r | right] - E[r | wrong] = beta * ( logit p - logit p_ref + KL_right - KL_wrong )

KL_right is the divergence of the policy given a right response from the reference given one; KL_wrong that given a
wrong one. The first part is what was learned since the last reset. KL_right and KL_wrong are each at most -log of the
smallest share that a response has within its class in the reference. In a language model the wrong class has very
unlikely members, so that its bound is loose: KL_wrong is large where the wrong responses that are left are others than
the reference would give. Where the first part is small or negative, a score can rank the wrong way round.

**An example.** 8 prompts, 12 answers each, 5 of them right; a policy whose 96 logits are made of 16 features that say
nothing of the labels, so that each update moves the other prompts, too. Sampled PACS, balanced, 8 responses a prompt,
two updates a step, Adam (forgotten at a reset); {seeds} seeds (`python -m recipes.theory ranking`, kept in
`recipes/theory/ranking.json`). Exact, on what the policy samples, at the last step before a reset, means over seeds:
gap is E[r | right] - E[r | wrong] at beta 1 in nats; accuracy the chance that of a right and a wrong sample to one
prompt the right one has the higher score; in brackets, in how many seeds it is below 1/2. Learning rate {lr:g}:
"""
PARTS = """
The parts of the gap at K = 20, beta 1, learning rate {lr:g}:
"""
RATES = """
Accuracy at beta 1 by learning rate (step 100; 200; 400):
"""
CALIBRATION = """
Calibration error of sigma(psi) by ten bins, groups of two, all groups enumerated (learning rate {lr:g}, steps 20;
100; 200; 400). In a group of one class the scores sum to zero, sigma(psi) is 1/2 on average whatever was learned, and
the label is 1 (or 0) for all: an error near 1/2 there says nothing of the critic, and a figure of all groups is
dominated by it where most are solved.
"""
SAYS = """
What this says, of this example alone:

- Never reset, the score ranks ever better ({never:.2f} at step 400), at both betas. The first part of the gap is the
  whole of what was learned, and stays. So it is not true that a score cannot rank on-policy, or that it cannot be
  calibrated: without resets and with beta 1 its error on mixed groups falls to {error:.2f}.
- With K = 20 accuracy is {twenty} at steps {marks} (± standard errors over seeds). At the lowest of these five marks it
  is below 1/2 in {count} of {seeds} seeds, at a pass rate of {rate:.2f}. The reset takes away what was learned before
  it, and once the reference itself solves the prompts little is left to learn. At step {first} seeds are on both sides:
  in the {turned} whose gap is below 0, logit p - logit p_ref (weighed by p (1 - p)) is {odds_turned:+.2f} and KL_wrong
  {wrong_turned:.2f}, so that both act; in the others it is {odds_others:+.2f}. At step {lowest} it is the first part,
  {odds:+.2f} and below 0 in {odds_count} of {seeds} seeds, while KL_wrong adds {wrong:.2f} of the {gap:.2f}: where most
  mixed groups are, pass rates have fallen since the reset, and what is sampled wrong there is what the updates made
  likely. At step {last} {nil} of {seeds} seeds have a gap within {small_gap} nats of 0, and their accuracy ranks
  differences of no size. Without resets no such turn was seen.
- When, and whether for good, differs by K, at the same marks: K = 5 has
  {five}; K = 100 comes to {hundred} at the last;
  K = 1 stays between {one_low:.2f} and {one_high:.2f}, and never really turns.
- A learning rate of 0.03 gets there late or not at all in 400 steps: what matters is how far the policy has come at
  the reset, and how large the steps after it are.
- A beta of 0.1 does not mend it by itself. At steps 100, 200 and 400 K = 20 has
  {small}, of which the last alone is above that with beta 1 ({large}); K = 100
  has {small_hundred}, which ends lower than with beta 1. Without resets it spoils the
  calibration.
- Pass rate at step 400 less that without resets ({never_rate:.3f}), paired by seed, with 95% intervals (Student's t):
  {ends}.
  No difference could be seen for K of 1 to 20; K = 100 ended {more:.3f} higher. At the two lower learning rates, where
  runs without resets had not come as far ({behind}), each K ended higher, by {ahead}. Where the score turns
  round, nearly all groups are of one class, and the update of the others is small.
"""


def section() -> str:
    """The section."""
    kept = read_runs(RESULTS, SETTINGS, BETAS)["runs"]
    lr = SETTINGS["learning_rates"].index(LR)
    rows, errors = [], []
    for beta in BETAS:
        for period in PERIODS:
            run = kept[beta][period]
            name = f"beta {beta}, {'never' if period == 'never' else f'K = {period}'}"
            rows.append([name, *(_cell(run, step, lr) for step in STEPS)])
            errors.append([name, *("; ".join(f"{mean(run[key], step, lr):.2f}" for step in STEPS) for key in ERRORS)])
    twenty = kept["1.0"]["20"]
    parts = [
        [name, *(f"{mean(twenty[key], step, lr):.2f}" for step in range(len(SETTINGS["steps"])))]
        for key, name in PARTS_OF.items()
    ]
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
    ones = [mean(kept["1.0"]["1"]["accuracy"], step, lr) for step in range(len(lows))]
    ends = {(period, i): pass_rate_gain(kept["1.0"], period, i) for period in RESET for i in range(lr + 1)}
    nevers = [mean(kept["1.0"]["never"]["pass_rate"], 4, i) for i in range(lr + 1)]
    gains = [ends[period, i][0] for period in RESET for i in range(lr)]
    says = SAYS.format(
        never=mean(kept["1.0"]["never"]["accuracy"], 4, lr),
        error=mean(kept["1.0"]["never"]["mixed_error"], 4, lr),
        twenty=accuracies(twenty, range(len(lows)), lr),
        marks=", ".join(map(str, SETTINGS["steps"])),
        count=_below(twenty["accuracy"], at, lr),
        seeds=seeds,
        rate=mean(twenty["pass_rate"], at, lr),
        five=accuracies(kept["1.0"]["5"], range(len(lows)), lr),
        hundred=accuracies(kept["1.0"]["100"], (4,), lr),
        one_low=min(ones),
        one_high=max(ones),
        odds=mean(twenty["odds"], at, lr),
        wrong=-mean(twenty["kl_wrong"], at, lr),
        gap=gaps[at],
        lowest=SETTINGS["steps"][at],
        odds_count=sum(value < 0 for value in twenty["odds"][at][lr]),
        first=SETTINGS["steps"][first],
        turned=sum(turned),
        odds_turned=fmean(compress(twenty["odds"][first][lr], turned)),
        wrong_turned=fmean(compress(twenty["kl_wrong"][first][lr], turned)),
        odds_others=fmean(compress(twenty["odds"][first][lr], [not each for each in turned])),
        last=SETTINGS["steps"][-1],
        nil=sum(abs(value) < SMALL_GAP for value in twenty["gap"][-1][lr]),
        small_gap=SMALL_GAP,
        small=accuracies(kept["0.1"]["20"], (2, 3, 4), lr),
        large=accuracies(twenty, (4,), lr),
        small_hundred=accuracies(kept["0.1"]["100"], (2, 3, 4), lr),
        never_rate=nevers[lr],
        ends=";\n  ".join("K = {} {:+.3f} [{:+.3f}, {:+.3f}]".format(period, *ends[period, lr]) for period in RESET),
        more=ends["100", lr][0],
        behind=", ".join(f"{rate:.3f}" for rate in nevers[:lr]),
        ahead=f"{min(gains):.3f} to {max(gains):.3f}",
    )
    return "\n".join(
        [
            IDENTITY.format(seeds=seeds, lr=LR),
            table(["pass rate; gap; accuracy", *steps], rows),
            PARTS.format(lr=LR),
            table(["part", *(f"step {step}" for step in SETTINGS["steps"])], parts),
            RATES,
            table(["K", *PERIODS], rates),
            CALIBRATION.format(lr=LR),
            table(["calibration error", "mixed groups", "groups of one class"], errors),
            says,
        ]
    )


ERRORS = ("mixed_error", "single_error")
PARTS_OF = {
    "odds": "logit p - logit p_ref",
    "kl_right": "KL_right",
    "kl_wrong": "KL_wrong",
    "gap": "gap",
    "pass_rate": "pass rate",
}


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
