"""A reference answer in place of the sampled one, through verl's real workers on one rank and two.

Its tokens carry the gradient of their own mean probability, and of nothing else.
"""

import random
from dataclasses import replace
from itertools import product

import pytest
import torch

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Grpo
from tests.integration.worker.test_worker import TRIED_RANKS, relative_error, run_ranks
from tests.integration.worker.worker_case import (
    VOCABULARY,
    Row,
    autograd_loss,
    deal_out,
    make_rows,
    response_log_probs,
    tiny_model,
    token_credit_loss,
)

pytestmark = pytest.mark.slow

GROUPS, WEIGHT, RANDOM = 5, 0.7, random.Random(4)


def with_answer(row: Row) -> Row:
    """A reference answer of one to four tokens at its end; of some rows none."""
    answer = [RANDOM.randrange(1, VOCABULARY) for _ in range(RANDOM.randrange(5))]
    first = len(row.response)
    span = (first, first + len(answer)) if answer else (0, 0)
    return replace(row, response=row.response + answer, mask=row.mask + [0] * len(answer), answer=span)


ROWS = [with_answer(row) for row in make_rows(GROUPS, seed=9)]
#: Of GRPO N is a number of tokens, and the term's rows all the same.
METHODS: dict[str, Method] = {"pacs": Pacs(), "grpo": Grpo()}
#: name -> verl's settings, whether a group stays on one rank.
SPLITS = {
    "grouped": ({"pacs_strategy": "grouped", "max_token_len_per_gpu": 130}, True),
    "cached": ({"pacs_strategy": "cached", "max_token_len_per_gpu": 48}, False),
}


def term(log_probs: list[torch.Tensor]) -> torch.Tensor:
    """A row at a time."""
    total = torch.zeros(())
    for row, own in zip(ROWS, log_probs, strict=True):
        answered = own[slice(*row.answer)]
        if len(answered):
            total = total - sum(log_prob.exp() for log_prob in answered) / len(answered)
    return WEIGHT * total / len(ROWS)


@pytest.fixture(scope="module", params=TRIED_RANKS, ids=["one rank", "two ranks"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder, ranks = tmp_path_factory.mktemp("term"), request.param
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    ways = {}
    for (name, method), (split, (settings, whole)) in product(METHODS.items(), SPLITS.items()):
        parts = deal_out(ROWS, groups_per_mini_batch=GROUPS + 1, ranks=ranks, whole_groups=whole)
        given = settings | {"use_dynamic_bsz": True, "pacs_answer_weight": WEIGHT}
        ways[name, split] = (method, parts, given, False)
    case = {"family": "qwen3", "layout": "packed", "temperature": 1.0, "learning_rate": 0.1, "ways": ways}
    torch.save({"term": case}, folder / f"cases_{ranks}.pt")
    return run_ranks(folder, ranks)["term"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("name", METHODS)
def test_the_gradient_is_that_of_one_whole_batch_pass(name: str, split: str, results: dict) -> None:
    with torch.no_grad():
        reference = response_log_probs(tiny_model("qwen3", seed=1), ROWS)
    model = tiny_model("qwen3", seed=0)
    log_probs = response_log_probs(model, ROWS)
    if name == "grpo":
        loss = token_credit_loss(log_probs, reference, ROWS, METHODS[name])
    else:
        loss = autograd_loss(model, reference, ROWS, METHODS[name])
    (loss + term(log_probs)).backward()
    expected = {parameter: value.grad for parameter, value in model.named_parameters()}
    assert relative_error(results[name, split]["gradient"], expected) < 1e-5


@pytest.mark.parametrize("split", SPLITS)
def test_what_it_climbs_is_logged(split: str, results: dict) -> None:
    with torch.no_grad():
        log_probs = response_log_probs(tiny_model("qwen3", seed=0), ROWS)
        metrics = results["pacs", split]["metrics"]
        assert metrics["pacs/rlpr/answer_probability_mean"] == pytest.approx(-float(term(log_probs)) / WEIGHT, rel=1e-4)
    answered = sum(row.answer != (0, 0) for row in ROWS) / len(ROWS)
    assert metrics["pacs/rlpr/answered_fraction"] == pytest.approx(answered)
