"""verl's keys of time, throughput and progress."""

from pacs.metrics.entry import VerlKey
from pacs.metrics.tables.verl_words import CLOCK, OVER_UPDATES, SECONDS, SHARE

TIME = (
    VerlKey(
        name="timing_s/step",
        formula="from the wait for rollouts to the new weights in vLLM, a checkpoint included; a validation is not",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Steady after the first step, growing with the length of the responses.",
        remedy="Look at its parts: `timing_s/gen` and `timing_s/update_actor` are most of it as a rule.",
    ),
    VerlKey(
        name="timing_s/gen",
        formula="waiting for the rollouts and their rewards",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Set by the longest response, and by how many vLLM serves at a time.",
        remedy="Too long: raise `actor_rollout_ref.rollout.gpu_memory_utilization` or "
        "`actor_rollout_ref.rollout.max_num_seqs`; lower `data.max_response_length` if few responses need it. If GPUs "
        "idle meanwhile, the verifier may be what is waited for: raise `reward.num_workers`.",
    ),
    VerlKey(
        name="timing_s/update_actor",
        formula="the step's updates; with PACS also the passes that give the reference's log-probabilities and the "
        "scores",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Grows with the tokens of the batch.",
        remedy="See `perf/mfu/actor`, `timing_s/reference_pass` and `timing_s/policy_pass`.",
    ),
    VerlKey(
        name="timing_s/reference_pass",
        formula="**ours**: the reference's log-probabilities of the batch; lies inside `timing_s/update_actor`",
        unit=SECONDS,
        reduction="wall-clock time of the step, on one rank",
        healthy="One forward pass over the batch, about a third of an update's work (a backward pass costs two); "
        "less in the step after a reset, whose first mini-batch needs none (with one epoch).",
        remedy="More than that: raise the tokens of a micro-batch without gradients.",
    ),
    VerlKey(
        name="timing_s/policy_pass",
        formula="**ours**: the scoring passes of the strategy `cached`; lies inside `timing_s/update_actor`",
        unit=SECONDS,
        reduction="wall-clock time of the step, on one rank, over its mini-batches",
        healthy="0 with `grouped`. With `cached`, one forward pass over the batch, as `timing_s/reference_pass`.",
        remedy="To save it, let groups fit one micro-batch: see `pacs/update/cached_fraction`.",
    ),
    VerlKey(
        name="timing_s/update_weights",
        formula="the transfer of the new weights to vLLM",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Steady; grows with the model, not with the batch.",
        remedy="Long: raise `actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes`.",
    ),
    VerlKey(
        name="timing_s/old_log_prob",
        formula="the policy's log-probabilities before the updates",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="PPO and GRPO: one forward pass. PACS: absent, but for the steps of `pacs.metrics.old_log_prob_every`.",
        remedy="PACS: set `pacs.metrics.old_log_prob_every` to null, or to a larger number.",
    ),
    VerlKey(
        name="timing_s/ref",
        formula="the reference's log-probabilities in verl's own pass",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Absent without a KL term. Absent with PACS, see `timing_s/reference_pass`.",
        remedy="None needed.",
    ),
    VerlKey(
        name="timing_s/values",
        formula="PPO: the critic's forward pass",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="About that of `timing_s/old_log_prob`.",
        remedy="Larger micro-batches for the critic.",
    ),
    VerlKey(
        name="timing_s/update_critic",
        formula="PPO: the critic's updates",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="About that of `timing_s/update_actor`.",
        remedy="Larger micro-batches for the critic.",
    ),
    VerlKey(
        name="timing_s/adv",
        formula="advantages; with PACS the labels, groups and weights",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="A small part of the step: the data only pass through.",
        remedy="Large: the TransferQueue is slow, look at the load of the head node.",
    ),
    VerlKey(
        name="timing_s/save_checkpoint",
        formula="writing a checkpoint, with PACS the reference's too",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Every `trainer.save_freq` steps. Within `timing_s/step`.",
        remedy="Long: save less often, or to a faster disk.",
    ),
    VerlKey(
        name="timing_s/testing",
        formula="a validation",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Every `trainer.test_freq` steps. Not within `timing_s/step`.",
        remedy="Long: validate less often, or with fewer responses (`actor_rollout_ref.rollout.val_kwargs.n`).",
    ),
    VerlKey(
        name="timing_s/*",
        formula="other stages of verl's step",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="Small parts of the step.",
        remedy="Look the stage's name up in verl's trainer.",
    ),
    VerlKey(
        name="timing_per_token_ms/*",
        formula="the same, divided by the response tokens (gen), or by prompt and response tokens (the others); "
        "padding rows included",
        unit="milliseconds a token",
        reduction=CLOCK,
        healthy="Steady, where `timing_s/*` grows with the responses.",
        remedy="As for `timing_s/*`.",
    ),
    VerlKey(
        name="perf/total_num_tokens",
        formula="prompt and response tokens of the step, padding rows included",
        unit="tokens",
        reduction="sum over the step's rows",
        healthy="Grows with the responses.",
        remedy="See `response_length/mean`.",
    ),
    VerlKey(
        name="perf/time_per_step",
        formula="`timing_s/step` again",
        unit=SECONDS,
        reduction=CLOCK,
        healthy="As `timing_s/step`.",
        remedy="As for `timing_s/step`.",
    ),
    VerlKey(
        name="perf/throughput",
        formula="`perf/total_num_tokens` / (`timing_s/step` * GPUs)",
        unit="tokens a second a GPU",
        reduction="of the whole step",
        healthy="Steady. For comparing runs of one model on the same machines. On the CPU stack a GPU is a rank.",
        remedy="Falling: long responses make vLLM wait for a few; see `timing_s/gen`.",
    ),
    VerlKey(
        name="perf/mfu/*",
        formula="floating-point operations of the updates (6 a parameter and token, and attention) / what the GPUs "
        "could do in that time. `perf/mfu/actor`, and with PPO `perf/mfu/critic`",
        unit=SHARE,
        reduction=OVER_UPDATES,
        healthy="The higher the better; comparable between runs of one model. Recomputed activations do not count. "
        "Without a meaning on the CPU stack; 0 for models that verl does not know.",
        remedy="Low: micro-batches of more tokens "
        "(`actor_rollout_ref.actor.ppo_max_token_len_per_gpu`), no offloading, "
        "`actor_rollout_ref.model.enable_gradient_checkpointing=false` if memory allows.",
    ),
)

PROGRESS = (
    VerlKey(
        name="training/global_step",
        formula="the step",
        unit="steps",
        reduction="once a step",
        healthy="Grows by 1; `step` in metrics.jsonl.",
        remedy="None needed.",
    ),
    VerlKey(
        name="training/epoch",
        formula="passes over the training data that are complete",
        unit="epochs",
        reduction="once a step",
        healthy="0 at first.",
        remedy="Many: prompts are seen again and again; watch `val-core/*`.",
    ),
)
