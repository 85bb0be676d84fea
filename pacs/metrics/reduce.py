"""From tables (one row a response) to metrics: all rows of a step are put together, then reduced once, in float64.

So no value depends on how the rows were split over micro-batches, mini-batches and ranks.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial

import torch

from pacs.algorithm import ROW_COLUMNS
from pacs.algorithm.row_losses import SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE
from pacs.metrics import ours
from pacs.metrics.correction import COLUMNS, effective_share
from pacs.metrics.duplicates import duplicates
from pacs.metrics.groups import group_table
from pacs.metrics.ours import METRICS, OTHER, STATUSES, Metric

#: What every update table holds.
UPDATE_COLUMNS = frozenset(ROW_COLUMNS)
#: What it holds where the method has it, or it was computed.
OF_METHODS = frozenset({SEQUENCE_ADVANTAGE, TOKEN_ADVANTAGE, "score", "mixed", "grpo_fallback"})
OF_TOKENS = {"entropy", "rollout_gap", "rollout_gap_worst"}
OF_WEIGHTS = {"token_weight", "token_weight_least", "weighted_tokens", "penalized_tokens"}
OF_ROWS = {"row", "update", "merged_tokens", "guided", "answer_probability", "answered"}
OPTIONAL_UPDATE_COLUMNS = OF_METHODS | OF_TOKENS | OF_WEIGHTS | COLUMNS | OF_ROWS

SATURATED_RESIDUAL, CALIBRATION_BINS = 0.01, 10

#: Suffix -> the reduction of (S,) values to a 0-dimensional tensor; `per_token` also needs the tokens.
REDUCERS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    **dict.fromkeys(("mean", "fraction"), torch.mean),
    "std": torch.std,
    "min": torch.min,
    "max": torch.max,
    **dict.fromkeys(("sum", "count"), torch.sum),
    "rms": lambda values: values.square().mean().sqrt(),
    **{f"q{percent}": partial(torch.quantile, q=percent / 100) for percent in (10, 50, 90)},
}
#: Suffix -> the rows it takes, where that is not 1.
LEAST_ROWS = {"count": 0, "sum": 0, "std": 2}


def update_metrics(tables: Sequence[Mapping[str, torch.Tensor]]) -> dict[str, float]:
    """The metrics of a step's updates.

    A metric without a row to reduce, or of an optional column that is not there, is left out; so is a standard
    deviation of one row. A row with a value that is not finite is counted as such and otherwise not read, so that
    every metric is finite.

    Args:
        tables: of all micro-batches, mini-batches and ranks, in any order. Column -> (B,) of any number type, with
            `UPDATE_COLUMNS` and the same ones of `OPTIONAL_UPDATE_COLUMNS` in all, at the weights before the update:

            active               1 if the row counts in N of Eq. 8; of other rows nothing but finiteness is read
            correct              the label R; with others than 0 and 1, what is of right and wrong rows is left out
            loss                 w * l
            score                psi; comes with `mixed`
            mixed                1 if the row's group has right and wrong responses
            log_ratio            sum over tokens of log pi_theta - log pi_ref, nats
            tokens               tokens of the response
            effective_advantage  A
            sequence_advantage   of a tokenwise method, the part of A by sums that weigh tokens alike; not reduced
            token_advantage      of a tokenwise method, the factor of its token objectives; not reduced
            grpo_fallback        1 if the row's group fell back to dr_grpo
            entropy              sum over tokens of the policy's entropy, nats
            rollout_gap          sum over tokens of |log pi of vLLM - log pi of the trainer|, nats
            rollout_gap_worst    largest of these
            correction           sum over tokens of the weights of `method.update.correction`
            correction_square    sum of their squares
            correction_largest   largest of these weights
            rejected_tokens      tokens whose weight is 0
            token_weight         sum over tokens of `method.token_weight`
            token_weight_least   smallest of these; 1 of a response without a token
            weighted_tokens      tokens whose weight is not 0
            penalized_tokens     tokens that are held at the policy that sampled (`kl_cov`)
            answer_probability   mean probability of the reference answer's tokens (`run.rlpr.answer_weight`), or 0
            answered             1 if it ends in a reference answer
            merged_tokens        tokens that had no pass of their own (`method.update.merge_duplicates`)
            guided               1 if it was sampled with guidance that its prompt does not have; not reduced
            row                  the row's place in the train batch; not reduced
            update               which of the step's updates; the first, 0, has the weights that vLLM sampled with

    Returns:
        Metric -> value; empty without a table.

    Raises:
        ValueError: columns that are missing, unknown, or not the same in all tables.
    """
    if not tables:
        return {}
    _check_columns(names := tables[0].keys(), tables)
    rows = {name: torch.cat([table[name].double() for table in tables]) for name in names}
    finite = torch.stack(list(rows.values())).isfinite().all(dim=0)
    not_finite = _reduce({"not_finite": (~finite).double()}, {ours.UPDATED: torch.ones_like(finite)})
    read = finite & (rows["active"] != 0)
    rows = {name: column[read] for name, column in rows.items()}

    rows |= effective_share(rows)
    correct = rows["correct"] == 1
    selections = {ours.ACTIVE: torch.ones_like(correct)}
    classes = not bool((~correct & (rows["correct"] != 0)).any())
    selections |= {ours.CORRECT: correct, ours.WRONG: ~correct} if classes else {}
    if "update" in rows:
        selections[ours.FRESH] = (rows["update"] == 0) & (rows.get("guided", 0 * rows["update"]) == 0)
    if "score" not in rows or not classes:
        return not_finite | _reduce(rows, selections)
    probability = torch.sigmoid(rows["score"])
    residual = (probability - rows["correct"]).abs()
    columns = rows | {
        "probability": probability,
        "residual": residual,
        "saturated": (residual < SATURATED_RESIDUAL).double(),
        "accurate": (1 + rows["score"].sign() * (2 * rows["correct"] - 1)) / 2,
    }
    metrics = not_finite | _reduce(columns, selections)
    # What the score knows: a group of one class has nothing to tell apart, and scores of both signs.
    judged = {name: column[rows["mixed"] == 1] for name, column in columns.items()}
    bins = _bins(judged["probability"])
    judged["calibration_error"] = _calibration_errors(judged["probability"], judged["correct"], bins)
    metrics |= _reduce(judged, {ours.MIXED: torch.ones_like(bins, dtype=torch.bool)})
    for number in range(CALIBRATION_BINS):
        family = _reduce(judged, {ours.BIN: bins == number})
        metrics |= {name.replace("*", str(number)): value for name, value in family.items()}
    return metrics


def gradient_metrics(norms: Sequence[float], clip: float) -> dict[str, float]:
    """Reduce the gradient norms of a step's updates.

    Args:
        norms: one an update, before clipping; not finite where verl skipped the update.
        clip: `optim.clip_grad`.

    Returns:
        Metric -> value.
    """
    values = torch.tensor(norms, dtype=torch.float64)
    finite = values[values.isfinite()]
    return {
        "pacs/gradient/norm_max": float(values.max()),
        "pacs/gradient/clipped_fraction": float((finite > clip).sum() / len(values)),
        "pacs/gradient/skipped_count": float(len(values) - len(finite)),
    }


def batch_metrics(
    *,
    group: torch.Tensor,
    score: torch.Tensor,
    tokens: torch.Tensor,
    truncated: torch.Tensor,
    alone: torch.Tensor,
    fingerprints: torch.Tensor,
    status: Sequence[str] | None,
    unfinished: Sequence[float] | None = None,
    first: torch.Tensor | None = None,
    told: Mapping[str, torch.Tensor] | None = None,
    vine: torch.Tensor | None = None,
) -> dict[str, float]:
    """The metrics of a step's sampled batch, before any update.

    A metric without a row (or group) to reduce is left out; counts are then 0. Right and wrong are only told apart
    where all scores are 0 or 1: with any other score, the metrics of right and of wrong responses and of groups are
    left out, counts among them, and `pacs/rows/graded_count` is above 0.

    Args:
        group: (B,) int64, any values: rows of one prompt have the same. Padding rows are not given.
        score: (B,) the reward function's: the label R, 0 or 1, or a graded one. Finite.
        tokens: (B,) tokens of the response.
        truncated: (B,) 1 if the response was stopped by the limit on its length.
        alone: (B,) 1 if too few others of its group are left to compare it with: dropped, and only counted here.
        fingerprints: (B,) int64, the same of the same response (`duplicates.fingerprint`).
        status: B statuses of the verifier; None if it gives none.
        unfinished: B numbers, 1 where the response ended within its reasoning; None where that is not known.
        first: (B,) bool, of the first stage's responses; None without DARS: all are, and no metric of it is returned.
        told: columns of (B,) each by what the agent loops told: `turn_columns`, `guided_columns`; None: none.
        vine: (B, 4) steps of the response, tokens of their completions, of the prompts of these, and of those in the
            engine's cache; None without completions.

    Returns:
        Metric -> value.
    """
    kept = alone == 0
    right = score == 1
    graded = ~right & (score != 0)
    columns = {"graded": graded, "alone": ~kept, "truncated": truncated, "tokens": tokens, **(told or {})}
    if status is not None:
        known = [word if word in STATUSES else OTHER for word in status]
        columns |= {f"status_{kind}": torch.tensor([word == kind for word in known]) for kind in (*STATUSES, OTHER)}
    columns |= {} if unfinished is None else {"unfinished": torch.tensor(unfinished)}
    columns |= {} if first is None else {"further": ~first}
    vine_columns = ("steps", "completion_tokens", "prefix_tokens", "cached_tokens")
    columns |= {} if vine is None else dict(zip(vine_columns, vine.unbind(1), strict=True))
    begun = kept if first is None else kept & first
    selections = {ours.SAMPLED: torch.ones_like(kept), ours.RESPONSES: kept, ours.FIRST: begun}
    columns["duplicate"], repeated = duplicates(group, fingerprints)
    columns["repeated_tokens"] = tokens * repeated
    classes = not graded[kept].any()
    if classes:
        columns |= {"correct": right, "wrong": ~right}
        selections |= {ours.CORRECT_RESPONSES: kept & right, ours.WRONG_RESPONSES: kept & ~right}
    of_classes, of_stage = right[kept] if classes else None, None if first is None else first[kept]
    guided = columns["rescued"][kept] > 0 if "rescued" in columns else None
    groups = _reduce(*group_table(group[kept], ~repeated[kept], of_classes, of_stage, guided))
    return _reduce({name: column.double() for name, column in columns.items()}, selections) | groups


def _check_columns(names: Set[str], tables: Sequence[Mapping[str, torch.Tensor]]) -> None:
    missing, unknown = UPDATE_COLUMNS - names, names - UPDATE_COLUMNS - OPTIONAL_UPDATE_COLUMNS
    if missing or unknown:
        raise ValueError(f"an update table lacks the columns {sorted(missing)} and has unknown ones {sorted(unknown)}")
    for table in tables:
        if table.keys() != names:
            raise ValueError(f"update tables of different columns: {sorted(names)} and {sorted(table)}")


def _bins(probability: torch.Tensor) -> torch.Tensor:
    """(B,) the number of each row's bin, from 0."""
    edges = torch.arange(1, CALIBRATION_BINS, dtype=probability.dtype) / CALIBRATION_BINS
    return torch.bucketize(probability, edges, right=True)


def _calibration_errors(probability: torch.Tensor, correct: torch.Tensor, bins: torch.Tensor) -> torch.Tensor:
    """(B,) |mean probability - share correct| of each row's bin, so that the mean over rows weighs bins by size."""
    size = bins.bincount(minlength=CALIBRATION_BINS)
    error = bins.bincount(probability - correct, minlength=CALIBRATION_BINS).abs() / size
    return error[bins]


def _reduce(columns: Mapping[str, torch.Tensor], selections: Mapping[str, torch.Tensor]) -> dict[str, float]:
    """Every metric of ours over one of the selections: (B,) bool for (B,) float64 columns."""
    values = {
        metric.name: _value(metric, columns, selections[metric.over]) for metric in METRICS if metric.over in selections
    }
    return {name: value for name, value in values.items() if value is not None}


def _value(metric: Metric, columns: Mapping[str, torch.Tensor], rows: torch.Tensor) -> float | None:
    """One metric, or None where it has no value."""
    column = columns.get(metric.column)
    if column is None:
        return None
    values = column[rows]
    if len(values) < LEAST_ROWS.get(metric.suffix, 1):
        return None
    if metric.suffix == "per_token":
        tokens = columns["tokens"][rows].sum()
        return (values.sum() / tokens).item() if tokens > 0 else None
    return REDUCERS[metric.suffix](values).item()
