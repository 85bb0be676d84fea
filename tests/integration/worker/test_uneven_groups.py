"""Groups of uneven size, as a second stage of rollouts leaves them, through verl's real workers on one rank and two."""

from itertools import product

import pytest
import torch

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Grpo
from tests.integration.worker.test_worker import TRIED_RANKS, relative_error, run_ranks
from tests.integration.worker.worker_case import (
    EqualPull,
    autograd_loss,
    deal_out,
    make_rows,
    response_log_probs,
    tiny_model,
)

pytestmark = pytest.mark.slow

#: Responses to each prompt; four begin with.
SIZES = (4, 11, 4, 6, 9, 4, 5, 4)
LARGEST, ACTOR = max(SIZES), "actor_rollout_ref.actor"
ROWS = make_rows(len(SIZES), seed=5, sizes=SIZES)
METHODS: dict[str, Method] = {"pacs": Pacs(), "pacs, groups that pull alike": EqualPull(), "grpo": Grpo()}
#: name -> verl's settings, whether a group stays on one rank. Blocks have the largest group's rows.
SPLITS = {
    "grouped": ({"pacs_strategy": "grouped", "max_token_len_per_gpu": 250, "force_group_size": LARGEST}, True),
    "cached": ({"pacs_strategy": "cached", "max_token_len_per_gpu": 24}, False),
}


@pytest.fixture(scope="module", params=TRIED_RANKS, ids=["one rank", "two ranks"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder, ranks = tmp_path_factory.mktemp("uneven"), request.param
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    ways = {}
    for (method, config), (name, (settings, whole)) in product(METHODS.items(), SPLITS.items()):
        parts = deal_out(ROWS, groups_per_mini_batch=len(SIZES), ranks=ranks, whole_groups=whole, size=LARGEST)
        # Eight groups lie in five blocks, or six that two ranks share.
        assert sum(map(len, parts)) == LARGEST * (5 if ranks == 1 else 6)
        ways[method, name] = (config, parts, settings | {"use_dynamic_bsz": True}, False)
    about = {"family": "qwen3", "layout": "packed", "temperature": 0.7, "learning_rate": 0.1}
    case = {
        **about,
        "ways": ways,
        "overrides": [f"{ACTOR}.use_dynamic_bsz=true", f"{ACTOR}.ppo_max_token_len_per_gpu=250"],
    }
    torch.save({"uneven": case}, folder / f"cases_{ranks}.pt")
    return run_ranks(folder, ranks)["uneven"]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("method", METHODS)
def test_the_gradient_is_that_of_one_whole_batch_pass(method: str, split: str, results: dict) -> None:
    with torch.no_grad():
        reference = response_log_probs(tiny_model("qwen3", seed=1), ROWS, 0.7)
    model = tiny_model("qwen3", seed=0)
    autograd_loss(model, reference, ROWS, METHODS[method], 0.7).backward()
    expected = {name: value.grad for name, value in model.named_parameters()}
    assert relative_error(results[method, split]["gradient"], expected) < 1e-5
