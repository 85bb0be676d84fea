"""The loss, and its scores."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import BIN, CORRECT, COUNTED, MIXED, NATS, SCORE, SHARE, WRONG

LOSS = (
    Metric(
        name="pacs/loss_mean",
        column="loss",
        over=COUNTED,
        formula="`w_i * l_i`; the mean is L of Eq. 8, without the policy-gradient term of Eq. 5",
        unit=NATS,
        healthy="log 2 = 0.693 where every score is 0 (the first mini-batch after the start and after a reset), then "
        "below it in most steps of a run that learns (in two of three of the arithmetic recipe's). Groups of one class "
        "stay near 0.693, because the scores of a group sum to zero (not so with `pacs.estimator=none`).",
        remedy="Above 0.693 in most steps: the scores do worse than none would, by their order "
        "(`pacs/critic/accuracy_fraction`) or by being too sure (`pacs/critic/calibration_error_mean`). Lower "
        "`actor_rollout_ref.actor.optim.lr` or `pacs.beta`; look at `pacs/rollout_gap/per_token`.",
    ),
    Metric(
        name="pacs/residual_mean",
        column="residual",
        over=COUNTED,
        formula="`|sigma(psi_i) - R_i|`, what the gradient of a row is proportional to",
        unit=SHARE,
        healthy="0.5: the scores know nothing, as right after a reset, and nearly so throughout with "
        "`pacs.reference.reset_every=1`, the default. With a longer period in between, and falling from one reset to "
        "the next. Near 0: the scores agree with the labels and the update vanishes. Groups of one class keep about "
        "0.5, so that the mean does not fall below about half of 1 - `pacs/groups/mixed_fraction`.",
        remedy="Where the reference is kept: near that floor long before the next reset: reset more often (a smaller "
        "`pacs.reference.reset_every`, or `pacs.reference.reset_at_saturation`), or lower `pacs.beta`. At 0.5 for many "
        "steps after a reset: the policy does not leave the reference, so look at `pacs/log_ratio/sequence_std`, and "
        "raise `pacs.beta` or the learning rate.",
    ),
    Metric(
        name="pacs/saturated_fraction",
        column="saturated",
        over=COUNTED,
        formula="`|sigma(psi_i) - R_i| < 0.01`: the label is met with psi beyond log 99 = 4.6",
        unit=SHARE,
        healthy="0 after a reset, then rising. A saturated row has less than a fiftieth of the residual it had at the "
        "reset: at a share of 0.5, half of the batch was sampled for almost nothing.",
        remedy="High long before the next reset: as for `pacs/residual_mean`. `pacs.reference.reset_at_saturation` "
        "resets at a share that you choose.",
    ),
)

CRITIC = (
    Metric(
        name="pacs/critic/accuracy_fraction",
        column="accurate",
        over=MIXED,
        formula="`(psi_i > 0) == (R_i = 1)`; a score of 0 is half right. Left out, with all that is reduced over "
        "correct or wrong rows, in a step with a label other than 0 and 1",
        unit=SHARE,
        healthy="0.5 where all scores are 0, then above. It is measured on fresh samples, before the update that is "
        "made from them, so it says what the score knows of responses it was not trained on. With "
        "`pacs.reference.reset_every=1` a step's first mini-batch has scores of 0, and so 0.5. Groups of one class are "
        "left out: there is nothing to tell apart in them, and their scores have both signs.",
        remedy="Below 0.5 for many steps: the last updates moved the policy the wrong way on new samples. A lower "
        "learning rate ranks better, which need not mean that more is learned (docs/choosing.md). Check the verifier "
        "by reading `samples/`. With few mixed groups (`pacs/groups/mixed_fraction`) a step's value says little.",
    ),
    Metric(
        name="pacs/critic/calibration_error_mean",
        column="calibration_error",
        over=MIXED,
        formula="`|mean sigma(psi) - share correct|` of the row's bin, of 10 equal bins of sigma(psi): the mean is the "
        "expected calibration error (ECE)",
        unit=SHARE,
        healthy="0 where sigma(psi) is the probability of being right, in mixed groups. Where all scores are 0 it is "
        "|0.5 - the pass rate in mixed groups|. Balanced classes calibrate the score to as many right as wrong "
        "responses, so at a pass rate far from 0.5 some error remains.",
        remedy="High together with a high `pacs/critic/accuracy_fraction`: with a residual near 0.5 the scores are "
        "still too small, and time helps; with a small residual they are overconfident, so lower `pacs.beta`.",
    ),
    Metric(
        name="pacs/critic/residual_mean",
        column="residual",
        over=MIXED,
        formula="`|sigma(psi_i) - R_i|`",
        unit=SHARE,
        healthy="0.5 where all scores are 0, falling from one reset to the next: `pacs/residual_mean` without the "
        "groups of one class, which keep about 0.5 whatever the score knows.",
        remedy="Above 0.5 with a high `pacs/critic/accuracy_fraction`: the few scores of the wrong sign are large. As "
        "for `pacs/critic/accuracy_fraction` and `pacs/residual_mean`.",
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
        unit=SHARE,
        healthy="Inside the bin, by definition.",
        remedy="Compare with `pacs/critic/bin_*/correct_fraction`.",
    ),
    Metric(
        name="pacs/critic/bin_*/correct_fraction",
        column="correct",
        over=BIN,
        formula="`R_i = 1`",
        unit=SHARE,
        healthy="Equal to `pacs/critic/bin_*/probability_mean` where the score is calibrated.",
        remedy="As for `pacs/critic/calibration_error_mean`. A bin of few rows says little.",
    ),
)

SCORES = (
    Metric(
        name="pacs/score/correct_mean",
        column="score",
        over=CORRECT,
        formula="`psi_i`",
        unit=SCORE,
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
        unit=SCORE,
        healthy="0 at a reset, then negative and falling.",
        remedy="Positive for long: as for `pacs/score/correct_mean`.",
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_std",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=SCORE,
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
            unit=SCORE,
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
            unit=SCORE,
            healthy=f"0 at a reset, then as `pacs/score/{label}_mean`, without the weight that single responses have "
            "in a mean.",
            remedy=f"As for `pacs/score/{label}_mean`.",
        )
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
        for quantile in ("q10", "q50", "q90")
    ),
)
