"""A few ways of test_worker.py's through verl's real worker, on one rank: quick enough to be run after each change."""

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pacs.algorithm.nft import Nft
from tests.integration.worker import test_worker as cases
from tests.integration.worker.worker_case import naive_token_weights, rollout_log_probs, tiny_model, token_metrics

CASE = "qwen3 packed"
#: Either strategy in its simplest split; a reference of its own, and the policy.
WAYS = [
    (config, split, reference)
    for config in ("rloo", "other settings")
    for split in ("grouped, two groups", "cached, four rows")
    for reference in cases.REFERENCES
]
#: With a correction, of tokens and of responses.
CORRECTED = [
    (config, split, "reference")
    for config in ("corrected", "pacs, IcePop", "nft, truncated", "maxrl, geometric")
    for split in ("grouped, two groups", "cached, four rows")
]
#: Of a ratio the weight, in a response that is not rejected; of methods under which all rows count.
WEIGHTS: dict[str, Callable[[float], float]] = {
    "corrected": lambda ratio: min(ratio, 1.5),
    "pacs, IcePop": lambda ratio: ratio if 1 / 4 <= ratio <= 4 else 0.0,
    "maxrl, geometric": lambda ratio: 1.0,
}
#: Credit of a response's steps, and of a teacher: alone, and beside PACS.
CREDITED = [
    (config, split, "reference")
    for config in ("vineppo", "distillation", "pacs_distilled")
    for split in ("grouped, two groups", "cached, four rows")
]
#: Under a token weight, which the trainer makes of the whole batch.
WEIGHTED = [
    (config, split, "reference")
    for config in ("pacs, steer", "grpo, entropy_top", "nft, probability", "credit for each token, surprisal_band")
    for split in ("grouped, two groups", "cached, four rows")
] + [
    ("disco, position", "cached, four rows", "reference"),
    ("pacs, clip_cov", "grouped, two groups", "reference"),
    ("grpo, steer exact", "cached, four rows", "reference"),
    ("grpo, pooled_entropy", "cached, four rows", "reference"),
]
#: Of which the loss has a term beside it, and no weight is below 1.
PENALIZED = [("grpo, kl_cov", split, "reference") for split in ("grouped, two groups", "cached, four rows")]
STEPS = ("grouped", "cached, two epochs")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder: Path = tmp_path_factory.mktemp("worker")
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    cases.write_cases(folder, 1, {CASE: [*WAYS, *CORRECTED, *CREDITED, *WEIGHTED, *PENALIZED]}, STEPS)
    return cases.run_ranks(folder, 1)[CASE]


@pytest.mark.parametrize("way", [*WAYS, *CORRECTED, *CREDITED, *WEIGHTED, *PENALIZED], ids=" - ".join)
def test_the_gradient_is_that_of_one_whole_batch_pass(way: tuple[str, str, str], results: dict) -> None:
    config, _, reference = way
    family, _, temperature = cases.CASES[CASE]
    expected = cases.whole_batch_gradient(family, temperature, config, reference)
    assert cases.relative_error(results[way]["gradient"], expected) < 1e-5


def test_metrics_of_tokens_are_those_of_the_policys_own(results: dict) -> None:
    family, _, temperature = cases.CASES[CASE]
    reference = cases.reference_log_probs(family, temperature, "reference")
    expected = token_metrics(tiny_model(family, seed=0), reference, cases.ROWS, temperature)
    for split in ("grouped, two groups", "cached, four rows"):
        metrics = results["rloo", split, "reference"]["metrics"]
        assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("way", [way for way in CORRECTED if way[0] in WEIGHTS], ids=" - ".join)
def test_what_a_correction_does_is_logged(way: tuple[str, str, str], results: dict) -> None:
    """A token at a time, by the reference's log-probabilities and what the engine gave."""
    family, _, temperature = cases.CASES[CASE]
    weigh = WEIGHTS[way[0]]
    correction, weights = cases.METHODS[way[0]].update.correction, []
    reference = cases.reference_log_probs(family, temperature, "reference")
    for row, ref in zip(cases.ROWS, reference, strict=True):
        gaps = [float(r - s) for r, s, own in zip(ref, rollout_log_probs(row), row.mask, strict=True) if own]
        rejected = bool(gaps) and abs(sum(gaps) / len(gaps)) > math.log(correction.sequence_cap)
        weights += [0.0 if rejected else weigh(math.exp(gap)) for gap in gaps]
    found = results[way]["metrics"]
    assert 0 < sum(weight == 0 for weight in weights) < len(weights)
    expected = {
        "per_token": sum(weights) / len(weights),
        "largest_max": max(weights),
        "rejected_per_token": sum(weight == 0 for weight in weights) / len(weights),
        "effective_fraction": sum(weights) ** 2 / sum(weight**2 for weight in weights) / len(weights),
    }
    assert {name: found[f"pacs/correction/{name}"] for name in expected} == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("way", WEIGHTED, ids=" - ".join)
def test_the_weights_of_tokens_are_logged(way: tuple[str, str, str], results: dict) -> None:
    method = cases.METHODS[way[0]]
    weights, classes = naive_token_weights(cases.ROWS, method), defaultdict(set)
    for row in cases.ROWS:
        classes[row.uid].add(row.label)
    active = [i for i, row in enumerate(cases.ROWS) if len(classes[row.uid]) == 2 or not isinstance(method, Nft)]
    masked = torch.stack([weights[i][t] for i in active for t, own in enumerate(cases.ROWS[i].mask) if own])
    expected = {
        "per_token": float(masked.mean()),
        "carrying_per_token": float((masked > 0).float().mean()),
        "least_min": float(masked.min()),
    }
    found = {name: results[way]["metrics"][f"pacs/token_weight/{name}"] for name in expected}
    assert found == pytest.approx(expected, rel=1e-5)
    assert expected["least_min"] < 1


@pytest.mark.parametrize("way", PENALIZED, ids=" - ".join)
def test_the_tokens_that_are_held_are_logged(way: tuple[str, str, str], results: dict) -> None:
    tokens, metrics = sum(sum(row.mask) for row in cases.ROWS), results[way]["metrics"]
    assert metrics["pacs/token_weight/penalized_per_token"] == pytest.approx(int(0.1 * tokens) / tokens)
    assert metrics["pacs/token_weight/per_token"] == 1


@pytest.mark.parametrize("name", STEPS)
def test_three_steps_end_at_the_weights_of_plain_sgd(name: str, results: dict) -> None:
    """A reset after the second, and half the learning rate in the third."""
    before, after = cases.naive_steps(cases.STEPS[name][1])
    assert cases.relative_error(results[name]["weights"], after, base=before) < 1e-4
    assert results[name]["reset_copies"]
    assert all(torch.isfinite(value).all() for value in after.values())
