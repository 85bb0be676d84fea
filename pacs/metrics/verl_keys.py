"""The keys that verl 0.9.1 writes into the same file, and what each of them really is."""

from pacs.metrics.entry import VerlKey

_SHARE = "share, 0 to 1"
_SECONDS = "seconds"
_NATS_PER_TOKEN = "nats a token"
_OVER_RESPONSES = "over the step's responses (without those of no token)"
_OVER_TOKENS = "over all response tokens of the step"
_OVER_UPDATES = "mean over the step's updates"
_MICRO_BATCHES = "mean over micro-batches, ranks and updates, whatever their size"
_CLOCK = "wall-clock time of the step, on the trainer's process"

_OUTCOME = (
    VerlKey(
        name="critic/score/mean",
        formula="the reward function's score, 0 or 1 here: the pass rate in training",
        unit=_SHARE,
        reduction="mean " + _OVER_RESPONSES,
        healthy="Rises. It is the pass rate of this step's prompts at the training temperature, so it jumps with them.",
        remedy="Flat: look at `pacs/groups/mixed_fraction`, then at `pacs/residual_mean`. Falling: lower the learning "
        "rate; look at `actor/entropy` and `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="critic/score/*",
        formula="the same score",
        unit=_SHARE,
        reduction="max, min " + _OVER_RESPONSES,
        healthy="1 and 0.",
        remedy="Another number: the reward function gives something else than 0 and 1, which PACS refuses.",
    ),
    VerlKey(
        name="critic/rewards/*",
        formula="the score, less verl's KL penalty where `algorithm.use_kl_in_reward` is set, and less DAPO's "
        "punishment for length",
        unit=_SHARE,
        reduction="mean, max, min " + _OVER_RESPONSES,
        healthy="Equal to `critic/score/mean`, as PACS has no KL term.",
        remedy="Different: `algorithm.use_kl_in_reward` is on, or it is DAPO and responses are long.",
    ),
    VerlKey(
        name="val-core/*",
        formula="`val-core/SOURCE/VARIABLE/mean@k` is the pass rate on a held-out source with k responses a prompt, "
        "of the verifier's score whatever else is rewarded. "
        "`best@k/mean` and `maj@k/mean` come from 1,000 bootstrap draws **with replacement**: best@k is not pass@k",
        unit=_SHARE,
        reduction="over a prompt's responses, then mean over the source's prompts",
        healthy="Rises with `critic/score/mean`. Its standard error is about sqrt(p(1-p)/n) for n prompts of one "
        "response.",
        remedy="Falling while training rises: overfitting to the prompts or to the verifier. Compare the sampling "
        "settings `actor_rollout_ref.rollout.val_kwargs.temperature` too.",
    ),
    VerlKey(
        name="val-aux/*",
        formula="the validation's other variables and statistics: std@k, worst@k, best@k of fewer responses, turns",
        unit="the variable's",
        reduction="as `val-core/*`",
        healthy="The variable's.",
        remedy="For looking closer at a surprise in `val-core/*`.",
    ),
)

_UPDATE = (
    VerlKey(
        name="actor/grad_norm",
        formula="L2 norm of the gradient over all parameters and ranks, before clipping",
        unit="none",
        reduction=_OVER_UPDATES + "; not a number if one of them was not",
        healthy="Steady, or falling as the residual falls. A score sums over a response's tokens, where the losses of "
        "PPO and GRPO are means over tokens: PACS's norms grow with the length of the responses.",
        remedy="Rising by decades: lower the learning rate or `pacs.beta`. See `pacs/gradient/norm_max` and "
        "`pacs/gradient/clipped_fraction`.",
    ),
    VerlKey(
        name="actor/lr",
        formula="the learning rate after verl's scheduler has stepped: that of the **next** step, without our warm-up",
        unit="none",
        reduction="once a step",
        healthy="verl's schedule of `actor_rollout_ref.actor.optim.lr`.",
        remedy="`pacs/update/learning_rate_mean` is the rate that was used.",
    ),
    VerlKey(
        name="actor/perf/cpu_memory_used_gb",
        formula="memory in use on the machine, by all its processes",
        unit="GiB",
        reduction=_OVER_UPDATES + ", of the first rank",
        healthy="Steady after the first steps.",
        remedy="Rising step by step: something is kept. Stop before the machine's memory ends, and resume.",
    ),
    VerlKey(
        name="actor/perf/*",
        formula="`max_memory_allocated_gb`, `max_memory_reserved_gb`: peak of the GPU memory in use by tensors, and of "
        "what PyTorch holds",
        unit="GiB",
        reduction="largest of the step's updates, of the first rank",
        healthy="Some GiB below the GPU's.",
        remedy="Near the GPU's memory: smaller micro-batches "
        "(`actor_rollout_ref.actor.ppo_max_token_len_per_gpu`), "
        "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`, or offloading. Reserved far above allocated: "
        "fragmentation.",
    ),
)

_BASELINES = (
    VerlKey(
        name="critic/advantages/*",
        formula="PPO and GRPO: the advantage of each token. PACS logs `pacs/effective_advantage_rms` instead",
        unit="none",
        reduction="mean, max, min " + _OVER_TOKENS,
        healthy="Mean near 0; about -3 to 3 where they are normalised.",
        remedy="All 0 with GRPO: no group has both classes.",
    ),
    VerlKey(
        name="critic/returns/*",
        formula="PPO: what the critic is trained to predict at each token. GRPO: the advantage again. PACS logs none",
        unit="that of the reward",
        reduction="mean, max, min " + _OVER_TOKENS,
        healthy="Between 0 and 1 with PPO and rewards of 0 and 1.",
        remedy="Outside: look at `critic/rewards/mean`.",
    ),
    VerlKey(
        name="critic/values/*",
        formula="PPO: the critic's prediction at each token",
        unit="that of the reward",
        reduction="mean, max, min " + _OVER_TOKENS,
        healthy="Approaches `critic/returns/mean`.",
        remedy="Far from it after many steps: raise `critic.optim.lr`, or warm the critic up.",
    ),
    VerlKey(
        name="critic/vf_explained_var",
        formula="PPO: 1 - var(return - value) / var(return)",
        unit="none, at most 1",
        reduction=_OVER_TOKENS,
        healthy="Above 0, rising.",
        remedy="Below 0: the critic is worse than a constant. See `critic/values/mean`.",
    ),
    VerlKey(
        name="critic/vf_loss",
        formula="PPO: squared error of the critic, clipped",
        unit="that of the reward, squared",
        reduction="sum over micro-batches, mean over ranks and updates",
        healthy="Falls.",
        remedy="See `critic/vf_explained_var`.",
    ),
    VerlKey(
        name="critic/vf_*",
        formula="PPO: `vf_clipfrac`, share of tokens whose clipped error is the larger one",
        unit=_SHARE,
        reduction=_MICRO_BATCHES,
        healthy="Small.",
        remedy="Large: raise `critic.cliprange_value`, or lower `critic.optim.lr`.",
    ),
    VerlKey(
        name="critic/vpred_mean",
        formula="PPO: the critic's prediction at each token, during its update",
        unit="that of the reward",
        reduction=_MICRO_BATCHES,
        healthy="Near `critic/values/mean`.",
        remedy="Moving away from it within steps: lower `critic.optim.lr`.",
    ),
    VerlKey(
        name="critic/grad_norm",
        formula="PPO: as `actor/grad_norm`, of the critic",
        unit="none",
        reduction=_OVER_UPDATES,
        healthy="Steady.",
        remedy="Rising by decades: lower `critic.optim.lr`.",
    ),
    VerlKey(
        name="critic/lr",
        formula="PPO: as `actor/lr`, of the critic",
        unit="none",
        reduction="once a step",
        healthy="verl's schedule of `critic.optim.lr`.",
        remedy="As for `actor/lr`.",
    ),
    VerlKey(
        name="critic/loss",
        formula="PPO: the number that was differentiated, `critic/vf_loss`",
        unit="that of the reward, squared",
        reduction="sum over micro-batches, mean over ranks and updates",
        healthy="Falls.",
        remedy="See `critic/vf_explained_var`.",
    ),
    VerlKey(
        name="critic/perf/*",
        formula="PPO: as `actor/perf/*`, during the critic's update",
        unit="GiB",
        reduction="as `actor/perf/*`",
        healthy="As `actor/perf/*`.",
        remedy="As for `actor/perf/*`.",
    ),
    VerlKey(
        name="actor/loss",
        formula="PPO and GRPO: the number that was differentiated. PACS does not log it: with the strategy `cached` it "
        "is a surrogate with the right gradient and a value that means nothing",
        unit="none",
        reduction="sum over micro-batches, mean over ranks and updates",
        healthy="Near `actor/pg_loss`, from which it differs by terms for entropy and KL.",
        remedy="For PACS see `pacs/loss_mean`.",
    ),
    VerlKey(
        name="actor/pg_loss",
        formula="PPO and GRPO: the clipped policy-gradient loss",
        unit="none",
        reduction="sum over micro-batches, mean over ranks and updates",
        healthy="Near 0: its gradient matters, not its value.",
        remedy="Large: look at `critic/advantages/mean` and `actor/ppo_kl`.",
    ),
    VerlKey(
        name="actor/ppo_kl",
        formula="PPO and GRPO: log pi_old - log pi_theta of the sampled tokens, an estimate of KL(old || policy)",
        unit=_NATS_PER_TOKEN,
        reduction="mean over a micro-batch's tokens, then " + _MICRO_BATCHES,
        healthy="0 in the step's first update, small in the others.",
        remedy="Rising: lower the learning rate, or make fewer updates a step.",
    ),
    VerlKey(
        name="actor/pg_clipfrac*",
        formula="PPO and GRPO: share of tokens whose ratio to pi_old is clipped; `actor/pg_clipfrac_lower`: by the "
        "second clip, of negative advantages",
        unit=_SHARE,
        reduction="mean over a micro-batch's tokens, then " + _MICRO_BATCHES,
        healthy="0 in the step's first update; a few hundredths over all of them.",
        remedy="Large: as for `actor/ppo_kl`.",
    ),
    VerlKey(
        name="actor/entropy_loss",
        formula="PPO and GRPO: entropy of the policy during the update, where it is calculated",
        unit=_NATS_PER_TOKEN,
        reduction="over tokens as `actor_rollout_ref.actor.loss_agg_mode` says; sum over micro-batches, mean over "
        "ranks and updates",
        healthy="Near `actor/entropy`.",
        remedy="As for `actor/entropy`; `actor_rollout_ref.actor.entropy_coeff` rewards it.",
    ),
    VerlKey(
        name="actor/kl_loss",
        formula="the KL term of the loss, where `actor_rollout_ref.actor.use_kl_loss` is set; PACS has none",
        unit=_NATS_PER_TOKEN,
        reduction="as `actor/entropy_loss`",
        healthy="Grows slowly from 0.",
        remedy="Growing fast: raise `actor_rollout_ref.actor.kl_loss_coef`, or lower the learning rate.",
    ),
    VerlKey(
        name="actor/kl_coef",
        formula="its factor, `actor_rollout_ref.actor.kl_loss_coef`",
        unit="none",
        reduction=_OVER_UPDATES,
        healthy="Constant.",
        remedy="None needed.",
    ),
    VerlKey(
        name="actor/reward_kl_penalty*",
        formula="the KL penalty within the reward and its factor, where `algorithm.use_kl_in_reward` is set; PACS has "
        "none",
        unit=_NATS_PER_TOKEN,
        reduction="mean over a response's tokens, then over responses",
        healthy="Grows slowly from 0.",
        remedy="Growing fast: raise `algorithm.kl_ctrl.kl_coef`.",
    ),
)

_LENGTHS = (
    VerlKey(
        name="response_length/*",
        formula="tokens of a response, those of a tool included. `response_length/clip_ratio`: share that is as long "
        "as the longest of the step",
        unit="tokens; share",
        reduction="mean, max, min over the step's responses",
        healthy="The task's. `pacs/response_tokens/correct_mean` and `pacs/response_tokens/wrong_mean` tell the "
        "classes apart.",
        remedy="Maximum at `data.max_response_length`: see `pacs/truncated_fraction`, which counts the truncated ones "
        "(clip_ratio is never 0, since the batch is padded to its own longest response).",
    ),
    VerlKey(
        name="response_length_non_aborted/*",
        formula="as `response_length/*`, without responses of no token",
        unit="tokens; share",
        reduction="mean, max, min over those responses",
        healthy="Equal to `response_length/mean`.",
        remedy="Different: see `response/aborted_ratio`.",
    ),
    VerlKey(
        name="response/aborted_ratio",
        formula="the response has no token",
        unit=_SHARE,
        reduction="share of the step's responses",
        healthy="0.",
        remedy="Above 0: requests to vLLM fail or are cut off; the run's log says why.",
    ),
    VerlKey(
        name="prompt_length/*",
        formula="tokens of a prompt; clip_ratio as in `response_length/*`",
        unit="tokens; share",
        reduction="mean, max, min over the step's responses",
        healthy="The data's, at most `data.max_prompt_length`.",
        remedy="None needed: longer prompts are filtered out before training.",
    ),
    VerlKey(
        name="num_turns/*",
        formula="messages of the conversation, the prompt included",
        unit="messages",
        reduction="mean, max, min over the step's responses",
        healthy="2: a prompt and a response.",
        remedy="Otherwise: an agent loop of several turns is at work.",
    ),
    VerlKey(
        name="training/num_turns/*",
        formula="the same as `num_turns/*`",
        unit="messages",
        reduction="mean, max, min over the step's responses",
        healthy="2.",
        remedy="See `num_turns/*`.",
    ),
    VerlKey(
        name="tool_call_counts/*",
        formula="calls of tools in a response, with agent loops that count them",
        unit="calls",
        reduction="mean, max, min over the step's responses",
        healthy="The task's.",
        remedy="The task's.",
    ),
    VerlKey(
        name="global_seqlen/*",
        formula="prompt and response tokens of a rank: min, max, minmax_diff if the batch were cut in order; "
        "balanced_min, balanced_max as it is; mean. Padding rows included",
        unit="tokens",
        reduction="over the ranks, whole step",
        healthy="balanced_max within a few per cent of the mean: the slowest rank sets the time of an update.",
        remedy="Far apart: whole groups are hard to balance. A larger batch a rank helps; so does the strategy "
        "`cached`, whose micro-batches may split groups.",
    ),
)

_GAP = (
    VerlKey(
        name="training/rollout_probs_diff_valid",
        formula="1 if there was a response token to compare",
        unit="0 or 1",
        reduction="once a step, only where verl's old-log-probability pass ran: always with PPO and GRPO, with PACS "
        "every `pacs.metrics.old_log_prob_every` steps",
        healthy="1.",
        remedy="0: no response has a token.",
    ),
    VerlKey(
        name="training/rollout_probs_diff_*",
        formula="|p of vLLM - p of the trainer| of the sampled tokens: **probabilities**, where "
        "`pacs/rollout_gap/per_token` compares their logarithms",
        unit="probability",
        reduction="mean, max, std " + _OVER_TOKENS + "; only where verl's old-log-probability pass ran",
        healthy="Near 0. On the CPU stack, in fp32, the largest was about 6e-6.",
        remedy="As for `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="training/rollout_actor_probs_pearson_corr",
        formula="correlation of the two probabilities over the sampled tokens",
        unit="none, -1 to 1",
        reduction=_OVER_TOKENS[5:] + "; only where verl's old-log-probability pass ran",
        healthy="Near 1.",
        remedy="As for `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="rollout_corr/*",
        formula="PPO and GRPO: verl's statistics of the same gap (KL, perplexities, chi-square), and of its correction "
        "if one is configured",
        unit="as named",
        reduction=_OVER_TOKENS[5:] + ", or over responses",
        healthy="KL near 0, ratios of perplexity near 1.",
        remedy="As for `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="training/off_policy/*",
        formula="versions of the weights that a response was sampled with (trajectory_spans), and how many updates of "
        "vLLM's weights they lag behind (trajectory_staleness, trajectory_staleness_worst)",
        unit="versions",
        reduction="mean, max, min over the step's responses",
        healthy="Spans 1, staleness 0: PACS is synchronous.",
        remedy="Anything else: another trainer than ours is running.",
    ),
    VerlKey(
        name="training/filter_groups/*",
        formula="where `algorithm.filter_groups.enable` is set (DAPO): groups that were all right or all wrong, and "
        "were sampled anew (evicted_samples), and groups beyond the batch (discarded_surplus_samples)",
        unit="groups",
        reduction="sum over the step; only where it happened",
        healthy="A share of `data.train_batch_size` that grows with the pass rate.",
        remedy="Several times the batch: most of the time is spent on sampling. Above "
        "`algorithm.filter_groups.max_num_gen_batches` batches the run stops; use other problems.",
    ),
    VerlKey(
        name="training/rollout_failure/*",
        formula="groups of which every response failed, and which were replaced",
        unit="groups",
        reduction="sum over the step; only where it happened",
        healthy="Absent.",
        remedy="Present: the run's log has the error of the rollouts.",
    ),
)

_TIME = (
    VerlKey(
        name="timing_s/step",
        formula="from the wait for rollouts to the new weights in vLLM, a checkpoint included; a validation is not",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Steady after the first step, growing with the length of the responses.",
        remedy="Look at its parts: `timing_s/gen` and `timing_s/update_actor` are most of it as a rule.",
    ),
    VerlKey(
        name="timing_s/gen",
        formula="waiting for the rollouts and their rewards",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Set by the longest response, and by how many vLLM serves at a time.",
        remedy="Too long: raise `actor_rollout_ref.rollout.gpu_memory_utilization` or "
        "`actor_rollout_ref.rollout.max_num_seqs`; lower `data.max_response_length` if few responses need it. If GPUs "
        "idle meanwhile, the verifier may be what is waited for: raise `reward.num_workers`.",
    ),
    VerlKey(
        name="timing_s/update_actor",
        formula="the step's updates; with PACS also the passes that give the reference's log-probabilities and the "
        "scores",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Grows with the tokens of the batch.",
        remedy="See `perf/mfu/actor`, `timing_s/reference_pass` and `timing_s/policy_pass`.",
    ),
    VerlKey(
        name="timing_s/reference_pass",
        formula="**ours**: the reference's log-probabilities of the batch; lies inside `timing_s/update_actor`",
        unit=_SECONDS,
        reduction="wall-clock time of the step, on one rank",
        healthy="One forward pass over the batch, about a third of an update's work (a backward pass costs two); "
        "less in the step after a reset, whose first mini-batch needs none (with one epoch).",
        remedy="More than that: raise the tokens of a micro-batch without gradients.",
    ),
    VerlKey(
        name="timing_s/policy_pass",
        formula="**ours**: the scoring passes of the strategy `cached`; lies inside `timing_s/update_actor`",
        unit=_SECONDS,
        reduction="wall-clock time of the step, on one rank, over its mini-batches",
        healthy="0 with `grouped`. With `cached`, one forward pass over the batch, as `timing_s/reference_pass`.",
        remedy="To save it, let groups fit one micro-batch: see `pacs/update/cached_fraction`.",
    ),
    VerlKey(
        name="timing_s/update_weights",
        formula="the transfer of the new weights to vLLM",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Steady; grows with the model, not with the batch.",
        remedy="Long: raise `actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes`.",
    ),
    VerlKey(
        name="timing_s/old_log_prob",
        formula="the policy's log-probabilities before the updates",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="PPO and GRPO: one forward pass. PACS: absent, but for the steps of `pacs.metrics.old_log_prob_every`.",
        remedy="PACS: set `pacs.metrics.old_log_prob_every` to null, or to a larger number.",
    ),
    VerlKey(
        name="timing_s/ref",
        formula="the reference's log-probabilities in verl's own pass",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Absent without a KL term. Absent with PACS, see `timing_s/reference_pass`.",
        remedy="None needed.",
    ),
    VerlKey(
        name="timing_s/values",
        formula="PPO: the critic's forward pass",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="About that of `timing_s/old_log_prob`.",
        remedy="Larger micro-batches for the critic.",
    ),
    VerlKey(
        name="timing_s/update_critic",
        formula="PPO: the critic's updates",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="About that of `timing_s/update_actor`.",
        remedy="Larger micro-batches for the critic.",
    ),
    VerlKey(
        name="timing_s/adv",
        formula="advantages; with PACS the labels, groups and weights",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="A small part of the step: the data only pass through.",
        remedy="Large: the TransferQueue is slow, look at the load of the head node.",
    ),
    VerlKey(
        name="timing_s/save_checkpoint",
        formula="writing a checkpoint, with PACS the reference's too",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Every `trainer.save_freq` steps. Within `timing_s/step`.",
        remedy="Long: save less often, or to a faster disk.",
    ),
    VerlKey(
        name="timing_s/testing",
        formula="a validation",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Every `trainer.test_freq` steps. Not within `timing_s/step`.",
        remedy="Long: validate less often, or with fewer responses (`actor_rollout_ref.rollout.val_kwargs.n`).",
    ),
    VerlKey(
        name="timing_s/*",
        formula="other stages of verl's step",
        unit=_SECONDS,
        reduction=_CLOCK,
        healthy="Small parts of the step.",
        remedy="Look the stage's name up in verl's trainer.",
    ),
    VerlKey(
        name="timing_per_token_ms/*",
        formula="the same, divided by the response tokens (gen), or by prompt and response tokens (the others); "
        "padding rows included",
        unit="milliseconds a token",
        reduction=_CLOCK,
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
        unit=_SECONDS,
        reduction=_CLOCK,
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
        unit=_SHARE,
        reduction=_OVER_UPDATES,
        healthy="The higher the better; comparable between runs of one model. Recomputed activations do not count. "
        "Without a meaning on the CPU stack; 0 for models that verl does not know.",
        remedy="Low: micro-batches of more tokens "
        "(`actor_rollout_ref.actor.ppo_max_token_len_per_gpu`), no offloading, "
        "`actor_rollout_ref.model.enable_gradient_checkpointing=false` if memory allows.",
    ),
)

_PROGRESS = (
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

#: Title of a section -> its keys.
VERL_KEYS: dict[str, tuple[VerlKey, ...]] = {
    "verl: the outcome": _OUTCOME,
    "verl: the update": _UPDATE,
    "verl: lengths and turns": _LENGTHS,
    "verl: rollout against trainer": _GAP,
    "verl: time and throughput": _TIME,
    "verl: PPO and GRPO": _BASELINES,
    "verl: progress": _PROGRESS,
}
