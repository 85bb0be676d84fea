"""What is drawn, as data: a `Panel` is one figure, and one of the overview's small multiples; `PANELS` are all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pacs.report import validation
from pacs.report.findings import Finding, change, phases, separation, share, shares
from pacs.report.run_groups import Group
from pacs.rewards.verdict import Status
from pacs.verl_keys import metrics as verl

#: The metrics that count scores other than 0 and 1, of training and of validation.
GRADED = "pacs/*/graded_count"


@dataclass(frozen=True)
class Curve:
    """One metric of a panel, or with a glob every metric that matches it."""

    key: str
    #: What the legend calls it.
    label: str = ""
    #: The metrics at the lower and the upper edge of a band around it.
    spread: tuple[str, str] | None = None
    #: Further metrics: what is drawn is the mean of all.
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One quantity, or some that belong together."""

    #: Of its file.
    name: str
    #: Its heading; the title of the figure is what was found.
    quantity: str
    #: Of the vertical axis.
    unit: str
    curves: tuple[Curve, ...]
    finding: Finding
    #: How to read it.
    reading: str
    kind: Literal["lines", "stack", "validation"] = "lines"
    #: The metric that the areas of a stack add up to; empty: they are all there is.
    total: str = ""
    #: One group fills the axes: several are drawn beside each other.
    beside: bool = False
    #: Values lie between 0 and 1, and the axis does not go beyond.
    is_share: bool = False
    #: A value worth a thin horizontal line.
    baseline: float | None = None
    #: A logarithmic axis where the values span decades.
    may_be_log: bool = False
    #: Nothing to see where the reference is the policy that sampled: scores are 0, but for the step's own updates.
    of_reference: bool = False
    #: Drawn instead where a run's reward function gave other scores than 0 and 1: what this panel says is not so.
    graded: "Panel | None" = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """All keys and globs that it reads."""
        total = (self.total,) if self.total else ()
        return (*(key for curve in self.curves for key in (curve.key, *curve.also, *(curve.spread or ()))), *total)


def for_overview(panels: Sequence[Panel], groups: Sequence[Group]) -> list[Panel]:
    """Those that the overview has: without what is about a reference that is always the policy that sampled.

    Args:
        panels: all that have data.
        groups: whose data.
    """

    def is_silent(panel: Panel) -> bool:
        having = [group for group in groups if any(group.keys(curve.key) for curve in panel.curves)]
        return panel.of_reference and all(group.reference_sampled for group in having)

    return [panel for panel in panels if not is_silent(panel)]


def as_scored(panel: Panel, groups: Sequence[Group]) -> Panel:
    """The panel, or what stands for it where the reward function gave a run scores other than 0 and 1."""
    runs = [run for group in groups for run in group.runs]
    is_graded = any(value > 0 for run in runs for key in run.keys(GRADED) for value in run.series(key).values)
    return panel.graded if panel.graded and is_graded else panel


GROUPS = {
    "pacs/groups/all_correct_fraction": "all right",
    "pacs/groups/all_wrong_fraction": "all wrong",
    "pacs/groups/mixed_fraction": "mixed",
}
STATUSES = {f"pacs/verifier/{status}_fraction": status.replace("_", " ") for status in (*get_args(Status), "other")}

# fmt: off
#: Of each its file, its heading, the unit and the curves; then what its title says, and how to read it.
PANELS = (
    Panel("pass_rate", "Right answers in training", "share of responses", (Curve(verl.SCORE),),
        change(verl.SCORE, "Right answers in training", form=share),
        "The share of the step's sampled responses that the verifier accepts.",
        is_share=True,
        graded=Panel("pass_rate", "Mean score in training", "mean score of a response", (Curve(verl.SCORE),),
            change(verl.SCORE, "Mean score in training"),
            "The mean of the scores that the reward function gave to the step's sampled responses. Some are neither 0 "
            "nor 1: it is no share of right answers.")),
    Panel("validation", "Right answers on held-out problems", "share of problems", (Curve(validation.PASS_AT_K),),
        validation.outcome(validation.PASS_AT_K),
        "Unbiased pass@k of each data source, at every step that validates; step 0 is the policy before training.",
        kind="validation", is_share=True,
        graded=Panel("validation", "Scores on held-out problems", "mean score", (Curve(verl.VALIDATION_MEANS),),
            validation.outcome(verl.VALIDATION_MEANS, "score"),
            "verl's mean@n of each data source: the mean score of n responses a problem. Some scores are neither 0 nor "
            "1: it is no share of right answers.",
            kind="validation")),
    Panel("entropy", "Entropy of the policy", "nats a token", (Curve(verl.ENTROPY),),
        change(verl.ENTROPY, "Entropy", " nats a token"),
        "The mean entropy of the policy's distribution at the tokens it sampled. Near 0 it gives the same response "
        "again and again, and a group has nothing left to compare."),
    Panel("response_length", "Length of a response", "mean, tokens", (Curve(verl.RESPONSE_LENGTH),),
        change(verl.RESPONSE_LENGTH, "Mean length of a response", " tokens"),
        "The mean length of the step's responses, truncated ones included."),
    Panel("scores", "Scores of right and wrong responses", "median ψ, β × nats",
        (Curve("pacs/score/correct_q50", "right", ("pacs/score/correct_q10", "pacs/score/correct_q90")),
         Curve("pacs/score/wrong_q50", "wrong", ("pacs/score/wrong_q10", "pacs/score/wrong_q90"))),
        separation("pacs/score/correct_q50", "pacs/score/wrong_q50", "Median score",
                   "Median of right less that of wrong scores"),
        "The line is the median score of the class, the band holds its middle 80%. The loss drives the two apart; "
        "where the bands overlap, the score does not yet tell right from wrong.",
        beside=True, baseline=0.0, of_reference=True),
    Panel("lengths", "Length of right and of wrong responses", "mean, tokens",
        (Curve("pacs/response_tokens/correct_mean", "right"), Curve("pacs/response_tokens/wrong_mean", "wrong")),
        separation("pacs/response_tokens/correct_mean", "pacs/response_tokens/wrong_mean", "Mean length",
                   "Mean length of right less that of wrong responses", " tokens"),
        "Wrong responses are longer as a rule, truncated ones being wrong. Where right ones grow and no more are "
        "right, look for text behind the answer."),
    Panel("effective_rank", "Effective rank of right and of wrong responses", "mean, directions",
        (Curve("pacs/effective_rank/rank_correct_mean", "right"),
         Curve("pacs/effective_rank/rank_wrong_mean", "wrong")),
        separation("pacs/effective_rank/rank_correct_mean", "pacs/effective_rank/rank_wrong_mean", "Effective rank",
                   "Mean effective rank of right less that of wrong responses"),
        "How many directions the hidden states of a response fill. It grows with the length of responses: read it "
        "beside that."),
    Panel("critic", "The implicit critic: σ(ψ) against R", "mean, mixed groups",
        (Curve("pacs/critic/accuracy_fraction", "accuracy"), Curve("pacs/critic/residual_mean", "residual |σ(ψ) − R|"),
         Curve("pacs/critic/calibration_error_mean", "ECE")),
        change("pacs/critic/accuracy_fraction", "Accuracy of the implicit critic", form=share),
        "Accuracy: the sign of ψ is that of the verdict; 0.5 where the score knows nothing. Residual: what the "
        "gradient of a response is proportional to; the update vanishes with it. ECE: the expected calibration error. "
        "Groups of one class are left out: there is nothing to tell apart in them.",
        is_share=True, of_reference=True),
    Panel("advantage", "Effective advantage of a response", "root mean square",
        (Curve("pacs/effective_advantage_rms"),),
        change("pacs/effective_advantage_rms", "The effective advantage"),
        "What a response's log-probability is multiplied by in the gradient, as a policy gradient has its advantage: "
        "the root of the mean square over the step's responses. Near 0 the update vanishes, for want of mixed groups "
        "or by saturated scores."),
    Panel("groups", "Groups by what is right in them", "share of groups",
        tuple(Curve(key, label) for key, label in GROUPS.items()),
        shares("Groups", GROUPS, "pacs/groups/mixed_fraction"),
        "Where few are mixed: if most are all right, the problems are too easy for this policy; if most are all wrong, "
        "they are too hard, or the verifier refuses right answers.",
        kind="stack", beside=True, is_share=True),
    Panel("generative_critic", "What the critic that writes text knows", "share of the outcomes' variance",
        (Curve("pacs/genac/explained_fraction"),),
        change("pacs/genac/explained_fraction", "Explained variance of the critic's scores", form=share),
        "Of the outcomes of a step's responses, by the critic's scores of their segments. At 0 it says as much as the "
        "pass rate, and below 0 less. (GenAC alone.)",
        baseline=0.0),
    Panel("log_ratio", "Distance from the reference", "nats a response", (Curve("pacs/log_ratio/sequence_mean"),),
        change("pacs/log_ratio/sequence_mean", "Distance from the reference", " nats a response"),
        "The mean log-probability ratio of a response to the reference, on the policy's own samples an estimate of the "
        "KL divergence. A vertical line: after this step the reference was reset to the policy.",
        baseline=0.0, of_reference=True),
    Panel("rollout_gap", "Gap between vLLM and trainer", "nats a token", (Curve("pacs/rollout_gap/per_token"),),
        change("pacs/rollout_gap/per_token", "Gap between vLLM and trainer", " nats a token"),
        "How far the log-probabilities of the two are apart at equal weights, in the mean over tokens. It should be as "
        "small as the arithmetic allows, and constant.",
        may_be_log=True),
    Panel("staleness", "Age of the responses", "steps, or versions",
        (Curve("pacs/partial/staleness_mean", "mean age"), Curve("pacs/partial/staleness_max", "largest age"),
         Curve("pacs/partial/versions_mean", "versions, mean")),
        change("pacs/partial/staleness_mean", "Age of the responses", " steps"),
        "With partial rollouts. Age: by how many steps the weights that wrote a response's first token are behind "
        "those that are trained. Versions: of the weights that wrote a part of a response, 1 where it was not "
        "interrupted. (run.rollouts.partial alone.)"),
    Panel("update", "What the update has to work with", "share",
        (Curve("pacs/groups/mixed_fraction", "mixed groups"), Curve("pacs/saturated_fraction", "saturated rows"),
         Curve("pacs/gradient/clipped_fraction", "clipped updates")),
        change("pacs/groups/mixed_fraction", "Share of mixed groups", form=share),
        "Only groups with right and wrong responses tell the two apart. A saturated row has next to no gradient. The "
        "norm of a clipped update is the clip's.",
        is_share=True),
    Panel("gradient_norm", "Gradient norm before clipping", "L2 norm", (Curve(verl.GRADIENT_NORM),),
        change(verl.GRADIENT_NORM, "Gradient norm"),
        "The mean over the step's updates, before clipping. A score sums over a response's tokens, so that norms grow "
        "with the length of responses.",
        may_be_log=True),
    Panel("verifier", "Verdicts on the responses", "share of responses",
        tuple(Curve(key, label) for key, label in STATUSES.items()),
        shares("Verdicts", STATUSES, "pacs/verifier/no_answer_fraction"),
        "What the verifier said, as shares of the step's responses.",
        kind="stack", beside=True, is_share=True),
    Panel("time", "Time of a training step", "seconds", tuple(Curve(key, label) for key, label in verl.PHASES.items()),
        phases(verl.STEP_SECONDS, verl.PHASES),
        "The phases of a step on each other, up to the whole step. One that validates or saves takes longer.",
        kind="stack", total=verl.STEP_SECONDS, beside=True),
)
