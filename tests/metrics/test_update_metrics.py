"""`update_metrics` against plain loops over rows, and against itself under any split."""

import math
import random
import re
import statistics

import pytest
import torch

from pacs.algorithm import Pacs
from pacs.metrics.reduce import OPTIONAL_UPDATE_COLUMNS, UPDATE_COLUMNS, update_metrics

Row = dict[str, float]


def make_rows(seed: int, count: int = 60, *, optional: bool = True) -> list[Row]:
    """Random rows: some do not count, some are saturated, some have no token, one has a score of 0."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        row = {
            "active": float(rng.random() < 0.8),
            "correct": float(rng.random() < 0.4),
            "loss": rng.uniform(0, 3),
            "score": rng.gauss(0, 4),
            "log_ratio": rng.gauss(0.5, 2),
            "tokens": float(rng.randrange(9)),
            "effective_advantage": rng.gauss(0, 1),
            "mixed": float(rng.random() < 0.7),
            "grpo_fallback": float(rng.random() < 0.2),
        }
        if optional:
            row |= {
                "entropy": rng.uniform(0, 5),
                "rollout_gap": rng.uniform(0, 0.1),
                "rollout_gap_worst": rng.uniform(0, 0.05),
                "token_weight": rng.uniform(0, 9),
                "token_weight_least": rng.uniform(0, 1),
                "penalized_tokens": rng.randint(0, 3),
                "weighted_tokens": float(rng.randrange(9)),
                "row": float(len(rows)),
                "update": float(rng.randrange(2)),
            }
        rows.append(row)
    rows[0] |= {"score": 0.0, "active": 1.0, "mixed": 1.0}
    return rows


def table(rows: list[Row], dtype: torch.dtype = torch.float64) -> dict[str, torch.Tensor]:
    return {name: torch.tensor([row[name] for row in rows], dtype=dtype) for name in rows[0]}


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def quantile(values: list[float], share: float) -> float:
    """Between the two values whose places in the order enclose `share` of the way from the first to the last."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def naive(rows: list[Row]) -> dict[str, float]:
    active = [row for row in rows if row["active"]]
    correct = [row["score"] for row in active if row["correct"]]
    wrong = [row["score"] for row in active if not row["correct"]]
    residuals = [abs(sigmoid(row["score"]) - row["correct"]) for row in active]
    fresh = [row for row in active if row["update"] == 0]
    tokens = sum(row["tokens"] for row in active)
    mixed = [row for row in active if row["mixed"]]
    right_guesses = sum(0.5 if row["score"] == 0 else (row["score"] > 0) == bool(row["correct"]) for row in mixed)

    error = 0.0
    bins: dict[str, float] = {}
    for k in range(10):
        inside = [row for row in mixed if min(int(10 * sigmoid(row["score"])), 9) == k]
        bins[f"pacs/critic/bin_{k}/rows_count"] = len(inside)
        if inside:
            confidence = mean([sigmoid(row["score"]) for row in inside])
            share = mean([row["correct"] for row in inside])
            error += len(inside) / len(mixed) * abs(confidence - share)
            bins[f"pacs/critic/bin_{k}/probability_mean"] = confidence
            bins[f"pacs/critic/bin_{k}/correct_fraction"] = share

    expected = bins | {
        "pacs/rows/not_finite_count": 0,
        "pacs/loss_mean": mean([row["loss"] for row in active]),
        "pacs/residual_mean": mean(residuals),
        "pacs/saturated_fraction": sum(value < 0.01 for value in residuals) / len(active),
        "pacs/critic/accuracy_fraction": right_guesses / len(mixed),
        "pacs/critic/residual_mean": mean([abs(sigmoid(row["score"]) - row["correct"]) for row in mixed]),
        "pacs/critic/calibration_error_mean": error,
        "pacs/effective_advantage_rms": math.sqrt(mean([row["effective_advantage"] ** 2 for row in active])),
        "pacs/log_ratio/sequence_mean": mean([row["log_ratio"] for row in active]),
        "pacs/log_ratio/sequence_std": statistics.stdev([row["log_ratio"] for row in active]),
        "pacs/log_ratio/per_token": sum(row["log_ratio"] for row in active) / tokens,
        "pacs/grpo_fallback_fraction": mean([row["grpo_fallback"] for row in active]),
        "pacs/rollout_gap/per_token": sum(r["rollout_gap"] for r in fresh) / sum(r["tokens"] for r in fresh),
        "pacs/rollout_gap/worst_max": max(row["rollout_gap_worst"] for row in fresh),
        "pacs/token_weight/per_token": sum(row["token_weight"] for row in active) / tokens,
        "pacs/token_weight/carrying_per_token": sum(row["weighted_tokens"] for row in active) / tokens,
        "pacs/token_weight/least_min": min(row["token_weight_least"] for row in active),
        "pacs/token_weight/penalized_per_token": sum(row["penalized_tokens"] for row in active) / tokens,
        "actor/entropy": sum(row["entropy"] for row in active) / tokens,
    }
    for label, scores in (("correct", correct), ("wrong", wrong)):
        expected |= {
            f"pacs/score/{label}_mean": mean(scores),
            f"pacs/score/{label}_std": statistics.stdev(scores),
            f"pacs/score/{label}_min": min(scores),
            f"pacs/score/{label}_max": max(scores),
            f"pacs/score/{label}_q10": quantile(scores, 0.1),
            f"pacs/score/{label}_q50": statistics.median(scores),
            f"pacs/score/{label}_q90": quantile(scores, 0.9),
        }
    return expected


OF_PACS = set(Pacs.COLUMNS)
OPTIONAL_METRICS = {
    "actor/entropy", "pacs/rollout_gap/per_token", "pacs/rollout_gap/worst_max", "pacs/token_weight/per_token",
    "pacs/token_weight/carrying_per_token", "pacs/token_weight/least_min", "pacs/token_weight/penalized_per_token",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_equal_the_naive_metrics(seed: int) -> None:
    rows = make_rows(seed)
    assert update_metrics([table(rows)]) == pytest.approx(naive(rows), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_split_in_any_order_gives_the_same(seed: int) -> None:
    rows = make_rows(seed)
    whole = update_metrics([table(rows, torch.float32)])
    rng = random.Random(seed)
    rng.shuffle(rows)
    cuts = sorted(rng.sample(range(1, len(rows)), 7))
    parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    nothing = {name: column[:0] for name, column in table(rows).items()}
    tables = [table(part, torch.float32) for part in parts] + [nothing]
    rng.shuffle(tables)
    assert update_metrics(tables) == pytest.approx(whole, rel=1e-12, abs=1e-12)


def test_sums_do_not_lose_small_values_to_large_ones() -> None:
    """In float32 the one would be lost beside 2^25."""
    rows = [make_rows(0)[0] | {"log_ratio": value} for value in (2.0**25, 1.0)]
    assert update_metrics([table(rows, torch.float32)])["pacs/log_ratio/sequence_mean"] == (2.0**25 + 1) / 2


def test_by_hand() -> None:
    """Two rows: right and sure (psi = 10), right at psi = 0: p = 0.5 is half right, and 0.5 off."""
    base = dict.fromkeys(UPDATE_COLUMNS | {"mixed"}, 1.0)
    rows = [
        base | {"score": 10.0, "tokens": 1.0, "log_ratio": 6.0},
        base | {"score": 0.0, "tokens": 3.0, "log_ratio": -2.0},
    ]
    metrics = update_metrics([table(rows)])
    assert metrics["pacs/saturated_fraction"] == 0.5
    assert metrics["pacs/critic/accuracy_fraction"] == 0.75
    assert metrics["pacs/critic/calibration_error_mean"] == pytest.approx(0.25, abs=1e-4)
    assert metrics["pacs/log_ratio/per_token"] == 1.0
    assert metrics["pacs/score/correct_std"] == pytest.approx(10 / math.sqrt(2))


def test_all_scores_zero_have_the_calibration_error_of_a_coin() -> None:
    rows = [row | {"active": 1.0, "score": 0.0, "mixed": 1.0} for row in make_rows(3)]
    share = mean([row["correct"] for row in rows])
    metrics = update_metrics([table(rows)])
    assert metrics["pacs/critic/calibration_error_mean"] == pytest.approx(abs(0.5 - share))
    assert metrics["pacs/critic/accuracy_fraction"] == 0.5
    assert metrics["pacs/residual_mean"] == 0.5


def test_without_a_wrong_row_its_metrics_are_left_out() -> None:
    rows = [row | {"correct": 1.0} for row in make_rows(1)]
    metrics = update_metrics([table(rows)])
    assert {name for name in naive(make_rows(1)) if name not in metrics} == {
        f"pacs/score/wrong_{suffix}" for suffix in ("mean", "std", "min", "max", "q10", "q50", "q90")
    }


def test_one_row_has_no_standard_deviation() -> None:
    metrics = update_metrics([table([make_rows(1)[0] | {"tokens": 2.0, "update": 0.0, "correct": 1.0}])])
    assert metrics["pacs/score/correct_mean"] == 0.0
    assert [name for name in metrics if name.endswith("_std")] == []


def test_rows_without_a_token_have_no_value_per_token() -> None:
    metrics = update_metrics([table([row | {"tokens": 0.0} for row in make_rows(1)])])
    assert [name for name in metrics if name.endswith("per_token")] == []
    assert "actor/entropy" not in metrics
    assert "pacs/rollout_gap/worst_max" in metrics


def test_optional_columns_are_optional() -> None:
    with_them = naive(make_rows(2))
    without = [{name: row[name] for name in UPDATE_COLUMNS | OF_PACS} for row in make_rows(2)]
    assert update_metrics([table(without)]) == pytest.approx(
        {name: value for name, value in with_them.items() if name not in OPTIONAL_METRICS}, rel=1e-12, abs=1e-12
    )


def test_a_method_without_scores_has_the_other_metrics() -> None:
    rows = make_rows(2)
    metrics = update_metrics(
        [table([{name: value for name, value in row.items() if name not in OF_PACS} for row in rows])]
    )
    whole = update_metrics([table(rows)])
    assert metrics == {name: whole[name] for name in metrics}
    assert "pacs/loss_mean" in metrics
    assert not any("score" in name or "calibration" in name for name in metrics)


def test_without_a_mixed_group_nothing_is_said_of_the_critic() -> None:
    rows = [row | {"mixed": 0.0} for row in make_rows(2)]
    metrics = update_metrics([table(rows)])
    assert {name: value for name, value in metrics.items() if "critic" in name} == NO_ROWS_IN_BINS
    assert metrics["pacs/residual_mean"] == pytest.approx(naive(make_rows(2))["pacs/residual_mean"])


def test_labels_between_0_and_1_are_of_no_class() -> None:
    rows = make_rows(11)
    of_classes = {name for name in update_metrics([table(rows)]) if re.search("(correct|wrong)_(mean|min|max)", name)}
    rows[0]["correct"] = 0.25
    graded = update_metrics([table(rows)])
    assert of_classes
    assert not of_classes & graded.keys()
    # sigma(psi) of what is learned is not R then: with balanced classes another share of it.
    assert [name for name in graded if re.search("critic|residual|saturated", name)] == []
    active = [row["loss"] for row in rows if row["active"]]
    assert graded["pacs/loss_mean"] == pytest.approx(mean(active))


def test_only_the_first_update_has_a_gap() -> None:
    metrics = update_metrics([table([row | {"update": 1.0} for row in make_rows(2)])])
    assert [name for name in metrics if "rollout_gap" in name] == []
    assert "actor/entropy" in metrics


def test_the_calibration_error_can_be_had_from_the_bins() -> None:
    metrics = update_metrics([table(make_rows(5))])
    sizes = {k: metrics[f"pacs/critic/bin_{k}/rows_count"] for k in range(10)}
    errors = {
        k: abs(metrics[f"pacs/critic/bin_{k}/probability_mean"] - metrics[f"pacs/critic/bin_{k}/correct_fraction"])
        for k, size in sizes.items()
        if size
    }
    error = sum(sizes[k] * errors[k] for k in errors) / sum(sizes.values())
    assert metrics["pacs/critic/calibration_error_mean"] == pytest.approx(error)


def test_a_probability_on_an_edge_is_in_the_bin_above_it_and_1_in_the_last() -> None:
    """sigma(0) = 0.5 exactly; sigma(50) is 1 in 64 bits."""
    rows = [make_rows(0)[0] | {"score": score} for score in (0.0, 50.0, -50.0)]
    metrics = update_metrics([table(rows)])
    assert [k for k in range(10) if metrics[f"pacs/critic/bin_{k}/rows_count"]] == [0, 5, 9]


NO_ROWS_IN_BINS = {f"pacs/critic/bin_{k}/rows_count": 0 for k in range(10)}


def test_without_a_row_that_counts_there_is_nothing_but_counts() -> None:
    assert update_metrics([]) == {}
    metrics = update_metrics([table([row | {"active": 0.0} for row in make_rows(1)])])
    assert metrics == {"pacs/rows/not_finite_count": 0} | NO_ROWS_IN_BINS


def test_rows_that_do_not_count_are_not_read() -> None:
    """Only that their values are not finite is seen."""
    rows = make_rows(4)
    broken = [row if row["active"] else dict.fromkeys(row, math.nan) | {"active": 0.0} for row in rows]
    seen = {"pacs/rows/not_finite_count": sum(1 for row in rows if not row["active"])}
    assert seen["pacs/rows/not_finite_count"] > 0
    assert update_metrics([table(broken)]) == update_metrics([table(rows)]) | seen


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("column", sorted(UPDATE_COLUMNS | {"entropy", "rollout_gap_worst"}))
def test_a_row_that_is_not_finite_is_counted_and_left_out(column: str, value: float) -> None:
    rows = make_rows(4)
    broken = [row | {column: value} if i % 7 == 0 else row for i, row in enumerate(rows)]
    good = [row for i, row in enumerate(rows) if i % 7]
    assert update_metrics([table(broken)]) == update_metrics([table(good)]) | {"pacs/rows/not_finite_count": 9}


def test_without_a_finite_row_there_is_nothing_but_their_number() -> None:
    rows = [row | {"log_ratio": math.inf} for row in make_rows(4)]
    assert update_metrics([table(rows)]) == {"pacs/rows/not_finite_count": 60} | NO_ROWS_IN_BINS


def test_tables_must_have_the_columns() -> None:
    whole = table(make_rows(1))
    lacking = {name: column for name, column in whole.items() if name != "loss"}
    with pytest.raises(ValueError, match=re.escape("lacks the columns ['loss']")):
        update_metrics([lacking])
    with pytest.raises(ValueError, match=re.escape("unknown ones ['entropie']")):
        update_metrics([whole | {"entropie": whole["entropy"]}])
    without_entropy = {name: column for name, column in whole.items() if name != "entropy"}
    for tables in ([whole, without_entropy], [without_entropy, whole]):
        with pytest.raises(ValueError, match="different columns"):
            update_metrics(tables)


def test_the_columns_are_all_described() -> None:
    described = set(re.findall(r"^            (\w+)  +\S", update_metrics.__doc__ or "", re.MULTILINE))
    assert described == UPDATE_COLUMNS | OPTIONAL_UPDATE_COLUMNS
