"""What is drawn: `PANELS`."""

from typing import get_args

from pacs.report import calibration, validation
from pacs.report.findings import change, distance, in_thirds, phases, separation, shares, typical
from pacs.report.panel import Curve, Panel
from pacs.report.trends import share
from pacs.rewards.verdict import Status
from pacs.verl_keys.metrics import (
    ENTROPY,
    GRADIENT_NORM,
    PHASES,
    RESPONSE_LENGTH,
    SCORE,
    STEP_SECONDS,
    VALIDATION_MEANS,
)

GROUPS = {
    "pacs/groups/all_correct_fraction": "all right",
    "pacs/groups/all_wrong_fraction": "all wrong",
    "pacs/groups/mixed_fraction": "mixed",
}
STATUSES = {f"pacs/verifier/{status}_fraction": status.replace("_", " ") for status in (*get_args(Status), "other")}

PANELS = (
    Panel(
        name="pass_rate",
        quantity="Right answers in training",
        unit="share of responses",
        curves=(Curve(SCORE),),
        finding=change(SCORE, "Right answers in training", form=share),
        reading="The share of the step's sampled responses that the verifier accepts.",
        is_share=True,
        graded=Panel(
            name="pass_rate",
            quantity="Mean score in training",
            unit="mean score of a response",
            curves=(Curve(SCORE),),
            finding=change(SCORE, "Mean score in training"),
            reading="The mean of the scores that the reward function gave to the step's sampled responses. Some are "
            "neither 0 nor 1: it is no share of right answers.",
        ),
    ),
    Panel(
        name="validation",
        quantity="Right answers on held-out problems",
        unit="share of problems",
        curves=(Curve(validation.PASS_AT_K),),
        finding=validation.outcome(validation.PASS_AT_K),
        reading="Unbiased pass@k of each data source, at every step that validates; step 0 is the policy before "
        "training.",
        kind="validation",
        is_share=True,
        graded=Panel(
            name="validation",
            quantity="Scores on held-out problems",
            unit="mean score",
            curves=(Curve(VALIDATION_MEANS),),
            finding=validation.outcome(VALIDATION_MEANS, "score"),
            reading="verl's mean@n of each data source: the mean score of n responses a problem. Some scores are "
            "neither 0 nor 1: it is no share of right answers.",
            kind="validation",
        ),
    ),
    Panel(
        name="entropy",
        quantity="Entropy of the policy",
        unit="nats a token",
        curves=(Curve(ENTROPY),),
        finding=change(ENTROPY, "Entropy", " nats a token"),
        reading="The mean entropy of the policy's distribution at the tokens it sampled. Near 0 it gives the same "
        "response again and again, and a group has nothing left to compare.",
    ),
    Panel(
        name="response_length",
        quantity="Length of a response",
        unit="mean, tokens",
        curves=(Curve(RESPONSE_LENGTH),),
        finding=change(RESPONSE_LENGTH, "Mean length of a response", " tokens"),
        reading="The mean length of the step's responses, truncated ones included.",
    ),
    Panel(
        name="scores",
        quantity="Scores of right and wrong responses",
        unit="median ψ, β × nats",
        curves=(
            Curve("pacs/score/correct_q50", "right", ("pacs/score/correct_q10", "pacs/score/correct_q90")),
            Curve("pacs/score/wrong_q50", "wrong", ("pacs/score/wrong_q10", "pacs/score/wrong_q90")),
        ),
        finding=separation(
            "pacs/score/correct_q50",
            "pacs/score/wrong_q50",
            "Median score",
            "Median of right less that of wrong scores",
        ),
        reading="The line is the median score of the class, the band holds its middle 80%. The loss drives the two "
        "apart; where the bands overlap, the score does not yet tell right from wrong.",
        beside=True,
        baseline=0.0,
        of_reference=True,
    ),
    Panel(
        name="lengths",
        quantity="Length of right and of wrong responses",
        unit="mean, tokens",
        curves=(
            Curve("pacs/response_tokens/correct_mean", "right"),
            Curve("pacs/response_tokens/wrong_mean", "wrong"),
        ),
        finding=separation(
            "pacs/response_tokens/correct_mean",
            "pacs/response_tokens/wrong_mean",
            "Mean length",
            "Mean length of right less that of wrong responses",
            " tokens",
        ),
        reading="Wrong responses are longer as a rule, truncated ones being wrong. Where right ones grow and no more "
        "are right, look for text behind the answer.",
        stands_for="scores",
    ),
    Panel(
        name="critic",
        quantity="The implicit critic: σ(ψ) against R",
        unit="mean, mixed groups",
        curves=(
            Curve("pacs/critic/accuracy_fraction", "accuracy"),
            Curve("pacs/critic/residual_mean", "residual |σ(ψ) − R|"),
            Curve("pacs/critic/calibration_error_mean", "ECE"),
        ),
        finding=in_thirds("pacs/critic/accuracy_fraction", "Accuracy of the implicit critic", form=share),
        reading="Accuracy: the sign of ψ is that of the verdict; 0.5 where the score knows nothing. Residual: what the "
        "gradient of a response is proportional to; the update vanishes with it. ECE: the expected calibration error. "
        "Groups of one class are left out: there is nothing to tell apart in them.",
        is_share=True,
        of_reference=True,
    ),
    Panel(
        name="advantage",
        quantity="Effective advantage of a response",
        unit="root mean square",
        curves=(Curve("pacs/effective_advantage_rms"),),
        finding=change("pacs/effective_advantage_rms", "The effective advantage"),
        reading="What a response's log-probability is multiplied by in the gradient, as a policy gradient has its "
        "advantage: the root of the mean square over the step's responses. Near 0 the update vanishes, for want of "
        "mixed groups or by saturated scores.",
        stands_for="critic",
    ),
    Panel(
        name="calibration",
        quantity="Calibration of the implicit critic",
        unit="share that is right",
        curves=tuple(
            Curve(key.format("*")) for key in (calibration.ROWS, calibration.PROBABILITY, calibration.CORRECT)
        ),
        finding=calibration.finding,
        reading="Responses of mixed groups in ten bins of σ(ψ): on the diagonal σ(ψ) is the probability of being "
        "right. Above it the critic says too little, below too much. A point's area is its bin's share of the "
        "responses.",
        kind="reliability",
        is_share=True,
        of_reference=True,
    ),
    Panel(
        name="groups",
        quantity="Groups by what is right in them",
        unit="share of groups",
        curves=tuple(Curve(key, label) for key, label in GROUPS.items()),
        finding=shares("Groups", GROUPS, "pacs/groups/mixed_fraction"),
        reading="Where few are mixed: if most are all right, the problems are too easy for this policy; if most are "
        "all wrong, they are too hard, or the verifier refuses right answers.",
        kind="stack",
        beside=True,
        is_share=True,
        stands_for="calibration",
    ),
    Panel(
        name="log_ratio",
        quantity="Distance from the reference",
        unit="nats a response",
        curves=(Curve("pacs/log_ratio/sequence_mean"),),
        finding=distance("pacs/log_ratio/sequence_mean"),
        reading="The mean log-probability ratio of a response to the reference, on the policy's own samples an "
        "estimate of the KL divergence. A vertical line: after this step the reference was reset to the policy.",
        baseline=0.0,
        of_reference=True,
    ),
    Panel(
        name="rollout_gap",
        quantity="Gap between vLLM and trainer",
        unit="nats a token",
        curves=(Curve("pacs/rollout_gap/per_token"),),
        finding=typical("pacs/rollout_gap/per_token", "gap between vLLM and trainer", " nats a token"),
        reading="How far the log-probabilities of the two are apart at equal weights, in the mean over tokens. It "
        "should be as small as the arithmetic allows, and constant.",
        may_be_log=True,
        stands_for="log_ratio",
    ),
    Panel(
        name="update",
        quantity="What the update has to work with",
        unit="share",
        curves=(
            Curve("pacs/groups/mixed_fraction", "mixed groups"),
            Curve("pacs/saturated_fraction", "saturated rows"),
            Curve("pacs/gradient/clipped_fraction", "clipped updates"),
        ),
        finding=change("pacs/groups/mixed_fraction", "Share of mixed groups", form=share),
        reading="Only groups with right and wrong responses tell the two apart. A saturated row has next to no "
        "gradient. The norm of a clipped update is the clip's.",
        is_share=True,
    ),
    Panel(
        name="gradient_norm",
        quantity="Gradient norm before clipping",
        unit="L2 norm",
        curves=(Curve(GRADIENT_NORM),),
        finding=typical(GRADIENT_NORM, "gradient norm"),
        reading="The mean over the step's updates, before clipping. A score sums over a response's tokens, so that "
        "norms grow with the length of responses.",
        may_be_log=True,
    ),
    Panel(
        name="verifier",
        quantity="Verdicts on the responses",
        unit="share of responses",
        curves=tuple(Curve(key, label) for key, label in STATUSES.items()),
        finding=shares("Verdicts", STATUSES, "pacs/verifier/no_answer_fraction"),
        reading="What the verifier said, as shares of the step's responses.",
        kind="stack",
        beside=True,
        is_share=True,
    ),
    Panel(
        name="time",
        quantity="Time of a training step",
        unit="seconds",
        curves=tuple(Curve(key, label) for key, label in PHASES.items()),
        finding=phases(STEP_SECONDS, PHASES),
        reading="The phases of a step on each other, up to the whole step. One that validates or saves takes longer.",
        kind="stack",
        total=STEP_SECONDS,
        beside=True,
    ),
)
