"""The loss, and its scores."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import BIN, CORRECT, COUNTED, MIXED, NATS, SCORE, SHARE, WRONG

LOSS = (
    Metric(
        name="pacs/loss_mean",
        column="loss",
        over=COUNTED,
        formula="`w_i * l_i`; the mean is L of Eq. 8 without Eq. 5's policy-gradient term",
        unit=NATS,
        healthy="log 2 = 0.693 after a reset, then mostly below. Groups of one class stay near it, but with "
        "`method.estimator=none`.",
        remedy="Mostly above: scores of the wrong sign (`pacs/critic/accuracy_fraction`) or too large. Lower the "
        "learning rate or `method.beta`; see `pacs/rollout_gap/per_token`.",
    ),
    Metric(
        name="pacs/residual_mean",
        column="residual",
        over=COUNTED,
        formula="`abs(sigma(psi_i) - R_i)`, the scale of a row's gradient",
        unit=SHARE,
        healthy="0.5 after a reset, and nearly always with `method.reference.reset_every=1`. Else falling between "
        "resets, to about half of 1 - `pacs/groups/mixed_fraction`.",
        remedy="At that floor long before a reset: reset more often, or lower `method.beta`. At 0.5 long after: raise "
        "`method.beta` or the learning rate; see `pacs/log_ratio/sequence_std`.",
    ),
    Metric(
        name="pacs/saturated_fraction",
        column="saturated",
        over=COUNTED,
        formula="`abs(sigma(psi_i) - R_i) < 0.01`: psi beyond log 99 = 4.6, label met",
        unit=SHARE,
        healthy="0 after a reset, then rising. The residual of such a row is under a fiftieth of that at the reset.",
        remedy="High long before a reset: as above, or `method.reference.reset_at_saturation`.",
    ),
)

CRITIC = (
    Metric(
        name="pacs/critic/accuracy_fraction",
        column="accurate",
        over=MIXED,
        formula="`(psi_i > 0) == (R_i = 1)`; a score of 0 is half right",
        unit=SHARE,
        healthy="0.5 where scores are 0, then above, on samples that the score was not trained on.",
        remedy="Long below 0.5: updates mislead on new samples. Check the verifier in `samples/`. A lower learning "
        "rate ranks better, but need not learn more. Few mixed groups: noise.",
    ),
    Metric(
        name="pacs/critic/calibration_error_mean",
        column="calibration_error",
        over=MIXED,
        formula="`abs(mean sigma(psi) - share correct)` of the row's bin, of 10: the expected calibration error (ECE)",
        unit=SHARE,
        healthy="0: sigma(psi) is the probability of being right. abs(0.5 - pass rate of mixed groups) where scores "
        "are 0. Class balance leaves an error far from a pass rate of 0.5.",
        remedy="High with a high accuracy: near a residual of 0.5 scores are still too small; else overconfident, so "
        "lower `method.beta`.",
    ),
    Metric(
        name="pacs/critic/residual_mean",
        column="residual",
        over=MIXED,
        formula="`abs(sigma(psi_i) - R_i)`",
        unit=SHARE,
        healthy="0.5 where scores are 0, then falling between resets.",
        remedy="Above 0.5 with a high accuracy: the few scores of the wrong sign are large.",
    ),
    Metric(
        name="pacs/critic/bin_*/rows_count",
        column="counted",
        over=BIN,
        formula="sigma(psi_i) in `bin_0`: [0, 0.1), to `bin_9`: [0.9, 1]",
        unit="rows",
        healthy="All in `bin_5` where scores are 0, then spreading.",
        remedy="Only at the ends: overconfident.",
    ),
    Metric(
        name="pacs/critic/bin_*/probability_mean",
        column="probability",
        over=BIN,
        formula="`sigma(psi_i)`",
        unit=SHARE,
        healthy="Inside the bin.",
        remedy="None needed.",
    ),
    Metric(
        name="pacs/critic/bin_*/correct_fraction",
        column="correct",
        over=BIN,
        formula="`R_i = 1`",
        unit=SHARE,
        healthy="Equal to the probability above.",
        remedy="Else miscalibrated, or a bin of few rows.",
    ),
)

SCORES = (
    Metric(
        name="pacs/score/correct_mean",
        column="score",
        over=CORRECT,
        formula="`psi_i`",
        unit=SCORE,
        healthy="0 after a reset, then positive and growing away from `pacs/score/wrong_mean`.",
        remedy="Negative for long: lower the learning rate; check the verifier and `pacs/rollout_gap/per_token`.",
    ),
    Metric(
        name="pacs/score/wrong_mean",
        column="score",
        over=WRONG,
        formula="`psi_i`",
        unit=SCORE,
        healthy="0 after a reset, then negative and falling.",
        remedy="Positive for long: as `pacs/score/correct_mean`.",
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_std",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=SCORE,
            healthy="0 after a reset; grows with length. At best below the distance of the means.",
            remedy="Many times that: noise of long responses. Set `method.normalize_by_length=true`, or lower "
            "`method.beta`.",
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
            healthy="The row that the score is most wrong about, and the surest.",
            remedy="Far out: look for an odd response in `samples/`. One does no harm: its gradient is at most its "
            "weight.",
        )
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
        for end in ("min", "max")
    ),
    *(
        Metric(
            name=f"pacs/score/{label}_{quantile}",
            column="score",
            over=over,
            formula="`psi_i`",
            unit=SCORE,
            healthy="As the mean, less moved by single responses.",
            remedy="None needed.",
        )
        for label, over in (("correct", CORRECT), ("wrong", WRONG))
        for quantile in ("q10", "q50", "q90")
    ),
)
