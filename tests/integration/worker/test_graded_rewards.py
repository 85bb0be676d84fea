"""Rewards that are a sum of parts, through verl's real workers on one rank and two: PACS between 0 and 1, GVPO and GRPO
with any number."""

import random
from dataclasses import replace
from itertools import product

import pytest
import torch

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.gvpo import Gvpo
from tests.integration.worker.test_worker import TRIED_RANKS, relative_error, run_ranks
from tests.integration.worker.worker_case import (
    Row,
    deal_out,
    make_rows,
    response_log_probs,
    tiny_model,
    token_credit_loss,
)

pytestmark = pytest.mark.slow

GROUPS = 5
RANDOM = random.Random(8)
SHARES = [replace(row, label=RANDOM.choice((0.0, 0.5, 1.0, RANDOM.random()))) for row in make_rows(GROUPS, seed=6)]
NUMBERS = [replace(row, label=3 * row.label - 1) for row in SHARES]
METHODS: dict[str, tuple[Method, list[Row]]] = {
    "pacs": (Pacs(beta=0.6), SHARES),
    "gvpo": (Gvpo(beta=0.3), NUMBERS),
    "grpo": (Grpo(), NUMBERS),
}
#: name -> verl's settings, whether a group stays on one rank.
SPLITS = {
    "grouped": ({"pacs_strategy": "grouped", "max_token_len_per_gpu": 120}, True),
    "cached": ({"pacs_strategy": "cached", "max_token_len_per_gpu": 48}, False),
}


def naive_loss(
    log_probs: list[torch.Tensor], reference: list[torch.Tensor], rows: list[Row], name: str
) -> torch.Tensor:
    """A group at a time; of PACS with a label between 0 and 1 as so much of a right response."""
    if name == "grpo":
        return token_credit_loss(log_probs, reference, rows, Grpo())
    ratios = [
        (log_prob - ref)[torch.tensor(row.mask) == 1].sum()
        for log_prob, ref, row in zip(log_probs, reference, rows, strict=True)
    ]
    total = torch.zeros(())
    for uid in {row.uid for row in rows}:
        members = [i for i, row in enumerate(rows) if row.uid == uid]
        size, right = len(members), sum(rows[i].label for i in members)
        for i in members:
            others = sum(ratios[j] for j in members if j != i) / (size - 1)
            label = rows[i].label
            if name == "gvpo":
                mean = sum(float(ratios[j]) for j in members) / size
                total = total + (0.3 * (ratios[i] - mean) - (label - right / size)) ** 2 / (2 * (size - 1))
                continue
            sigma = torch.sigmoid(0.6 * (ratios[i] - others))
            up, down = (size / (2 * right), size / (2 * (size - right))) if 0 < right < size else (1.0, 1.0)
            total = total - up * label * torch.log(sigma) - down * (1 - label) * torch.log(1 - sigma)
    return total / len(rows)


@pytest.fixture(scope="module", params=TRIED_RANKS, ids=["one rank", "two ranks"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder, ranks = tmp_path_factory.mktemp("graded"), request.param
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    ways = {}
    for (name, (method, rows)), (split, (settings, whole)) in product(METHODS.items(), SPLITS.items()):
        parts = deal_out(rows, groups_per_mini_batch=GROUPS + 1, ranks=ranks, whole_groups=whole)
        ways[name, split] = (method, parts, settings | {"use_dynamic_bsz": True}, False)
    case = {"family": "qwen3", "layout": "packed", "temperature": 0.7, "learning_rate": 0.1, "ways": ways}
    torch.save({"graded": case}, folder / f"cases_{ranks}.pt")
    return run_ranks(folder, ranks)["graded"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", METHODS)
def test_the_gradient_is_that_of_one_whole_batch_pass(name: str, split: str, results: dict) -> None:
    rows = METHODS[name][1]
    with torch.no_grad():
        reference = response_log_probs(tiny_model("qwen3", seed=1), rows, 0.7)
    model = tiny_model("qwen3", seed=0)
    naive_loss(response_log_probs(model, rows, 0.7), reference, rows, name).backward()
    expected = {parameter: value.grad for parameter, value in model.named_parameters()}
    assert relative_error(results[name, split]["gradient"], expected) < 1e-5
