"""The critic's update through verl's real worker: rows of many traces have the gradient of a row for each."""

from pathlib import Path

import pytest
import torch

from pacs.verl_keys.config import SHARED_PREFIX
from tests import ranks
from tests.integration.worker import test_worker as cases
from tests.integration.worker.critic_case import credits_of, make_batch, make_judged, make_rows, naive_updates
from tests.integration.worker.worker_case import tiny_model

RATE = 0.3
RESPONSES = make_judged(9, seed=3)
CREDITS = credits_of(RESPONSES, seed=4)
#: All traces about a response in one row; at most 24 tokens in a row; a row for each trace.
MOST_TOKENS = {"one row": 10_000, "some rows": 24, "a row each": 1}
LAYOUTS = ("packed", "padded")
FAMILIES = ("qwen3", "llama")


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.long)], ids="{} rank(s)".format)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, dict]:
    folder: Path = tmp_path_factory.mktemp("critic")
    number = request.param
    for family in FAMILIES:
        for role in ("policy", "reference"):
            tiny_model(family, seed=0).save_pretrained(folder / family / role)
    overrides = [
        f"actor_rollout_ref.model.override_config.attn_implementation={SHARED_PREFIX}",
        "actor_rollout_ref.actor.use_dynamic_bsz=true",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=128",
    ]
    given = {
        (family, layout, split): {
            "family": family, "layout": layout, "learning_rate": RATE, "overrides": overrides,
            "rows": make_rows(RESPONSES, CREDITS, most),
        }
        for family in FAMILIES
        for layout in LAYOUTS
        for split, most in MOST_TOKENS.items()
    }  # fmt: skip
    torch.save(given, folder / f"cases_{number}.pt")
    ranks.run("tests.integration.worker.critic_process", [folder, "cpu"], number, folder)
    return number, torch.load(folder / f"results_{number}.pt", weights_only=False)


@pytest.mark.parametrize("split", MOST_TOKENS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_two_updates_are_those_of_a_row_for_each_trace(
    family: str, layout: str, split: str, results: tuple[int, dict]
) -> None:
    number, found = results
    batch = make_batch(make_rows(RESPONSES, CREDITS, MOST_TOKENS[split]), number)
    model = tiny_model(family, seed=0)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    expected = naive_updates(model, batch, number, RESPONSES, CREDITS, RATE)
    assert cases.relative_error(found[family, layout, split], expected, base=before) < 1e-5


def test_rows_hold_each_trace_once_and_no_more_tokens_than_they_may() -> None:
    for most in MOST_TOKENS.values():
        rows = make_rows(RESPONSES, CREDITS, most)
        assert sum(row.traces for row in rows) == sum(len(response.traces) for response in RESPONSES)
        assert all(len(row) <= most for row in rows if row.traces > 1)
        for row in rows:
            lengths = [len(row.prompt) + len(row.response), *map(len, (row.positions, row.branch, row.sees))]
            assert len(set(lengths)) == 1
            assert len(row.response) == len(row.mask) == len(row.credit) == len(row.log_probs)
    one, each = (sum(map(len, make_rows(RESPONSES, CREDITS, most))) for most in (10_000, 1))
    assert one < 0.8 * each
