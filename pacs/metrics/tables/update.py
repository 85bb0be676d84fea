"""The update, the reference, the policy."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import COUNTED, FRESH, NATS, PER_TOKEN, SHARE, UPDATED, UPDATES

UPDATE = (
    Metric(
        name="pacs/effective_advantage_rms",
        column="effective_advantage",
        over=COUNTED,
        formula="`A_i = -N * dL/dlog pi` of a response's token",
        unit="none",
        healthy="Where scores are 0: `beta/2 * G/(G-1)` if half of the group is right, 0 if of one class. Then "
        "falling.",
        remedy="Near 0: the update vanishes. See `pacs/saturated_fraction`, `pacs/groups/mixed_fraction`.",
    ),
    Metric(
        name="pacs/grpo_fallback_fraction",
        column="grpo_fallback",
        over=COUNTED,
        formula="the group's standard deviation of r is below 1e-3: `dr_grpo` replaces `grpo`",
        unit=SHARE,
        healthy="0 but with `grpo`: 1 in the first mini-batch after a reset, then near 0.",
        remedy="High in other steps: `method.estimator=rloo`, a larger `method.beta`, or rarer resets.",
    ),
    Metric(
        name="pacs/gradient/norm_max",
        over=UPDATES,
        formula="L2 norm over all parameters, before clipping; NaN if one was",
        unit="none",
        healthy="Near `actor/grad_norm`, the mean. Scales with `method.beta` and length.",
        remedy="Often many times the mean: keep the clip, raise `actor_rollout_ref.actor.ppo_mini_batch_size`, see "
        "`pacs/rollout_gap/worst_max`.",
    ),
    Metric(
        name="pacs/gradient/clipped_fraction",
        over=UPDATES,
        formula="norm above `actor_rollout_ref.actor.optim.clip_grad`",
        unit=SHARE,
        healthy="Near 0: outliers. Near 1 all updates have the clip's length, whatever `method.beta` and residual.",
        remedy="High: raise the clip above the usual `actor/grad_norm`. With Adam the learning rate can stay.",
    ),
    Metric(
        name="pacs/gradient/skipped_count",
        over=UPDATES,
        formula="norm not finite: verl skipped the update",
        unit="updates",
        healthy="0. A single one changes nothing.",
        remedy="Often: resume an earlier checkpoint with a lower learning rate. After `run.faults.skipped_updates` "
        "in a row the run stops; PACS leaves `poison/` for `pacs inspect`.",
    ),
    Metric(
        name="pacs/gradient/critic_skipped_count",
        over=UPDATES,
        formula="PPO: the same of the critic's updates",
        unit="updates",
        healthy="0.",
        remedy="As above, with `critic.optim.lr`.",
    ),
    Metric(
        name="pacs/rows/not_finite_count",
        column="not_finite",
        over=UPDATED,
        formula="a value is not finite; other metrics leave the row out",
        unit="rows",
        healthy="0.",
        remedy="With skipped updates: policy or reference; `pacs inspect` says which. Without: rows not in N, or only "
        "entropy or vLLM's log-probabilities.",
    ),
    Metric(
        name="pacs/update/learning_rate_mean",
        over=UPDATES,
        formula="the learning rate of the update",
        unit="none",
        healthy="verl's schedule, reduced in the first `method.reference.warmup_steps` steps after a reset.",
        remedy="Else: see the run's `config.yaml`.",
    ),
    Metric(
        name="pacs/update/cached_fraction",
        over="the step's mini-batches",
        formula="mini-batches of the strategy `cached`",
        unit=SHARE,
        healthy="By `method.update.strategy`: `cached` 1, `grouped` 0, `auto` 1 where a group does not fit a "
        "micro-batch.",
        remedy="To get 0: raise `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` or "
        "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`.",
    ),
)

REFERENCE = (
    Metric(
        name="pacs/log_ratio/sequence_mean",
        column="log_ratio",
        over=COUNTED,
        formula="`sum_t m_it * (log pi_theta - log pi_ref)`, without beta: estimates KL(policy, reference)",
        unit=NATS,
        healthy="0 in the first mini-batch after a reset, negative in that step's others; then positive and growing. "
        "Never long positive with `method.reference.reset_every=1`.",
        remedy="Long negative otherwise: another policy sampled (`pacs/rollout_gap/per_token`), or the reference is "
        "broken. Too large: `method.reference.reset_at_log_ratio`, or reset more often.",
    ),
    Metric(
        name="pacs/log_ratio/sequence_std",
        column="log_ratio",
        over=COUNTED,
        formula="the same",
        unit=NATS,
        healthy="0 after a reset, then growing. Times beta the scale of scores: beyond 4.6 / beta many saturate.",
        remedy="Far beyond: as `pacs/residual_mean`. Always 0: the reference follows the policy, or the learning rate "
        "is below the weights' precision.",
    ),
    Metric(
        name="pacs/log_ratio/per_token",
        column="log_ratio",
        over=COUNTED,
        formula="the same",
        unit=PER_TOKEN,
        healthy="As the mean, but comparable between lengths.",
        remedy="Flat while the mean grows: only responses grow.",
    ),
    Metric(
        name="pacs/reference/reset_count",
        over=UPDATES,
        formula="1 if the reference became the policy after the step's updates, else 0",
        unit="resets",
        healthy="1 every `method.reference.reset_every` steps (default: each), or when a trigger fired.",
        remedy="Never: the period exceeds the run. Always with a longer period: a trigger is too low "
        "(`method.reference.reset_at_saturation`, `method.reference.reset_at_log_ratio`).",
    ),
)

POLICY = (
    Metric(
        name="actor/entropy",
        column="entropy",
        over=COUNTED,
        reduced_by="per_token",
        formula="the policy's entropy at each response token, every `method.metrics.entropy_every` steps, at each "
        "mini-batch's weights (verl: before the first update)",
        unit=PER_TOKEN,
        healthy="Falls; how far depends on the task. 0: always the same response.",
        remedy="Near 0 at a pass rate far from 1: nothing is left to compare. Go back; lower the learning rate, reset "
        "less often, or raise `actor_rollout_ref.rollout.temperature`. Rising at a falling pass rate: lower the "
        "learning rate.",
    ),
    Metric(
        name="pacs/rollout_gap/per_token",
        column="rollout_gap",
        over=FRESH,
        formula="`sum_t m_it * abs(log pi of vLLM - log pi of the trainer)` at the weights that sampled",
        unit=PER_TOKEN,
        healthy="Small and constant: fp32 on the CPU stack 3e-7 (quickstart); bf16 usually 0.01 to 0.05 elsewhere, "
        "not measured here.",
        remedy="Large from the start: other dtype (`actor_rollout_ref.rollout.dtype`), temperature, top-p, top-k, "
        "attention or kernel. Later: the weight transfer to vLLM.",
    ),
    Metric(
        name="pacs/rollout_gap/worst_max",
        column="rollout_gap_worst",
        over=FRESH,
        formula="the largest such difference of a token",
        unit=NATS,
        healthy="Far above the mean (quickstart 2e-5): unlikely tokens are imprecise.",
        remedy="Growing alone: read `samples/` for repeated or foreign text.",
    ),
    Metric(
        name="pacs/token_weight/per_token",
        column="token_weight",
        over=COUNTED,
        formula="the weight of `method.token_weight`, where there is one",
        unit="none",
        healthy="`entropy_top`: its `share`. `steer`: near 1.",
        remedy="1 throughout: the weight does nothing. Near 0: hardly a token carries the gradient.",
    ),
)
