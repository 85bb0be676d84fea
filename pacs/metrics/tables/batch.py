"""The sampled batch, the verifier's verdicts, validation."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import (
    CORRECT_RESPONSES,
    FIRST,
    GENERATED,
    GROUPS,
    RESPONSES,
    SAID,
    SAMPLED,
    SHARE,
    WRONG_RESPONSES,
)

GROUPS_OF_BATCH = (
    Metric(
        name="pacs/groups/mixed_fraction",
        column="mixed",
        over=GROUPS,
        formula="right and wrong responses in the group",
        unit=SHARE,
        healthy="The only groups that tell right from wrong. 1 - p^G - (1-p)^G if every prompt has pass rate p, else "
        "less.",
        remedy="Low: data too easy or too hard. Filter them, raise `actor_rollout_ref.rollout.n`, or drop the others "
        "(`method.single_class_groups=drop`).",
    ),
    Metric(
        name="pacs/groups/all_correct_fraction",
        column="all_correct",
        over=GROUPS,
        formula="all right",
        unit=SHARE,
        healthy="Rises.",
        remedy="Most groups: take harder prompts.",
    ),
    Metric(
        name="pacs/groups/all_wrong_fraction",
        column="all_wrong",
        over=GROUPS,
        formula="all wrong",
        unit=SHARE,
        healthy="Falls.",
        remedy="Most from the start: prompts too hard, or right answers refused. See "
        "`pacs/verifier/no_answer_fraction`, `samples/`.",
    ),
)

RESPONSES_OF_BATCH = (
    Metric(
        name="pacs/rows/correct_count",
        column="correct",
        over=RESPONSES,
        formula="`R_i = 1`",
        unit="responses",
        healthy="With the wrong and alone ones: train batch times `actor_rollout_ref.rollout.n`, less failed; more "
        "with DARS.",
        remedy="0: nothing to learn from.",
    ),
    Metric(
        name="pacs/rows/wrong_count",
        column="wrong",
        over=RESPONSES,
        formula="`R_i = 0`",
        unit="responses",
        healthy="See above.",
        remedy="0: data too easy.",
    ),
    Metric(
        name="pacs/rows/graded_count",
        column="graded",
        over=RESPONSES,
        formula="score neither 0 nor 1",
        unit="responses",
        healthy="0 with the verifiers here.",
        remedy="Above 0: your reward function grades, and `critic/score/mean` is no pass rate. Set a threshold if "
        "right and wrong are meant.",
    ),
    Metric(
        name="pacs/rows/alone_count",
        column="alone",
        over=SAMPLED,
        formula="dropped for want of others in its group (1; with `method.estimator=grpo` 2, `none` 0)",
        unit="responses",
        healthy="0.",
        remedy="Above 0: rollouts fail; see vLLM's or the reward worker's error in the run's log.",
    ),
    Metric(
        name="pacs/response_tokens/generated_sum",
        over=GENERATED,
        formula="tokens, also of groups that DAPO threw away; for `pacs report --over tokens`",
        unit="tokens",
        healthy="Prompts times `actor_rollout_ref.rollout.n` times mean length; more with DARS.",
        remedy="None needed.",
    ),
    Metric(
        name="pacs/response_tokens/correct_mean",
        column="tokens",
        over=CORRECT_RESPONSES,
        formula="tokens",
        unit="tokens",
        healthy="Usually below that of wrong ones.",
        remedy="Growing at a constant pass rate: look for text after the answer in `samples/`.",
    ),
    Metric(
        name="pacs/response_tokens/wrong_mean",
        column="tokens",
        over=WRONG_RESPONSES,
        formula="tokens",
        unit="tokens",
        healthy="Depends on the task.",
        remedy="Near `data.max_response_length`: most are truncated.",
    ),
    Metric(
        name="pacs/truncated_fraction",
        column="truncated",
        over=FIRST,
        formula="stopped by `data.max_response_length`",
        unit=SHARE,
        healthy="Small. Truncated responses are wrong for their length: this teaches brevity.",
        remedy="High or rising: raise that limit, or leave out prompts that need more.",
    ),
    Metric(
        name="pacs/truncated/correct_fraction",
        column="truncated",
        over=CORRECT_RESPONSES,
        formula="the same",
        unit=SHARE,
        healthy="0.",
        remedy="Rising: the policy goes on after its answer. Read `samples/`; a verifier may demand that the answer "
        "comes last.",
    ),
    Metric(
        name="pacs/reasoning/unfinished_fraction",
        column="unfinished",
        over=FIRST,
        formula="ended within its reasoning (`run.reasoning.delimiters`): no answer",
        unit=SHARE,
        healthy="0 without marked reasoning, else small.",
        remedy="High: raise `data.max_response_length`. Above `pacs/truncated_fraction`: check the delimiters, which "
        "the dry-run prints.",
    ),
    Metric(
        name="pacs/reward/*/mean",
        over=SAID,
        formula='a number returned beside the score: `{"score": 0.4, "format": 0.5}` gives `pacs/reward/format/mean`; '
        "true is 1. Also of verl's reward managers (`overlong_reward`)",
        unit="the function's",
        healthy="Absent with the verifiers here. All rise with `critic/score/mean`.",
        remedy="One alone rises: it is the easiest to earn. A name is missing: no response had a number there.",
    ),
)

VERIFIER = tuple(
    Metric(
        name=f"pacs/verifier/{status}_fraction",
        column=f"status_{status}",
        over=FIRST,
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
            "Different: scores are not 1 exactly where the status is `correct`.",
        ),
        (
            "wrong",
            "the answer is wrong",
            "Falls.",
            "High from the start: the verifier may miss equal forms; compare a few by hand.",
        ),
        (
            "unevaluated",
            "the answer still has to be calculated (`47+38` for 85): score 0. With `math.accept_unevaluated` it is "
            "`correct` if its value is right",
            "0, or falling.",
            "High or rising: the prompt may not say that a value is asked for. Read `samples/`.",
        ),
        (
            "no_answer",
            "no answer was found",
            "Falls quickly: the form is learned first.",
            "High for many steps: the prompt does not ask for the verifier's form, or responses are truncated.",
        ),
        (
            "timeout",
            "the comparison took too long; counts as wrong",
            "Nearly 0.",
            "Rising: the policy writes expressions that the verifier cannot finish. Read `samples/`.",
        ),
        (
            "error",
            "the comparison failed",
            "Nearly 0.",
            "Above 0 from the start: ground truths cannot be parsed. Mend or drop them.",
        ),
        (
            "other",
            "another status",
            "0 with the verifiers here.",
            "Above 0: your verifier's names.",
        ),
    )
)

VALIDATION = (
    Metric(
        name="pacs/validation/*/pass@*",
        reduced_by="mean",
        over="the source's problems",
        formula="`pacs/validation/SOURCE/pass@k`, k the powers of two up to n: unbiased 1 - C(n-c, k) / C(n, k), c of "
        "n = `actor_rollout_ref.rollout.val_kwargs.n` responses with score 1. A failed rollout is wrong",
        unit=SHARE,
        healthy="pass@1 rises; the largest k, what the policy can reach, does not fall.",
        remedy="The largest k falls: the policy narrows, see `actor/entropy`. Jumping: raise `data.val_max_samples` "
        "or `actor_rollout_ref.rollout.val_kwargs.n`.",
    ),
    Metric(
        name="pacs/validation/*/graded_count",
        over="the source's responses",
        formula="score neither 0 nor 1; in place of the source's pass@k",
        unit="responses",
        healthy="Absent.",
        remedy="There: see `pacs/rows/graded_count`; the mean score is `val-core/SOURCE/*/mean@k`.",
    ),
)
