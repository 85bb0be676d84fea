"""Our metrics. `reduce.py` computes those that have a column, and the trainer the others."""

from pacs.metrics.entry import Metric
from pacs.metrics.tables.dars import DARS
from pacs.metrics.tables.over import (
    BIN,
    CORRECT,
    CORRECT_RESPONSES,
    COUNTED,
    FIRST,
    FRESH,
    GENERATED,
    GROUPS,
    MIXED,
    NATS,
    PER_TOKEN,
    RESPONSES,
    SAID,
    SAMPLED,
    SCORE,
    SHARE,
    UPDATED,
    UPDATES,
    WRONG,
    WRONG_RESPONSES,
)

CLASSES = (("correct", CORRECT), ("wrong", WRONG))

# fmt: off
#: Title of a section -> its metrics: name, column, over, unit, formula; then healthy and remedy.
OURS: dict[str, tuple[Metric, ...]] = {
    "The loss": (
        Metric("pacs/loss_mean", "loss", COUNTED, NATS,
            "`w_i * l_i`; the mean is L of Eq. 8 without Eq. 5's policy-gradient term",
            "log 2 = 0.693 after a reset, then mostly below. Groups of one class stay near it, but with "
            "`method.estimator=none`.",
            "Mostly above: scores of the wrong sign (`pacs/critic/accuracy_fraction`) or too large. Lower the learning "
            "rate or `method.beta`; see `pacs/rollout_gap/per_token`."),
        Metric("pacs/residual_mean", "residual", COUNTED, SHARE,
            "`abs(sigma(psi_i) - R_i)`, the scale of a row's gradient",
            "0.5 after a reset, and nearly always with `method.reference.reset_every=1`. Else falling between resets, "
            "to about half of 1 - `pacs/groups/mixed_fraction`.",
            "At that floor long before a reset: reset more often, or lower `method.beta`. At 0.5 long after: raise "
            "`method.beta` or the learning rate; see `pacs/log_ratio/sequence_std`."),
        Metric("pacs/saturated_fraction", "saturated", COUNTED, SHARE,
            "`abs(sigma(psi_i) - R_i) < 0.01`: psi beyond log 99 = 4.6, label met",
            "0 after a reset, then rising. The residual of such a row is under a fiftieth of that at the reset.",
            "High long before a reset: as above, or `method.reference.reset_at_saturation`."),
    ),
    "The score as a critic": (
        Metric("pacs/critic/accuracy_fraction", "accurate", MIXED, SHARE,
            "`(psi_i > 0) == (R_i = 1)`; a score of 0 is half right",
            "0.5 where scores are 0, then above, on samples that the score was not trained on.",
            "Long below 0.5: updates mislead on new samples. Check the verifier in `samples/`. A lower learning rate "
            "ranks better, but need not learn more. Few mixed groups: noise."),
        Metric("pacs/critic/calibration_error_mean", "calibration_error", MIXED, SHARE,
            "`abs(mean sigma(psi) - share correct)` of the row's bin, of 10: the expected calibration error (ECE)",
            "0: sigma(psi) is the probability of being right. abs(0.5 - pass rate of mixed groups) where scores are 0. "
            "Class balance leaves an error far from a pass rate of 0.5.",
            "High with a high accuracy: near a residual of 0.5 scores are still too small; else overconfident, so "
            "lower `method.beta`."),
        Metric("pacs/critic/residual_mean", "residual", MIXED, SHARE, "`abs(sigma(psi_i) - R_i)`",
            "0.5 where scores are 0, then falling between resets.",
            "Above 0.5 with a high accuracy: the few scores of the wrong sign are large."),
        Metric("pacs/critic/bin_*/rows_count", "counted", BIN, "rows",
            "sigma(psi_i) in `bin_0`: [0, 0.1), to `bin_9`: [0.9, 1]",
            "All in `bin_5` where scores are 0, then spreading.", "Only at the ends: overconfident."),
        Metric("pacs/critic/bin_*/probability_mean", "probability", BIN, SHARE, "`sigma(psi_i)`", "Inside the bin."),
        Metric("pacs/critic/bin_*/correct_fraction", "correct", BIN, SHARE, "`R_i = 1`",
            "Equal to the probability above.", "Else miscalibrated, or a bin of few rows."),
    ),
    "Scores by verdict": (
        Metric("pacs/score/correct_mean", "score", CORRECT, SCORE, "`psi_i`",
            "0 after a reset, then positive and growing away from `pacs/score/wrong_mean`.",
            "Negative for long: lower the learning rate; check the verifier and `pacs/rollout_gap/per_token`."),
        Metric("pacs/score/wrong_mean", "score", WRONG, SCORE, "`psi_i`",
            "0 after a reset, then negative and falling.", "Positive for long: as `pacs/score/correct_mean`."),
        *(Metric(f"pacs/score/{label}_std", "score", over, SCORE, "`psi_i`",
            "0 after a reset; grows with length. At best below the distance of the means.",
            "Many times that: noise of long responses. Set `method.normalize_by_length=true`, or lower `method.beta`.")
          for label, over in CLASSES),
        *(Metric(f"pacs/score/{label}_{end}", "score", over, SCORE, "`psi_i`",
            "The row that the score is most wrong about, and the surest.",
            "Far out: look for an odd response in `samples/`. One does no harm: its gradient is at most its weight.")
          for label, over in CLASSES for end in ("min", "max")),
        *(Metric(f"pacs/score/{label}_{quantile}", "score", over, SCORE, "`psi_i`",
            "As the mean, less moved by single responses.")
          for label, over in CLASSES for quantile in ("q10", "q50", "q90")),
    ),
    "The update": (
        Metric("pacs/effective_advantage_rms", "effective_advantage", COUNTED, "none",
            "`A_i = -N * dL/dlog pi` of a response's token",
            "Where scores are 0: `beta/2 * G/(G-1)` if half of the group is right, 0 if of one class. Then falling.",
            "Near 0: the update vanishes. See `pacs/saturated_fraction`, `pacs/groups/mixed_fraction`."),
        Metric("pacs/grpo_fallback_fraction", "grpo_fallback", COUNTED, SHARE,
            "the group's standard deviation of r is below 1e-3: `dr_grpo` replaces `grpo`",
            "0 but with `grpo`: 1 in the first mini-batch after a reset, then near 0.",
            "High in other steps: `method.estimator=rloo`, a larger `method.beta`, or rarer resets."),
        Metric("pacs/gradient/norm_max", "", UPDATES, "none",
            "L2 norm over all parameters, before clipping; NaN if one was",
            "Near `actor/grad_norm`, the mean. Scales with `method.beta` and length.",
            "Often many times the mean: keep the clip, raise `actor_rollout_ref.actor.ppo_mini_batch_size`, see "
            "`pacs/rollout_gap/worst_max`."),
        Metric("pacs/gradient/clipped_fraction", "", UPDATES, SHARE,
            "norm above `actor_rollout_ref.actor.optim.clip_grad`",
            "Near 0: outliers. Near 1 all updates have the clip's length, whatever `method.beta` and residual.",
            "High: raise the clip above the usual `actor/grad_norm`. With Adam the learning rate can stay."),
        Metric("pacs/gradient/skipped_count", "", UPDATES, UPDATES, "norm not finite: verl skipped the update",
            "0. A single one changes nothing.",
            "Often: resume an earlier checkpoint with a lower learning rate. After `run.faults.skipped_updates` in a "
            "row the run stops; PACS leaves `poison/` for `pacs inspect`."),
        Metric("pacs/gradient/critic_skipped_count", "", UPDATES, UPDATES, "PPO: the same of the critic's updates",
            "0.", "As above, with `critic.optim.lr`."),
        Metric("pacs/rows/not_finite_count", "not_finite", UPDATED, "rows",
            "a value is not finite; other metrics leave the row out",
            "0.",
            "With skipped updates: policy or reference; `pacs inspect` says which. Without: rows not in N, or only "
            "entropy or vLLM's log-probabilities."),
        Metric("pacs/update/learning_rate_mean", "", UPDATES, "none", "the learning rate of the update",
            "verl's schedule, reduced in the first `method.reference.warmup_steps` steps after a reset.",
            "Else: see the run's `config.yaml`."),
        Metric("pacs/update/cached_fraction", "", "the step's mini-batches", SHARE,
            "mini-batches of the strategy `cached`",
            "By `method.update.strategy`: `cached` 1, `grouped` 0, `auto` 1 where a group does not fit a micro-batch.",
            "To get 0: raise `actor_rollout_ref.actor.ppo_max_token_len_per_gpu` or "
            "`actor_rollout_ref.actor.ulysses_sequence_parallel_size`."),
    ),
    "The reference": (
        Metric("pacs/log_ratio/sequence_mean", "log_ratio", COUNTED, NATS,
            "`sum_t m_it * (log pi_theta - log pi_ref)`, without beta: estimates KL(policy, reference)",
            "0 in the first mini-batch after a reset, negative in that step's others; then positive and growing. Never "
            "long positive with `method.reference.reset_every=1`.",
            "Long negative otherwise: another policy sampled (`pacs/rollout_gap/per_token`), or the reference is "
            "broken. Too large: `method.reference.reset_at_log_ratio`, or reset more often."),
        Metric("pacs/log_ratio/sequence_std", "log_ratio", COUNTED, NATS, "the same",
            "0 after a reset, then growing. Times beta the scale of scores: beyond 4.6 / beta many saturate.",
            "Far beyond: as `pacs/residual_mean`. Always 0: the reference follows the policy, or the learning rate is "
            "below the weights' precision."),
        Metric("pacs/log_ratio/per_token", "log_ratio", COUNTED, PER_TOKEN, "the same",
            "As the mean, but comparable between lengths.", "Flat while the mean grows: only responses grow."),
        Metric("pacs/reference/reset_count", "", UPDATES, "resets",
            "1 if the reference became the policy after the step's updates, else 0",
            "1 every `method.reference.reset_every` steps (default: each), or when a trigger fired.",
            "Never: the period exceeds the run. Always with a longer period: a trigger is too low "
            "(`method.reference.reset_at_saturation`, `method.reference.reset_at_log_ratio`)."),
    ),
    "The policy": (
        Metric("actor/entropy", "entropy", COUNTED, PER_TOKEN,
            "the policy's entropy at each response token, every `method.metrics.entropy_every` steps, at each "
            "mini-batch's weights (verl: before the first update)",
            "Falls; how far depends on the task. 0: always the same response.",
            "Near 0 at a pass rate far from 1: nothing is left to compare. Go back; lower the learning rate, reset "
            "less often, or raise `actor_rollout_ref.rollout.temperature`. Rising at a falling pass rate: lower the "
            "learning rate.", reduced_by="per_token"),
        Metric("pacs/rollout_gap/per_token", "rollout_gap", FRESH, PER_TOKEN,
            "`sum_t m_it * abs(log pi of vLLM - log pi of the trainer)` at the weights that sampled",
            "Small and constant: fp32 on the CPU stack 3e-7 (quickstart); bf16 usually 0.01 to 0.05 elsewhere, not "
            "measured here.",
            "Large from the start: other dtype (`actor_rollout_ref.rollout.dtype`), temperature, top-p, top-k, "
            "attention or kernel. Later: the weight transfer to vLLM."),
        Metric("pacs/rollout_gap/worst_max", "rollout_gap_worst", FRESH, NATS, "the largest such difference of a token",
            "Far above the mean (quickstart 2e-5): unlikely tokens are imprecise.",
            "Growing alone: read `samples/` for repeated or foreign text."),
    ),
    "Groups": (
        Metric("pacs/groups/mixed_fraction", "mixed", GROUPS, SHARE, "right and wrong responses in the group",
            "The only groups that tell right from wrong. 1 - p^G - (1-p)^G if every prompt has pass rate p, else less.",
            "Low: data too easy or too hard. Filter them, raise `actor_rollout_ref.rollout.n`, or drop the others "
            "(`method.single_class_groups=drop`)."),
        Metric("pacs/groups/all_correct_fraction", "all_correct", GROUPS, SHARE, "all right",
            "Rises.", "Most groups: take harder prompts."),
        Metric("pacs/groups/all_wrong_fraction", "all_wrong", GROUPS, SHARE, "all wrong",
            "Falls.",
            "Most from the start: prompts too hard, or right answers refused. See `pacs/verifier/no_answer_fraction`, "
            "`samples/`."),
    ),
    "A second stage of rollouts (DARS)": DARS,
    "Responses": (
        Metric("pacs/rows/correct_count", "correct", RESPONSES, "responses", "`R_i = 1`",
            "With the wrong and alone ones: train batch times `actor_rollout_ref.rollout.n`, less failed; DARS: more.",
            "0: nothing to learn from."),
        Metric("pacs/rows/wrong_count", "wrong", RESPONSES, "responses", "`R_i = 0`",
            "See above.", "0: data too easy."),
        Metric("pacs/rows/graded_count", "graded", RESPONSES, "responses", "score neither 0 nor 1",
            "0 with the verifiers here.",
            "Above 0: your reward function grades, and `critic/score/mean` is no pass rate. Set a threshold if right "
            "and wrong are meant."),
        Metric("pacs/rows/alone_count", "alone", SAMPLED, "responses",
            "dropped for want of others in its group (1; with `method.estimator=grpo` 2, `none` 0)",
            "0.", "Above 0: rollouts fail; see vLLM's or the reward worker's error in the run's log."),
        Metric("pacs/response_tokens/generated_sum", "", GENERATED, "tokens",
            "tokens, also of groups that DAPO threw away; for `pacs report --over tokens`",
            "Prompts times `actor_rollout_ref.rollout.n` times mean length; more with DARS."),
        Metric("pacs/response_tokens/correct_mean", "tokens", CORRECT_RESPONSES, "tokens", "tokens",
            "Usually below that of wrong ones.",
            "Growing at a constant pass rate: look for text after the answer in `samples/`."),
        Metric("pacs/response_tokens/wrong_mean", "tokens", WRONG_RESPONSES, "tokens", "tokens",
            "Depends on the task.", "Near `data.max_response_length`: most are truncated."),
        Metric("pacs/truncated_fraction", "truncated", FIRST, SHARE, "stopped by `data.max_response_length`",
            "Small. Truncated responses are wrong for their length: this teaches brevity.",
            "High or rising: raise that limit, or leave out prompts that need more."),
        Metric("pacs/truncated/correct_fraction", "truncated", CORRECT_RESPONSES, SHARE, "the same",
            "0.",
            "Rising: the policy goes on after its answer. Read `samples/`; a verifier may demand that the answer comes "
            "last."),
        Metric("pacs/reasoning/unfinished_fraction", "unfinished", FIRST, SHARE,
            "ended within its reasoning (`run.reasoning.delimiters`): no answer",
            "0 without marked reasoning, else small.",
            "High: raise `data.max_response_length`. Above `pacs/truncated_fraction`: check the delimiters, which the "
            "dry-run prints."),
        Metric("pacs/reward/*/mean", "", SAID, "the function's",
            'a number returned beside the score: `{"score": 0.4, "format": 0.5}` gives `pacs/reward/format/mean`; true '
            "is 1. Also of verl's reward managers (`overlong_reward`)",
            "Absent with the verifiers here. All rise with `critic/score/mean`.",
            "One alone rises: it is the easiest to earn. A name is missing: no response had a number there."),
    ),
    "The verifier": (
        Metric("pacs/verifier/correct_fraction", "status_correct", FIRST, SHARE, "the answer is right",
            "The pass rate, as `critic/score/mean`.",
            "Different: scores are not 1 exactly where the status is `correct`."),
        Metric("pacs/verifier/wrong_fraction", "status_wrong", FIRST, SHARE, "the answer is wrong",
            "Falls.", "High from the start: the verifier may miss equal forms; compare a few by hand."),
        Metric("pacs/verifier/unevaluated_fraction", "status_unevaluated", FIRST, SHARE,
            "the answer still has to be calculated (`47+38` for 85): score 0. With `math.accept_unevaluated` it is "
            "`correct` if its value is right",
            "0, or falling.", "High or rising: the prompt may not say that a value is asked for. Read `samples/`."),
        Metric("pacs/verifier/no_answer_fraction", "status_no_answer", FIRST, SHARE, "no answer was found",
            "Falls quickly: the form is learned first.",
            "High for many steps: the prompt does not ask for the verifier's form, or responses are truncated."),
        Metric("pacs/verifier/timeout_fraction", "status_timeout", FIRST, SHARE,
            "the comparison took too long; counts as wrong",
            "Nearly 0.", "Rising: the policy writes expressions that the verifier cannot finish. Read `samples/`."),
        Metric("pacs/verifier/error_fraction", "status_error", FIRST, SHARE, "the comparison failed",
            "Nearly 0.", "Above 0 from the start: ground truths cannot be parsed. Mend or drop them."),
        Metric("pacs/verifier/other_fraction", "status_other", FIRST, SHARE, "another status",
            "0 with the verifiers here.", "Above 0: your verifier's names."),
    ),
    "Validation": (
        Metric("pacs/validation/*/pass@*", "", "the source's problems", SHARE,
            "`pacs/validation/SOURCE/pass@k`, k the powers of two up to n: unbiased 1 - C(n-c, k) / C(n, k), c of n = "
            "`actor_rollout_ref.rollout.val_kwargs.n` responses with score 1. A failed rollout is wrong",
            "pass@1 rises; the largest k, what the policy can reach, does not fall.",
            "The largest k falls: the policy narrows, see `actor/entropy`. Jumping: raise `data.val_max_samples` or "
            "`actor_rollout_ref.rollout.val_kwargs.n`.", reduced_by="mean"),
        Metric("pacs/validation/*/graded_count", "", "the source's responses", "responses",
            "score neither 0 nor 1; in place of the source's pass@k",
            "Absent.", "There: see `pacs/rows/graded_count`; the mean score is `val-core/SOURCE/*/mean@k`."),
    ),
}
