"""The sampled batch, the verifier's verdicts, validation."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import (
    CORRECT_RESPONSES,
    GENERATED,
    GROUPS,
    RESPONSES,
    SAID,
    SAMPLED,
    SHARE,
    WRONG_RESPONSES,
)

BATCH = (
    Metric(
        name="pacs/groups/mixed_fraction",
        column="mixed",
        over=GROUPS,
        formula="both classes occur in the group",
        unit=SHARE,
        healthy="Only these groups tell right from wrong. With a pass rate p on every prompt it is 1 - p^G - (1-p)^G; "
        "prompts of unequal difficulty give less.",
        remedy="Low: the data are too easy or too hard for this policy. Look which below; filter the data, or raise "
        "`actor_rollout_ref.rollout.n`. `pacs.single_class_groups=drop` keeps the others out of N.",
    ),
    Metric(
        name="pacs/groups/all_correct_fraction",
        column="all_correct",
        over=GROUPS,
        formula="all responses of the group are correct",
        unit=SHARE,
        healthy="Rises as the policy learns.",
        remedy="Most of the groups: the data are too easy by now. Take harder prompts.",
    ),
    Metric(
        name="pacs/groups/all_wrong_fraction",
        column="all_wrong",
        over=GROUPS,
        formula="all responses of the group are wrong",
        unit=SHARE,
        healthy="Falls as the policy learns.",
        remedy="Most of the groups from the start: the prompts are too hard, or the verifier refuses right answers: "
        "look at `pacs/verifier/no_answer_fraction` and at `pacs/truncated_fraction`, and read `samples/`.",
    ),
    Metric(
        name="pacs/rows/correct_count",
        column="correct",
        over=RESPONSES,
        formula="`R_i = 1`. Right and wrong are counted in steps whose scores are all 0 or 1; in any other step "
        "this metric, and all others of groups, of correct and of wrong responses, are left out",
        unit="responses",
        healthy="With `pacs/rows/wrong_count` and `pacs/rows/alone_count` it adds up to the responses that were "
        "sampled: the train batch times `actor_rollout_ref.rollout.n`, less those that failed.",
        remedy="0: there is nothing to learn from. See `pacs/groups/all_wrong_fraction`.",
    ),
    Metric(
        name="pacs/rows/wrong_count",
        column="wrong",
        over=RESPONSES,
        formula="`R_i = 0`",
        unit="responses",
        healthy="See `pacs/rows/correct_count`.",
        remedy="0: see `pacs/groups/all_correct_fraction`.",
    ),
    Metric(
        name="pacs/rows/graded_count",
        column="graded",
        over=RESPONSES,
        formula="the score is neither 0 nor 1: it is graded, and says not whether the response is right",
        unit="responses",
        healthy="0 with our verifiers, and under a method that refuses such a score.",
        remedy="Above 0: a reward function of your own gives graded scores. Then `critic/score/mean` is the mean "
        "score and no pass rate, and nothing is counted as right or wrong. Set a threshold to the scores if right and "
        "wrong are meant.",
    ),
    Metric(
        name="pacs/rows/alone_count",
        column="alone",
        over=SAMPLED,
        formula="so many responses of its group failed to be generated that there is nothing to compare it with (one "
        "other is needed, with `pacs.estimator=grpo` two, with `none` none), so that it is dropped",
        unit="responses",
        healthy="0.",
        remedy="Above 0: rollouts fail. The run's log has vLLM's or the reward worker's error.",
    ),
    Metric(
        name="pacs/response_tokens/generated_sum",
        over=GENERATED,
        formula="tokens of the response; with DAPO's filter groups that were sampled and thrown away count as well. "
        "`pacs report --over tokens` adds them up, so that methods are compared at equal tokens",
        unit="tokens",
        healthy="Prompts of a step times `actor_rollout_ref.rollout.n` times the mean length of a response.",
        remedy="See `pacs/response_tokens/wrong_mean`, and with DAPO `training/filter_groups/*`.",
    ),
    Metric(
        name="pacs/response_tokens/correct_mean",
        column="tokens",
        over=CORRECT_RESPONSES,
        formula="tokens of the response",
        unit="tokens",
        healthy="The task's. Usually below `pacs/response_tokens/wrong_mean`, which holds the truncated ones.",
        remedy="Growing without a rising pass rate: look for text after the answer in `samples/`.",
    ),
    Metric(
        name="pacs/response_tokens/wrong_mean",
        column="tokens",
        over=WRONG_RESPONSES,
        formula="tokens of the response",
        unit="tokens",
        healthy="The task's.",
        remedy="Near `data.max_response_length`: most wrong responses are truncated, see `pacs/truncated_fraction`.",
    ),
    Metric(
        name="pacs/truncated_fraction",
        column="truncated",
        over=RESPONSES,
        formula="the response was stopped by `data.max_response_length`",
        unit=SHARE,
        healthy="Small. A truncated response has no final answer as a rule and is labelled wrong for its length, not "
        "for its reasoning: this teaches brevity.",
        remedy="High or rising: raise `data.max_response_length`, or leave out prompts that need more.",
    ),
    Metric(
        name="pacs/reasoning/unfinished_fraction",
        column="unfinished",
        over=RESPONSES,
        formula="the response ended within its reasoning, by the model's delimiters (`pacs.reasoning.delimiters`): it "
        "has no answer, whatever stands in it",
        unit=SHARE,
        healthy="0 for a model that marks no reasoning; else small, and at most `pacs/truncated_fraction` as a rule.",
        remedy="High: responses are cut off while the model thinks: raise `data.max_response_length`. Above "
        "`pacs/truncated_fraction`: the model ends its turn without ending its reasoning; see whether the run's "
        "delimiters, which the dry-run prints, are the model's.",
    ),
    Metric(
        name="pacs/reward/*/mean",
        over=SAID,
        formula="`pacs/reward/NAME/mean`: what the reward function returned under a name beside the score: "
        '`{"score": 0.4, "format": 0.5}` gives `pacs/reward/format/mean`; true counts as 1. Also what a reward manager '
        "of verl's says, as `overlong_reward`",
        unit="the function's",
        healthy="Not there with our verifiers. Each part rises with the score, `critic/score/mean`.",
        remedy="One part rises while others stand still: it is the easiest to earn, and the others may be too rare or "
        "weigh too little. A name is missing: no response of the step had a number there.",
    ),
    Metric(
        name="pacs/truncated/correct_fraction",
        column="truncated",
        over=CORRECT_RESPONSES,
        formula="the response was stopped by `data.max_response_length`",
        unit=SHARE,
        healthy="0: a right response ends after its answer.",
        remedy="Above 0 and rising: the policy goes on after its answer, and nothing in the labels tells it to stop. "
        "Read `samples/`; a verifier may demand that the answer comes last.",
    ),
)

VERIFIER = tuple(
    Metric(
        name=f"pacs/verifier/{status}_fraction",
        column=f"status_{status}",
        over=RESPONSES,
        formula=formula,
        unit=SHARE,
        healthy=healthy,
        remedy=remedy,
    )
    for status, formula, healthy, remedy in (
        (
            "correct",
            "the answer is right",
            "The pass rate, as `critic/score/mean`.",
            "A clearly different value: the score is not 1 exactly where the status is `correct`.",
        ),
        (
            "wrong",
            "there is an answer, and it is wrong",
            "Falls as the policy learns.",
            "High from the start: compare a few by hand, the verifier may miss equal forms.",
        ),
        (
            "unevaluated",
            "the answer still has to be calculated (`47+38` for 85) where a value was asked for; it scores 0. With "
            "`math.accept_unevaluated` it is `correct` where its value is right",
            "0, or falling: the policy learns to calculate.",
            "High or rising: the policy writes the problem down instead of solving it, or the prompt leaves open that "
            "a value is asked for. Read `samples/`.",
        ),
        (
            "no_answer",
            "no answer was found in the response",
            "Falls quickly: the form of the answer is learned first.",
            "High for many steps: the prompt does not ask for the form that the verifier reads, or responses are "
            "truncated (`pacs/truncated_fraction`).",
        ),
        (
            "timeout",
            "the comparison took too long",
            "0, or nearly.",
            "Rising: the policy may have found expressions that the verifier cannot finish. They count as wrong; read "
            "`samples/`.",
        ),
        (
            "error",
            "the comparison failed",
            "0, or nearly.",
            "Above 0 from the start: ground truths that cannot be parsed. Mend or drop them; they label every response "
            "wrong.",
        ),
        (
            "other",
            "the verifier gave a status that is none of these",
            "0 with our verifiers.",
            "Above 0: a verifier of your own; the names above are the known ones.",
        ),
    )
)

VALIDATION = (
    Metric(
        name="pacs/validation/*/pass@*",
        reduced_by="mean",
        over="the source's problems",
        formula="`pacs/validation/SOURCE/pass@k`: the unbiased estimate 1 - C(n-c, k) / C(n, k) from the n = "
        "`actor_rollout_ref.rollout.val_kwargs.n` responses to a problem of which c have the score 1, for each power "
        "of two k <= n; what `pacs evaluate` reports. A response whose rollout failed counts as wrong",
        unit=SHARE,
        healthy="pass@1 rises; the largest k, what the policy can reach at all, does not fall.",
        remedy="pass@1 rises while the largest k falls: the policy narrows to what it could do already; see "
        "`actor/entropy`. Flat: see `critic/score/mean`. A few problems or responses make it jump: raise "
        "`data.val_max_samples` or `actor_rollout_ref.rollout.val_kwargs.n`.",
    ),
    Metric(
        name="pacs/validation/*/graded_count",
        over="the source's responses",
        formula="`pacs/validation/SOURCE/graded_count`, in the place of the source's pass@k: the score is neither 0 "
        "nor 1, so that it does not say whether the response is right",
        unit="responses",
        healthy="Not there.",
        remedy="There: see `pacs/rows/graded_count`. The source's mean score is `val-core/SOURCE/*/mean@k`.",
    ),
)
