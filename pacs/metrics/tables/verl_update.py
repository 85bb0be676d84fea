"""verl's keys of a step: its outcome, its update, lengths."""

from pacs.metrics.entry import VerlKey
from pacs.metrics.tables.verl_words import OVER_RESPONSES, OVER_TOKENS, OVER_UPDATES, SHARE, SPREAD

OUTCOME = (
    VerlKey(
        name="critic/score/mean",
        formula="the reward function's score; the pass rate if all are 0 or 1. With DARS, and in the next two, of the "
        "first responses alone",
        unit=SHARE,
        reduction="mean " + OVER_RESPONSES,
        healthy="Rises, and jumps with the step's prompts.",
        remedy="Flat: see `pacs/groups/mixed_fraction`, `pacs/residual_mean`. Falling: lower the learning rate; see "
        "`actor/entropy`, `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="critic/score/*",
        formula="the same",
        unit=SHARE,
        reduction="max, min " + OVER_RESPONSES,
        healthy="1 and 0.",
        remedy="Else: see `pacs/rows/graded_count`; some methods refuse such scores.",
    ),
    VerlKey(
        name="critic/rewards/*",
        formula="the score less the KL penalty (`algorithm.use_kl_in_reward`) and DAPO's for length",
        unit=SHARE,
        reduction="mean, max, min " + OVER_RESPONSES,
        healthy="Equal to `critic/score/mean`.",
        remedy="None needed.",
    ),
    VerlKey(
        name="val-core/*",
        formula="`val-core/SOURCE/VARIABLE/mean@k`: verifier's mean score of k responses. `best@k/mean`, "
        "`maj@k/mean`: 1,000 draws **with replacement**, so best@k is not pass@k",
        unit=SHARE,
        reduction="over a prompt's responses, then mean over prompts",
        healthy="Rises with `critic/score/mean`. Standard error about sqrt(p(1-p)/n) for n prompts.",
        remedy="Falling alone: overfitting to prompts or verifier. Compare "
        "`actor_rollout_ref.rollout.val_kwargs.temperature`.",
    ),
    VerlKey(
        name="val-aux/*",
        formula="other variables and statistics (std@k, worst@k, turns)",
        unit="the variable's",
        reduction="as `val-core/*`",
        healthy="Depends on the variable.",
        remedy="None needed.",
    ),
)

UPDATE = (
    VerlKey(
        name="actor/grad_norm",
        formula="L2 norm over all parameters and ranks, before clipping; NaN if one was",
        unit="none",
        reduction=OVER_UPDATES,
        healthy="Steady, or falling with the residual. PACS's grow with length: a score sums over tokens.",
        remedy="Rising by decades: lower the learning rate or `method.beta`. See `pacs/gradient/norm_max`.",
    ),
    VerlKey(
        name="actor/lr",
        formula="rate of the **next** step, without warm-up after a reset",
        unit="none",
        reduction="once a step",
        healthy="verl's schedule.",
        remedy="`pacs/update/learning_rate_mean` was used.",
    ),
    VerlKey(
        name="actor/perf/cpu_memory_used_gb",
        formula="memory of all processes on the machine",
        unit="GiB",
        reduction=OVER_UPDATES + ", first rank",
        healthy="Steady after the first steps.",
        remedy="Rising step by step: stop in time, and resume.",
    ),
    VerlKey(
        name="actor/perf/*",
        formula="peak GPU memory of tensors (`max_memory_allocated_gb`), and with PyTorch's cache "
        "(`max_memory_reserved_gb`)",
        unit="GiB",
        reduction="largest of updates, first rank",
        healthy="Some GiB below the GPU's.",
        remedy="Near it: lower `actor_rollout_ref.actor.ppo_max_token_len_per_gpu`, raise "
        "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`, or offload. Reserved far above allocated: "
        "fragmentation.",
    ),
)

LENGTHS = (
    VerlKey(
        name="response_length/*",
        formula="tokens of a response, a tool's included; `clip_ratio`: share as long as the longest",
        unit="tokens; share",
        reduction=SPREAD,
        healthy="Depends on the task.",
        remedy="Maximum at `data.max_response_length`: see `pacs/truncated_fraction` (`clip_ratio` is never 0).",
    ),
    VerlKey(
        name="response_length_non_aborted/*",
        formula="the same without empty responses",
        unit="tokens; share",
        reduction=SPREAD,
        healthy="Equal to `response_length/mean`.",
        remedy="None needed.",
    ),
    VerlKey(
        name="response/aborted_ratio",
        formula="share of responses without a token",
        unit=SHARE,
        reduction="over all responses",
        healthy="0.",
        remedy="Above 0: requests to vLLM fail; see the run's log.",
    ),
    VerlKey(
        name="prompt_length/*",
        formula="tokens of a prompt",
        unit="tokens; share",
        reduction=SPREAD,
        healthy="At most `data.max_prompt_length`: longer ones are filtered out.",
        remedy="None needed.",
    ),
    *(
        VerlKey(
            name=name,
            formula="messages of the conversation, prompt included",
            unit="messages",
            reduction=SPREAD,
            healthy="2: a prompt and a response.",
            remedy="Else: an agent loop of several turns.",
        )
        for name in ("num_turns/*", "training/num_turns/*")
    ),
    VerlKey(
        name="tool_call_counts/*",
        formula="calls of tools, by agent loops that record them",
        unit="calls",
        reduction=SPREAD,
        healthy="Depends on the task.",
        remedy="None needed.",
    ),
    VerlKey(
        name="global_seqlen/*",
        formula="tokens of a rank, padding included: min, max, minmax_diff if cut in order; balanced_min, "
        "balanced_max as it is; mean",
        unit="tokens",
        reduction="over the ranks",
        healthy="balanced_max within a few per cent of the mean.",
        remedy="Else one rank sets the time: larger batch a rank, or `cached`, which may split groups.",
    ),
)

GAP = (
    VerlKey(
        name="training/rollout_probs_diff_valid",
        formula="1 if there was a token to compare. This and the next two only with verl's old-log-probability pass "
        "(PACS: `method.metrics.old_log_prob_every`)",
        unit="0 or 1",
        reduction="once a step",
        healthy="1.",
        remedy="0: no response has a token.",
    ),
    VerlKey(
        name="training/rollout_probs_diff_*",
        formula="abs(p of vLLM - p of the trainer): **probabilities**, not logarithms",
        unit="probability",
        reduction="mean, max, std " + OVER_TOKENS,
        healthy="Near 0; fp32 on the CPU stack at most about 8e-6.",
        remedy="As `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="training/rollout_actor_probs_pearson_corr",
        formula="correlation of the two",
        unit="-1 to 1",
        reduction=OVER_TOKENS,
        healthy="Near 1.",
        remedy="As `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="rollout_corr/*",
        formula="PPO, GRPO: statistics of the gap (KL, perplexities, chi-square) and its correction",
        unit="as named",
        reduction=OVER_TOKENS + ", or responses",
        healthy="KL near 0, ratios near 1.",
        remedy="As `pacs/rollout_gap/per_token`.",
    ),
    VerlKey(
        name="training/off_policy/*",
        formula="trajectory_spans: versions of the weights in a response; trajectory_staleness, "
        "trajectory_staleness_worst: updates they lag behind",
        unit="versions",
        reduction=SPREAD,
        healthy="1, and 0: PACS is synchronous.",
        remedy="Else: another trainer is running.",
    ),
    VerlKey(
        name="training/filter_groups/*",
        formula="DAPO (`algorithm.filter_groups.enable`): groups of one class, sampled anew (evicted_samples), and "
        "beyond the batch (discarded_surplus_samples)",
        unit="groups",
        reduction="sum, only where it happened",
        healthy="A share of the batch that grows with the pass rate.",
        remedy="Several times it: use other problems. Above `algorithm.filter_groups.max_num_gen_batches` the run "
        "stops.",
    ),
    VerlKey(
        name="training/rollout_failure/*",
        formula="groups replaced, all of whose responses failed",
        unit="groups",
        reduction="sum, only where it happened",
        healthy="Absent.",
        remedy="There: the run's log has the error.",
    ),
)
