"""Our metrics that are reduced columns of tables; the trainer writes the others. docs/metrics.md says what each is."""

from dataclasses import dataclass
from typing import get_args

from pacs.rewards.verdict import Status
from pacs.verl_keys.metrics import ENTROPY

#: The last part of a metric's name: how it is reduced.
SUFFIXES = ("mean", "std", "min", "max", "sum", "count", "fraction", "rms", "q10", "q50", "q90", "per_token")

#: What a verifier says of a response; any other word is counted as `OTHER`.
STATUSES: tuple[str, ...] = get_args(Status)
OTHER = "other"

# What a metric is reduced over. Of the update's rows, one a response:
ACTIVE = "rows in N"
CORRECT = "correct rows in N"
WRONG = "wrong rows in N"
FRESH = "rows in N of the first mini-batch, guided ones left out"
MIXED = "rows in N of mixed groups"
BIN = "rows of the bin"
UPDATED = "all rows"
# Of the sampled batch:
SAMPLED = "all responses"
RESPONSES = "responses with others in their group"
FIRST = "responses with others in their group, DARS's further ones left out"
CORRECT_RESPONSES = "correct responses with others in their group"
WRONG_RESPONSES = "wrong responses with others in their group"
GROUPS = "groups of two or more responses"


@dataclass(frozen=True)
class Metric:
    """A metric of ours.

    Attributes:
        name: the key, or a glob for a family of keys.
        column: that is reduced.
        over: what it is reduced over, one of the selections of `reduce.py`.
        reduced_by: the suffix of a name that cannot end in it, because it is verl's.
    """

    name: str
    column: str
    over: str
    reduced_by: str = ""

    @property
    def suffix(self) -> str:
        """How it is reduced: one of `SUFFIXES`."""
        return self.reduced_by or next(end for end in SUFFIXES if self.name.endswith((f"/{end}", f"_{end}")))


METRICS = (
    # The loss.
    Metric("pacs/loss_mean", "loss", ACTIVE),
    Metric("pacs/residual_mean", "residual", ACTIVE),
    Metric("pacs/saturated_fraction", "saturated", ACTIVE),
    # The score as a critic, and by verdict.
    Metric("pacs/critic/accuracy_fraction", "accurate", MIXED),
    Metric("pacs/critic/calibration_error_mean", "calibration_error", MIXED),
    Metric("pacs/critic/residual_mean", "residual", MIXED),
    Metric("pacs/critic/bin_*/rows_count", "active", BIN),
    Metric("pacs/critic/bin_*/probability_mean", "probability", BIN),
    Metric("pacs/critic/bin_*/correct_fraction", "correct", BIN),
    *(
        Metric(f"pacs/score/{label}_{suffix}", "score", over)
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
        for suffix in ("mean", "std", "min", "max", "q10", "q50", "q90")
    ),
    # The update, the reference and the policy.
    Metric("pacs/effective_advantage_rms", "effective_advantage", ACTIVE),
    Metric("pacs/grpo_fallback_fraction", "grpo_fallback", ACTIVE),
    Metric("pacs/rows/not_finite_count", "not_finite", UPDATED),
    Metric("pacs/log_ratio/sequence_mean", "log_ratio", ACTIVE),
    Metric("pacs/log_ratio/sequence_std", "log_ratio", ACTIVE),
    Metric("pacs/log_ratio/per_token", "log_ratio", ACTIVE),
    Metric(ENTROPY, "entropy", ACTIVE, reduced_by="per_token"),
    Metric("pacs/rollout_gap/per_token", "rollout_gap", FRESH),
    Metric("pacs/rollout_gap/worst_max", "rollout_gap_worst", FRESH),
    Metric("pacs/correction/per_token", "correction", ACTIVE),
    Metric("pacs/correction/largest_max", "correction_largest", ACTIVE),
    Metric("pacs/correction/rejected_per_token", "rejected_tokens", ACTIVE),
    Metric("pacs/correction/effective_fraction", "correction_effective", ACTIVE),
    Metric("pacs/token_weight/per_token", "token_weight", ACTIVE),
    Metric("pacs/token_weight/carrying_per_token", "weighted_tokens", ACTIVE),
    Metric("pacs/token_weight/least_min", "token_weight_least", ACTIVE),
    Metric("pacs/token_weight/penalized_per_token", "penalized_tokens", ACTIVE),
    Metric("pacs/rlpr/answer_probability_mean", "answer_probability", ACTIVE),
    Metric("pacs/rlpr/answered_fraction", "answered", ACTIVE),
    # Groups and responses.
    Metric("pacs/groups/mixed_fraction", "mixed", GROUPS),
    Metric("pacs/groups/all_correct_fraction", "all_correct", GROUPS),
    Metric("pacs/groups/all_wrong_fraction", "all_wrong", GROUPS),
    Metric("pacs/dars/rescued_count", "rescued", GROUPS),
    Metric("pacs/dars/further_count", "further", RESPONSES),
    Metric("pacs/vine/steps_mean", "steps", RESPONSES),
    Metric("pacs/vine/completions_per_token", "completion_tokens", RESPONSES),
    Metric("pacs/vine/prefixes_per_token", "prefix_tokens", RESPONSES),
    Metric("pacs/vine/cached_per_token", "cached_tokens", RESPONSES),
    Metric("pacs/duplicates/responses_fraction", "duplicate", RESPONSES),
    Metric("pacs/duplicates/distinct_mean", "distinct", GROUPS),
    Metric("pacs/duplicates/repeated_per_token", "repeated_tokens", RESPONSES),
    Metric("pacs/duplicates/merged_per_token", "merged_tokens", ACTIVE),
    Metric("pacs/rows/correct_count", "correct", RESPONSES),
    Metric("pacs/rows/wrong_count", "wrong", RESPONSES),
    Metric("pacs/rows/graded_count", "graded", RESPONSES),
    Metric("pacs/rows/alone_count", "alone", SAMPLED),
    Metric("pacs/response_tokens/correct_mean", "tokens", CORRECT_RESPONSES),
    Metric("pacs/response_tokens/wrong_mean", "tokens", WRONG_RESPONSES),
    Metric("pacs/truncated_fraction", "truncated", FIRST),
    Metric("pacs/truncated/correct_fraction", "truncated", CORRECT_RESPONSES),
    Metric("pacs/reasoning/unfinished_fraction", "unfinished", FIRST),
    # Retries with guidance.
    Metric("pacs/guided/retries_mean", "retries", FIRST),
    Metric("pacs/guided/rescued_fraction", "rescued", RESPONSES),
    Metric("pacs/guided/prompts_fraction", "guided", GROUPS),
    # Several turns.
    Metric("pacs/turns/response_mean", "turns", FIRST),
    Metric("pacs/turns/response_max", "turns", FIRST),
    Metric("pacs/turns/cut_fraction", "cut", FIRST),
    Metric("pacs/turns/calls_mean", "calls", FIRST),
    Metric("pacs/turns/failed_calls_mean", "failed", FIRST),
    # The verifier.
    *(Metric(f"pacs/verifier/{status}_fraction", f"status_{status}", FIRST) for status in (*STATUSES, OTHER)),
)
