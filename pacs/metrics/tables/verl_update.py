"""verl's keys of a step: its outcome, its update, lengths."""

from pacs.metrics.entry import VerlKey
from pacs.metrics.tables.verl_words import OVER_RESPONSES, OVER_TOKENS, OVER_UPDATES, SHARE

OUTCOME = (
    VerlKey(
        name="critic/score/mean",
        formula="the reward function's score; where all are 0 or 1, the pass rate in training",
        unit=SHARE,
        reduction="mean " + OVER_RESPONSES,
        healthy="Rises. It is the pass rate of this step's prompts at the training temperature, so it jumps with them.",
        remedy="Flat: look at `pacs/groups/mixed_fraction`, then at `pacs/residual_mean`. Falling: lower the learning "
        "rate; look at `actor/entropy` and `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="critic/score/*",
        formula="the same score",
        unit=SHARE,
        reduction="max, min " + OVER_RESPONSES,
        healthy="1 and 0.",
        remedy="Another number: the reward function gives something else than 0 and 1, which some methods refuse. "
        "Under the others see `pacs/rows/graded_count`.",
    ),
    VerlKey(
        name="critic/rewards/*",
        formula="the score, less verl's KL penalty where `algorithm.use_kl_in_reward` is set, and less DAPO's "
        "punishment for length",
        unit=SHARE,
        reduction="mean, max, min " + OVER_RESPONSES,
        healthy="Equal to `critic/score/mean`, as PACS has no KL term.",
        remedy="Different: `algorithm.use_kl_in_reward` is on, or it is DAPO and responses are long.",
    ),
    VerlKey(
        name="val-core/*",
        formula="`val-core/SOURCE/VARIABLE/mean@k` is the mean score on a held-out source with k responses a prompt, "
        "of the verifier's score whatever else is rewarded: where all scores are 0 or 1, the pass rate. "
        "`best@k/mean` and `maj@k/mean` come from 1,000 bootstrap draws **with replacement**: best@k is not pass@k",
        unit=SHARE,
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

UPDATE = (
    VerlKey(
        name="actor/grad_norm",
        formula="L2 norm of the gradient over all parameters and ranks, before clipping",
        unit="none",
        reduction=OVER_UPDATES + "; not a number if one of them was not",
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
        reduction=OVER_UPDATES + ", of the first rank",
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

LENGTHS = (
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
        unit=SHARE,
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

GAP = (
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
        reduction="mean, max, std " + OVER_TOKENS + "; only where verl's old-log-probability pass ran",
        healthy="Near 0. On the CPU stack, in fp32, the largest was about 8e-6.",
        remedy="As for `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="training/rollout_actor_probs_pearson_corr",
        formula="correlation of the two probabilities over the sampled tokens",
        unit="none, -1 to 1",
        reduction=OVER_TOKENS[5:] + "; only where verl's old-log-probability pass ran",
        healthy="Near 1.",
        remedy="As for `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="rollout_corr/*",
        formula="PPO and GRPO: verl's statistics of the same gap (KL, perplexities, chi-square), and of its correction "
        "if one is configured",
        unit="as named",
        reduction=OVER_TOKENS[5:] + ", or over responses",
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
