"""The update, the reference, the policy."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import COUNTED, FRESH, NATS, PER_TOKEN, SHARE, UPDATED, UPDATES

UPDATE = (
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
        unit=SHARE,
        healthy="0 with every estimator but `grpo`. With it, 1 in the first mini-batch after a reset, then near 0, "
        "and growing as the responses of a group become alike.",
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
        unit=SHARE,
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
        "are not finite; `pacs inspect` says which, once the run has stopped. Without it the update was made: the rows "
        "do not count (`pacs.single_class_groups=drop`), or only the entropy, or vLLM's log-probabilities, are not "
        "finite.",
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
        unit=SHARE,
        healthy="1 with `pacs.update.strategy=cached`, 0 with `grouped`; with `auto`, 1 in steps of which a group does "
        "not fit one micro-batch (the run's log says why). The gradient is the same either way; `cached` costs "
        "`timing_s/policy_pass`.",
        remedy="1 where you want 0: give a group room in one micro-batch, with a larger "
        "`actor_rollout_ref.actor.ppo_max_token_len_per_gpu` or "
        "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`.",
    ),
)

REFERENCE = (
    Metric(
        name="pacs/log_ratio/sequence_mean",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`, without beta: estimates KL(policy || reference) of a "
        "response",
        unit=NATS,
        healthy="0 in the first mini-batch after a reset and negative in that step's others, whose samples are the "
        "reference's own (its expectation there is -KL(reference || policy)); then positive. Grows with the number of "
        "updates since the reset, and with length. With `pacs.reference.reset_every=1` it is never positive for long.",
        remedy="Negative for many steps otherwise: the responses are not the policy's own (look at "
        "`pacs/rollout_gap/per_token` and `training/off_policy/trajectory_staleness/mean`), or the reference is "
        "broken. Larger than you want: `pacs.reference.reset_at_log_ratio`, or a smaller "
        "`pacs.reference.reset_every`.",
    ),
    Metric(
        name="pacs/log_ratio/sequence_std",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`",
        unit=NATS,
        healthy="0 at a reset, then growing. Times beta it is the scale of the scores: beyond about 4.6 / beta many "
        "rows are saturated.",
        remedy="Far beyond: as for `pacs/residual_mean`. 0 in all of a step's updates: the reference follows the "
        "policy, or the learning rate is too small for the weights' precision.",
    ),
    Metric(
        name="pacs/log_ratio/per_token",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`",
        unit=PER_TOKEN,
        healthy="As `pacs/log_ratio/sequence_mean`, but comparable between runs of different lengths.",
        remedy="As for `pacs/log_ratio/sequence_mean`. Flat while the sum grows: only the responses grow.",
    ),
    Metric(
        name="pacs/reference/reset_count",
        over=UPDATES,
        formula="the reference became the policy after it; 1 in a step after whose last update that happened, else 0",
        unit="resets",
        healthy="1 every `pacs.reference.reset_every` steps (by default in each), and where a trigger fired.",
        remedy="Never 1: K is longer than the run, so the reference is the initial policy throughout. At every step, "
        "with a longer period: a trigger is set too low (`pacs.reference.reset_at_saturation`, "
        "`pacs.reference.reset_at_log_ratio`).",
    ),
)

POLICY = (
    Metric(
        name="actor/entropy",
        column="entropy",
        over=COUNTED,
        reduced_by="per_token",
        formula="entropy of the policy's distribution at each token of the response. The name is verl's, so that runs "
        "of PPO and GRPO can be laid over: verl takes it before the step's first update over all responses, we at the "
        "weights of each mini-batch. Logged every `pacs.metrics.entropy_every` steps",
        unit=PER_TOKEN,
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
        unit=PER_TOKEN,
        healthy="As small as the arithmetic allows, and constant. In fp32 on the CPU stack 3e-7 (quickstart). In bf16, "
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
        unit=NATS,
        healthy="Larger than the mean by far (2e-5 in the quickstart): an unlikely token has a log-probability of low "
        "precision.",
        remedy="Growing over the run while the mean does not: read the responses it may come from, repeated or foreign "
        "text as a rule. Large together with the mean: as for `pacs/rollout_gap/per_token`.",
    ),
)
