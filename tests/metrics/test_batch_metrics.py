"""`batch_metrics` against plain counts."""

import random
from collections import Counter
from typing import Any, get_args

import pytest
import torch

from pacs.metrics.duplicates import fingerprint
from pacs.metrics.reduce import batch_metrics
from pacs.rewards.verdict import Status

KNOWN = get_args(Status)
STATUSES = [*KNOWN, "mystery", ""]


def make_rows(seed: int) -> list[dict[str, Any]]:
    """Groups of 1 (alone), 2 to 5 responses, shuffled; some of one class."""
    rng, written = random.Random(seed), random.Random(seed)
    rows = []
    for group in range(20):
        # The group of the largest id is all wrong, so that no count of correct rows reaches it.
        size, share = (rng.randrange(1, 6), rng.choice([0.0, 0.5, 1.0])) if group else (3, 0.0)
        for _ in range(size):
            rows.append(
                {
                    "group": 1000 - 7 * group,
                    "score": float(rng.random() < share),
                    "tokens": float(rng.randrange(50)),
                    "truncated": float(rng.random() < 0.3),
                    "alone": float(size == 1),
                    "status": rng.choice(STATUSES),
                    "response": written.choice([[1], [1, 2], [2, 1], [], [1, 2, 3]]),
                }
            )
    rng.shuffle(rows)
    return rows


def compute(rows: list[dict[str, Any]], **changed: Any) -> dict[str, float]:
    columns: dict[str, Any] = {
        name: torch.tensor([row[name] for row in rows], dtype=torch.float32)
        for name in ("score", "tokens", "truncated", "alone")
    }
    columns["group"] = torch.tensor([row["group"] for row in rows], dtype=torch.int64)
    columns["status"] = [row["status"] for row in rows]
    columns["fingerprints"] = torch.tensor([fingerprint(row["response"]) for row in rows])
    return batch_metrics(**(columns | changed))


def naive(rows: list[dict[str, Any]]) -> dict[str, float]:
    kept = [row for row in rows if not row["alone"]]
    correct = [row for row in kept if row["score"]]
    wrong = [row for row in kept if not row["score"]]
    groups: dict[int, list[float]] = {}
    for row in kept:
        groups.setdefault(row["group"], []).append(row["score"])

    written: dict[int, list[list[int]]] = {}
    repeated = 0
    for row in kept:
        repeated += row["tokens"] * (row["response"] in written.setdefault(row["group"], []))
        written[row["group"]].append(row["response"])
    alike = sum(written[row["group"]].count(row["response"]) > 1 for row in kept)
    distinct = [len(set(map(tuple, responses))) for responses in written.values()]

    def share(rows: list[dict[str, Any]], name: str) -> float:
        return sum(1 for row in rows if row[name]) / len(rows)

    expected = {
        "pacs/rows/correct_count": len(correct),
        "pacs/rows/wrong_count": len(wrong),
        "pacs/rows/graded_count": 0,
        "pacs/rows/alone_count": len(rows) - len(kept),
        "pacs/duplicates/responses_fraction": alike / len(kept),
        "pacs/duplicates/distinct_mean": sum(distinct) / len(distinct),
        "pacs/duplicates/repeated_per_token": repeated / sum(row["tokens"] for row in kept),
        "pacs/groups/mixed_fraction": sum(0 < sum(g) < len(g) for g in groups.values()) / len(groups),
        "pacs/groups/all_correct_fraction": sum(all(g) for g in groups.values()) / len(groups),
        "pacs/groups/all_wrong_fraction": sum(not any(g) for g in groups.values()) / len(groups),
        "pacs/response_tokens/correct_mean": sum(row["tokens"] for row in correct) / len(correct),
        "pacs/response_tokens/wrong_mean": sum(row["tokens"] for row in wrong) / len(wrong),
        "pacs/truncated_fraction": share(kept, "truncated"),
        "pacs/truncated/correct_fraction": share(correct, "truncated"),
    }
    for status in KNOWN:
        expected[f"pacs/verifier/{status}_fraction"] = sum(row["status"] == status for row in kept) / len(kept)
    expected["pacs/verifier/other_fraction"] = sum(row["status"] not in KNOWN for row in kept) / len(kept)
    return expected


@pytest.mark.parametrize("seed", range(5))
def test_a_second_stage_is_counted_and_says_nothing_of_the_policy(seed: int) -> None:
    """Of each group the first two responses are of the first stage."""
    rows, number = make_rows(seed), Counter[int]()
    for row in rows:
        row["first"] = number[row["group"]] < 2
        number[row["group"]] += 1
    first = torch.tensor([row["first"] for row in rows])
    found = compute(rows, first=first)
    kept = [row for row in rows if not row["alone"]]
    policys = naive([row for row in rows if row["first"]])
    expected = naive(rows) | {
        name: value
        for name, value in policys.items()
        if name.startswith("pacs/verifier/") or name == "pacs/truncated_fraction"
    }
    of_first = Counter(row["group"] for row in kept if row["first"] and row["score"])
    rescued = {row["group"] for row in kept if row["score"] and not of_first[row["group"]]}
    expected |= {
        "pacs/dars/rescued_count": len(rescued),
        "pacs/dars/further_count": sum(not row["first"] for row in kept),
    }
    assert found == pytest.approx(expected, rel=1e-12)
    assert bool(rescued) == (seed in (0, 1, 3))


def test_completions_that_value_steps_are_counted_by_the_token() -> None:
    rows = make_rows(3)
    kept = [place for place, row in enumerate(rows) if not row["alone"]]
    vine = torch.tensor([[1.0 + place % 4, 10.0 * place, 7.0 * place, 3.0 * place] for place in range(len(rows))])
    tokens = sum(rows[place]["tokens"] for place in kept)
    assert compute(rows, vine=vine) == pytest.approx(
        naive(rows)
        | {
            "pacs/vine/steps_mean": sum(1 + place % 4 for place in kept) / len(kept),
            "pacs/vine/completions_per_token": sum(10 * place for place in kept) / tokens,
            "pacs/vine/prefixes_per_token": sum(7 * place for place in kept) / tokens,
            "pacs/vine/cached_per_token": sum(3 * place for place in kept) / tokens,
        },
        rel=1e-12,
    )


@pytest.mark.parametrize("seed", range(5))
def test_equal_the_naive_counts(seed: int) -> None:
    rows = make_rows(seed)
    assert compute(rows) == pytest.approx(naive(rows), rel=1e-12)


def test_without_statuses_there_are_none_of_the_verifier() -> None:
    rows = make_rows(0)
    expected = {name: value for name, value in naive(rows).items() if not name.startswith("pacs/verifier/")}
    assert compute(rows, status=None) == pytest.approx(expected, rel=1e-12)


def test_statuses_that_do_not_occur_are_0() -> None:
    rows = [row | {"status": "correct"} for row in make_rows(0)]
    shares = {name: value for name, value in compute(rows).items() if name.startswith("pacs/verifier/")}
    assert shares.pop("pacs/verifier/correct_fraction") == 1
    assert list(shares.values()) == [0] * len(KNOWN)  # the others, and `other`


def test_only_alone_rows_leave_counts() -> None:
    rows = [row | {"alone": 1.0, "group": index} for index, row in enumerate(make_rows(0))]
    assert compute(rows) == {
        "pacs/rows/correct_count": 0,
        "pacs/rows/wrong_count": 0,
        "pacs/rows/graded_count": 0,
        "pacs/rows/alone_count": len(rows),
    }


def test_without_a_wrong_row_its_metrics_are_left_out_and_its_count_is_0() -> None:
    rows = [row | {"score": 1.0} for row in make_rows(0)]
    metrics = compute(rows)
    assert metrics["pacs/rows/wrong_count"] == 0
    assert metrics["pacs/groups/all_correct_fraction"] == 1
    assert "pacs/response_tokens/wrong_mean" not in metrics


def test_whole_numbers_and_booleans_are_numbers() -> None:
    rows = make_rows(1)
    columns = {name: torch.tensor([int(row[name]) for row in rows]) for name in ("score", "tokens", "truncated")}
    assert compute(rows, **columns, alone=torch.tensor([bool(row["alone"]) for row in rows])) == compute(rows)


def test_a_single_response_is_no_group() -> None:
    """Baselines train on it, so that it is not counted as alone."""
    rows = [
        row | {"alone": 0.0, "group": number // 2 + 1, "score": float(number % 2)}
        for number, row in enumerate(make_rows(0)[:3])
    ]
    found = compute(rows)
    assert found["pacs/groups/mixed_fraction"] == 1
    assert found["pacs/groups/all_wrong_fraction"] == 0
    assert not any(name.startswith("pacs/groups/") for name in compute(rows[2:]))


@pytest.mark.parametrize("scores", [[0.9, 0.2], [1.0, 0.5], [0.0, -1.0], [2.0, 1.0]])
def test_graded_scores_are_not_counted_as_right_or_wrong(scores: list[float]) -> None:
    rows = [row | {"group": 1, "alone": 0.0, "score": s} for row, s in zip(make_rows(0), scores, strict=False)]
    metrics = compute(rows)
    assert metrics["pacs/rows/graded_count"] == sum(score not in (0, 1) for score in scores)
    left = {name for name in metrics if not name.startswith(("pacs/verifier/", "pacs/duplicates/"))}
    assert left == {"pacs/rows/graded_count", "pacs/rows/alone_count", "pacs/truncated_fraction"}
    assert metrics["pacs/truncated_fraction"] == sum(row["truncated"] for row in rows) / len(rows)


def test_a_graded_score_that_is_dropped_takes_nothing_away() -> None:
    rows = make_rows(0)
    assert any(row["alone"] for row in rows)
    dropped = [row | {"score": 0.5} if row["alone"] else row for row in rows]
    assert compute(dropped) == compute(rows)


def test_responses_have_one_fingerprint_if_and_only_if_their_tokens_are_the_same() -> None:
    responses = [[], [0], [0, 0], [1, 2], [2, 1], [12], [1, 2, 0], [258], [1, 256]]
    numbers = [fingerprint(response) for response in responses]
    assert len(set(numbers)) == len(responses)
    assert all(0 <= number < 2**63 for number in numbers)
    assert numbers == [fingerprint(torch.tensor(response).tolist()) for response in responses]


def test_graded_responses_are_compared_too() -> None:
    """They have no classes; whether they are the same has nothing to do with those."""
    rows = make_rows(0)
    names = [name for name in naive(rows) if name.startswith("pacs/duplicates/")]
    graded = compute([row | {"score": 0.5} for row in rows])
    assert {name: graded[name] for name in names} == pytest.approx({name: naive(rows)[name] for name in names})
    assert "pacs/groups/mixed_fraction" not in graded
