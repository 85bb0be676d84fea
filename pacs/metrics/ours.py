"""Our metrics: what each is, what to expect of it, and what to do otherwise.

`reduce.py` computes those that have a column; the trainer writes the others.
"""

from pacs.metrics.entry import Metric

# What a metric is reduced over. Of the update's rows, one a response:
COUNTED = "the rows that count"
CORRECT = "the correct rows that count"
WRONG = "the wrong rows that count"
FRESH = "the rows that count in the step's first mini-batch"
BIN = "the rows that count with sigma(psi) in the bin"
UPDATED = "the rows of the step's updates, those that do not count among them"
# Of the sampled batch:
SAMPLED = "the sampled responses"
RESPONSES = "the sampled responses with others in their group"
CORRECT_RESPONSES = "the correct responses with others in their group"
WRONG_RESPONSES = "the wrong responses with others in their group"
GROUPS = "the groups of two or more responses"
# Of the step:
UPDATES = "the step's updates"

#: What a verifier says of a response; any other word is counted as `OTHER`.
STATUSES = ("correct", "wrong", "no_answer", "timeout", "error")
OTHER = "other"

_SHARE = "share, 0 to 1"
_NATS = "nats"
_PER_TOKEN = "nats a token"
_SCORE = "psi: beta * nats"

_LOSS = (
    Metric(
        name="pacs/loss_mean",
        column="loss",
        over=COUNTED,
        formula="`w_i * l_i`; the mean is L of Eq. 8, without the policy-gradient term of Eq. 5",
        unit=_NATS,
        healthy="log 2 = 0.693 where every score is 0 (the first mini-batch after the start and after a reset), then "
        "below it, and falling until the next reset. Groups of one class stay near 0.693, because the scores of a "
        "group sum to zero (not so with `pacs.estimator=none`).",
        remedy="Above 0.693 for many steps: the scores do worse than none would, by their order "
        "(`pacs/critic/accuracy_fraction`) or by being too sure (`pacs/critic/calibration_error_mean`). Lower "
        "`actor_rollout_ref.actor.optim.lr` or `pacs.beta`; look at `pacs/rollout_gap/per_token`.",
    ),
    Metric(
        name="pacs/residual_mean",
        column="residual",
        over=COUNTED,
        formula="`|sigma(psi_i) - R_i|`, what the gradient of a row is proportional to",
        unit=_SHARE,
        healthy="0.5: the scores know nothing, as right after a reset (and always with "
        "`pacs.reference.reset_every=1` and one update a step). Near 0: the scores agree with the labels and the "
        "update vanishes. In between, and falling, from one reset to the next. Groups of one class keep about 0.5, so "
        "that the mean does not fall below about half of 1 - `pacs/groups/mixed_fraction`.",
        remedy="Near that floor long before the next reset: reset more often (a smaller "
        "`pacs.reference.reset_every`, or `pacs.reference.reset_at_saturation`), or lower `pacs.beta`. At 0.5 for many "
        "steps after a reset: the policy does not leave the reference, so look at `pacs/log_ratio/sequence_std`, and "
        "raise `pacs.beta` or the learning rate.",
    ),
    Metric(
        name="pacs/saturated_fraction",
        column="saturated",
        over=COUNTED,
        formula="`|sigma(psi_i) - R_i| < 0.01`: the label is met with psi beyond log 99 = 4.6",
        unit=_SHARE,
        healthy="0 after a reset, then rising. A saturated row has less than a fiftieth of the residual it had at the "
        "reset: at a share of 0.5, half of the batch was sampled for almost nothing.",
        remedy="High long before the next reset: as for `pacs/residual_mean`. `pacs.reference.reset_at_saturation` "
        "resets at a share that you choose.",
    ),
)

_CRITIC = (
    Metric(
        name="pacs/critic/accuracy_fraction",
        column="accurate",
        over=COUNTED,
        formula="`(psi_i > 0) == (R_i = 1)`; a score of 0 predicts wrong",
        unit=_SHARE,
        healthy="Where all scores are 0 it is the share of wrong rows, whatever that is. Later above 0.5 and rising. "
        "It stays below 1 while there are groups of one class, whose scores have both signs. It is measured on "
        "fresh samples, so it says what the score knows of responses it was not trained on.",
        remedy="Below 0.5 in a batch of mostly mixed groups: the last updates moved the policy the wrong way on new "
        "samples. Lower the learning rate; check the verifier by reading `samples/`.",
    ),
    Metric(
        name="pacs/critic/calibration_error_mean",
        column="calibration_error",
        over=COUNTED,
        formula="`|mean sigma(psi) - share correct|` of the row's bin, of 10 equal bins of sigma(psi): the mean is the "
        "expected calibration error (ECE)",
        unit=_SHARE,
        healthy="0 where sigma(psi) is the probability of being right. Where all scores are 0 it is |0.5 - pass rate|. "
        "Balanced classes calibrate the score to as many right as wrong responses, so at a pass rate far from 0.5 "
        "some error remains.",
        remedy="High together with a high `pacs/critic/accuracy_fraction`: with a residual near 0.5 the scores are "
        "still too small, and time helps; with a small residual they are overconfident, so lower `pacs.beta`.",
    ),
    Metric(
        name="pacs/critic/bin_*/rows_count",
        column="counted",
        over=BIN,
        formula="sigma(psi_i) lies in the bin: `bin_0` is [0, 0.1), `bin_9` is [0.9, 1]. These three are the "
        "reliability diagram of `pacs report`, and `pacs/critic/calibration_error_mean` is the mean over the rows of "
        "the distance between the other two",
        unit="rows",
        healthy="All in `bin_5` where all scores are 0, then spreading to both ends.",
        remedy="Only at the ends: the scores are sure of everything; see `pacs/saturated_fraction`.",
    ),
    Metric(
        name="pacs/critic/bin_*/probability_mean",
        column="probability",
        over=BIN,
        formula="`sigma(psi_i)`",
        unit=_SHARE,
        healthy="Inside the bin, by definition.",
        remedy="Compare with `pacs/critic/bin_*/correct_fraction`.",
    ),
    Metric(
        name="pacs/critic/bin_*/correct_fraction",
        column="correct",
        over=BIN,
        formula="`R_i = 1`",
        unit=_SHARE,
        healthy="Equal to `pacs/critic/bin_*/probability_mean` where the score is calibrated.",
        remedy="As for `pacs/critic/calibration_error_mean`. A bin of few rows says little.",
    ),
)

_SCORES = (
    Metric(
        name="pacs/score/correct_mean",
        column="score",
        over=CORRECT,
        formula="`psi_i`",
        unit=_SCORE,
        healthy="0 at a reset, then positive and growing. The distance to `pacs/score/wrong_mean` is what the loss "
        "widens.",
        remedy="Negative for long: the policy moves away from right responses. Lower the learning rate; check "
        "`pacs/rollout_gap/per_token` and the verifier.",
    ),
    Metric(
        name="pacs/score/wrong_mean",
        column="score",
        over=WRONG,
        formula="`psi_i`",
        unit=_SCORE,
        healthy="0 at a reset, then negative and falling.",
        remedy="Positive for long: as for `pacs/score/correct_mean`.",
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_std",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=_SCORE,
            healthy="0 at a reset. A score sums over tokens, so its spread grows with the length of the responses. At "
            "best no larger than the distance between `pacs/score/correct_mean` and `pacs/score/wrong_mean`.",
            remedy="Many times that distance: the score is mostly noise of long responses. Set "
            "`pacs.normalize_by_length=true`, or lower `pacs.beta`.",
        )
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_{end}",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=_SCORE,
            healthy=healthy,
            remedy="Far from all others: look for a response of unusual length or content in `samples/`. A single one "
            "does no harm: the loss's gradient in psi is never larger than the row's weight.",
        )
        for label, end, over, healthy in (
            ("correct", "min", CORRECT, "The right response that the score is most wrong about; below 0 as a rule."),
            ("correct", "max", CORRECT, "The right response that is surest; above 4.6 it is saturated."),
            ("wrong", "min", WRONG, "The wrong response that is surest; below -4.6 it is saturated."),
            ("wrong", "max", WRONG, "The wrong response that the score is most wrong about; above 0 as a rule."),
        )
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_{quantile}",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=_SCORE,
            healthy=f"0 at a reset, then as `pacs/score/{label}_mean`, without the weight that single responses have "
            "in a mean.",
            remedy=f"As for `pacs/score/{label}_mean`.",
        )
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
        for quantile in ("q10", "q50", "q90")
    ),
)

_UPDATE = (
    Metric(
        name="pacs/effective_advantage_rms",
        column="effective_advantage",
        over=COUNTED,
        formula="`A_i = -N * dL/dlog pi` of any of the response's tokens",
        unit="none",
        healthy="In a group of G with half of it right, `beta/2 * G/(G-1)` where all scores are 0 (0 in a group of one "
        "class), then falling as the residual falls. With `pacs.normalize_by_length` it is that divided by the "
        "response's length.",
        remedy="Near 0: the update vanishes, by saturation (`pacs/saturated_fraction`) or for lack of mixed groups "
        "(`pacs/groups/mixed_fraction`).",
    ),
    Metric(
        name="pacs/grpo_fallback_fraction",
        column="grpo_fallback",
        over=COUNTED,
        formula="the group's standard deviation of r is below 1e-3, so that `dr_grpo` stands in for `grpo`",
        unit=_SHARE,
        healthy="0 with every estimator but `grpo`. With it, 1 in the first mini-batch after a reset, then near 0.",
        remedy="High in other steps: the rewards hardly differ. Use `pacs.estimator=rloo`, raise `pacs.beta`, or reset "
        "less often.",
    ),
    Metric(
        name="pacs/gradient/norm_max",
        over=UPDATES,
        formula="L2 norm of an update's gradient over all parameters and ranks, before clipping; not a number if one "
        "was not",
        unit="none",
        healthy="Of the size of `actor/grad_norm`, which is the mean of the same norms. It scales with `pacs.beta` and "
        "with the length of the responses.",
        remedy="Many times the mean, again and again: single mini-batches dominate. Leave "
        "`actor_rollout_ref.actor.optim.clip_grad` on, use larger mini-batches "
        "(`actor_rollout_ref.actor.ppo_mini_batch_size`), look for outliers in `pacs/score/correct_min` and "
        "`pacs/rollout_gap/worst_max`.",
    ),
    Metric(
        name="pacs/gradient/clipped_fraction",
        over=UPDATES,
        formula="the gradient's norm exceeded `actor_rollout_ref.actor.optim.clip_grad`",
        unit=_SHARE,
        healthy="Near 0: the clip acts on outliers. Near 1, the gradient's length is the clip's and not the loss's: "
        "every update weighs the same, and neither `pacs.beta` nor a falling residual makes it smaller until the norm "
        "is below the clip.",
        remedy="High: raise `actor_rollout_ref.actor.optim.clip_grad` above the usual `actor/grad_norm` (norms grow "
        "with the length of the responses, since a score sums over tokens). With Adam the learning rate can stay.",
    ),
    Metric(
        name="pacs/gradient/skipped_count",
        over=UPDATES,
        formula="the gradient's norm was not finite, so that verl skipped the update",
        unit="updates",
        healthy="0.",
        remedy="A single one leaves weights and optimizer as they were. Again and again: the policy no longer gives "
        "finite gradients, and after `pacs.faults.skipped_updates` in a row the run stops, under PACS with what it saw "
        "in `poison/`, for `pacs inspect`. Go back to a checkpoint from before, and lower the learning rate; look at "
        "`pacs/rows/not_finite_count`, and at `pacs/gradient/norm_max` and `pacs/rollout_gap/worst_max` of the steps "
        "before.",
    ),
    Metric(
        name="pacs/gradient/critic_skipped_count",
        over=UPDATES,
        formula="PPO: as `pacs/gradient/skipped_count`, of the critic's updates",
        unit="updates",
        healthy="0.",
        remedy="As for `pacs/gradient/skipped_count`, with `critic.optim.lr`.",
    ),
    Metric(
        name="pacs/rows/not_finite_count",
        column="not_finite",
        over=UPDATED,
        formula="the log-ratio, or another value of the row, is not finite. One such log-ratio makes the scores of its "
        "whole group so. The other metrics leave these rows out",
        unit="rows",
        healthy="0.",
        remedy="Together with `pacs/gradient/skipped_count`: the policy or the reference gives log-probabilities that "
        "are not finite; `pacs inspect` says which, once the run has stopped. Without it: only the entropy, or vLLM's "
        "log-probabilities, are not, and the update was made.",
    ),
    Metric(
        name="pacs/update/learning_rate_mean",
        over=UPDATES,
        formula="the learning rate an update was made with",
        unit="none",
        healthy="`actor_rollout_ref.actor.optim.lr` by verl's schedule, and a part of it in the first "
        "`pacs.reference.warmup_steps` steps after a reset; `actor/lr` is the rate of the next step.",
        remedy="Another value: compare the run's `config.yaml` with what you meant.",
    ),
    Metric(
        name="pacs/update/cached_fraction",
        over="the step's mini-batches",
        formula="updated with the strategy `cached`: scores first, then a gradient pass in any micro-batches",
        unit=_SHARE,
        healthy="1 with `pacs.update.strategy=cached`, 0 with `grouped`; with `auto`, 1 in steps of which a group does "
        "not fit one micro-batch (the run's log says why). The gradient is the same either way; `cached` costs "
        "`timing_s/policy_pass`.",
        remedy="1 where you want 0: give a group room in one micro-batch, with a larger "
        "`actor_rollout_ref.actor.ppo_max_token_len_per_gpu` or "
        "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`.",
    ),
)

_REFERENCE = (
    Metric(
        name="pacs/log_ratio/sequence_mean",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`, without beta: estimates KL(policy || reference) of a "
        "response",
        unit=_NATS,
        healthy="0 at a reset, then positive: on the policy's own samples its expectation is a KL divergence. Grows "
        "with the number of updates since the reset, and with length.",
        remedy="Negative for many steps: the responses are not the policy's own (look at `pacs/rollout_gap/per_token` "
        "and `training/off_policy/trajectory_staleness/mean`), or the reference is broken. Larger than you want: "
        "`pacs.reference.reset_at_log_ratio`, or a smaller `pacs.reference.reset_every`.",
    ),
    Metric(
        name="pacs/log_ratio/sequence_std",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`",
        unit=_NATS,
        healthy="0 at a reset, then growing. Times beta it is the scale of the scores: beyond about 4.6 / beta many "
        "rows are saturated.",
        remedy="Far beyond: as for `pacs/residual_mean`. 0 although no reset was near: the reference follows the "
        "policy, or the learning rate is too small for the weights' precision.",
    ),
    Metric(
        name="pacs/log_ratio/per_token",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`",
        unit=_PER_TOKEN,
        healthy="As `pacs/log_ratio/sequence_mean`, but comparable between runs of different lengths.",
        remedy="As for `pacs/log_ratio/sequence_mean`. Flat while the sum grows: only the responses grow.",
    ),
    Metric(
        name="pacs/reference/reset_count",
        over=UPDATES,
        formula="the reference became the policy after it; 1 in a step after whose last update that happened, else 0",
        unit="resets",
        healthy="1 every `pacs.reference.reset_every` steps, and where a trigger fired.",
        remedy="Never 1: K is longer than the run, so the reference is the initial policy throughout. At every step, "
        "unasked: a trigger is set too low (`pacs.reference.reset_at_saturation`, "
        "`pacs.reference.reset_at_log_ratio`).",
    ),
)

_POLICY = (
    Metric(
        name="actor/entropy",
        column="entropy",
        over=COUNTED,
        reduced_by="per_token",
        formula="entropy of the policy's distribution at each token of the response. The name is verl's, so that runs "
        "of PPO and GRPO can be laid over: verl takes it before the step's first update over all responses, we at the "
        "weights of each mini-batch. Logged every `pacs.metrics.entropy_every` steps",
        unit=_PER_TOKEN,
        healthy="Falls as the policy learns. How far is the task's: 0 is a policy that always gives the same response.",
        remedy="Near 0 while `critic/score/mean` is far from 1: the responses of a group are alike and nothing is left "
        "to compare. Go back, and lower the learning rate, reset less often, or raise "
        "`actor_rollout_ref.rollout.temperature`. Rising while the pass rate falls: the policy drifts to noise; "
        "lower the learning rate.",
    ),
    Metric(
        name="pacs/rollout_gap/per_token",
        column="rollout_gap",
        over=FRESH,
        formula="`sum_t m_it * |log pi of vLLM - log pi of the trainer|`, at the weights that vLLM sampled with",
        unit=_PER_TOKEN,
        healthy="As small as the arithmetic allows, and constant. In fp32 on the CPU stack 4e-7 (quickstart). In bf16, "
        "0.01 to 0.05 is usual elsewhere; we have not measured it.",
        remedy="Much larger, or growing: the two do not compute the same policy. After a change of weights: the "
        "transfer to vLLM. From the first step: another dtype (`actor_rollout_ref.rollout.dtype`), temperature, top-p "
        "or top-k, or another attention or kernel.",
    ),
    Metric(
        name="pacs/rollout_gap/worst_max",
        column="rollout_gap_worst",
        over=FRESH,
        formula="the largest `|log pi of vLLM - log pi of the trainer|` of a response's tokens",
        unit=_NATS,
        healthy="Larger than the mean by far (3e-5 in the quickstart): an unlikely token has a log-probability of low "
        "precision.",
        remedy="Growing over the run while the mean does not: read the responses it may come from, repeated or foreign "
        "text as a rule. Large together with the mean: as for `pacs/rollout_gap/per_token`.",
    ),
)

_BATCH = (
    Metric(
        name="pacs/groups/mixed_fraction",
        column="mixed",
        over=GROUPS,
        formula="both classes occur in the group",
        unit=_SHARE,
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
        unit=_SHARE,
        healthy="Rises as the policy learns.",
        remedy="Most of the groups: the data are too easy by now. Take harder prompts.",
    ),
    Metric(
        name="pacs/groups/all_wrong_fraction",
        column="all_wrong",
        over=GROUPS,
        formula="all responses of the group are wrong",
        unit=_SHARE,
        healthy="Falls as the policy learns.",
        remedy="Most of the groups from the start: the prompts are too hard, or the verifier refuses right answers: "
        "look at `pacs/verifier/no_answer_fraction` and at `pacs/truncated_fraction`, and read `samples/`.",
    ),
    Metric(
        name="pacs/rows/correct_count",
        column="correct",
        over=RESPONSES,
        formula="`R_i = 1`",
        unit="responses",
        healthy="With the next two it adds up to the responses that were sampled: the train batch times "
        "`actor_rollout_ref.rollout.n`, less those that failed.",
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
        unit=_SHARE,
        healthy="Small. A truncated response has no final answer as a rule and is labelled wrong for its length, not "
        "for its reasoning: this teaches brevity.",
        remedy="High or rising: raise `data.max_response_length`, or leave out prompts that need more.",
    ),
    Metric(
        name="pacs/truncated/correct_fraction",
        column="truncated",
        over=CORRECT_RESPONSES,
        formula="the response was stopped by `data.max_response_length`",
        unit=_SHARE,
        healthy="0: a right response ends after its answer.",
        remedy="Above 0 and rising: the policy goes on after its answer, and nothing in the labels tells it to stop. "
        "Read `samples/`; a verifier may demand that the answer comes last.",
    ),
)

_VERIFIER = tuple(
    Metric(
        name=f"pacs/verifier/{status}_fraction",
        column=f"status_{status}",
        over=RESPONSES,
        formula=formula,
        unit=_SHARE,
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

_VALIDATION = (
    Metric(
        name="pacs/validation/*/pass@*",
        reduced_by="mean",
        over="the source's problems",
        formula="`pacs/validation/SOURCE/pass@k`: the unbiased estimate 1 - C(n-c, k) / C(n, k) from the n = "
        "`actor_rollout_ref.rollout.val_kwargs.n` responses to a problem of which c have the score 1, for each power "
        "of two k <= n; what `pacs evaluate` reports. A response whose rollout failed counts as wrong",
        unit=_SHARE,
        healthy="pass@1 rises; the largest k, what the policy can reach at all, does not fall.",
        remedy="pass@1 rises while the largest k falls: the policy narrows to what it could do already; see "
        "`actor/entropy`. Flat: see `critic/score/mean`. A few problems or responses make it jump: raise "
        "`data.val_max_samples` or `actor_rollout_ref.rollout.val_kwargs.n`.",
    ),
)

#: Title of a section -> its metrics.
OURS: dict[str, tuple[Metric, ...]] = {
    "The loss": _LOSS,
    "The score as a critic": _CRITIC,
    "Scores by verdict": _SCORES,
    "The update": _UPDATE,
    "The reference": _REFERENCE,
    "The policy": _POLICY,
    "The sampled batch": _BATCH,
    "The verifier": _VERIFIER,
    "Validation": _VALIDATION,
}
