"""A checkpoint of 2 ranks goes on on 1 and on 3, one of 1 on 3: the same state to the bit, and the same next update."""

from typing import Any

import pytest
import torch
from transformers import Qwen3ForCausalLM

from tests.integration.worker.test_worker import run_ranks
from tests.integration.worker.worker_case import tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: What was loaded, by the number of ranks that loaded it; all of it is (or is of) the checkpoint of 2 ranks.
LOADED = [(2, "as it was"), (2, "other mesh"), (1, "from 2"), (3, "from 2"), (3, "from 1")]


def uneven_model(seed: int) -> Qwen3ForCausalLM:
    """Rows that 2 and 3 ranks cannot share evenly; of the norms of 4 values the last of 3 ranks has none."""
    config = tiny_model("qwen3", seed=0).config
    config.vocab_size, config.hidden_size, config.intermediate_size, config.head_dim = 41, 33, 65, 4
    torch.manual_seed(seed)
    return Qwen3ForCausalLM(config)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict]:
    folder = tmp_path_factory.mktemp("reshard")
    for seed, role in enumerate(("policy", "reference")):
        uneven_model(seed).save_pretrained(folder / "uneven" / role)
    # In this order: 2 ranks write what 1 rank loads and writes again, and 3 load both.
    return {ranks: run_ranks(folder, ranks, process="checkpoints.reshard_process") for ranks in (2, 1, 3)}


def assert_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for part in a:
        if part in ("weights", "reference", "moments"):
            assert a[part].keys() == b[part].keys()
            assert [name for name in a[part] if not torch.equal(a[part][name], b[part][name])] == [], part
        else:
            assert a[part] == b[part], part


def test_the_checkpoint_holds_something_of_everything(results: dict) -> None:
    state = results[2]["of_2"]["state"]
    start, reference = uneven_model(0).state_dict(), uneven_model(1).state_dict()
    assert all(not torch.equal(value, start[name]) for name, value in state["weights"].items())
    assert all(torch.equal(value, reference[name]) for name, value in state["reference"].items())
    assert {key.split()[0] for key in state["moments"]} == {"step", "exp_avg", "exp_avg_sq"}
    assert state["moments"]["step 0"] == 2
    assert state["schedule"]["last_epoch"] == 2
    assert 0 < state["settings"][0]["lr"] < state["settings"][0]["initial_lr"]
    first, second = results[2]["of_2"]["draws"]
    assert set(first).isdisjoint(second)


@pytest.mark.parametrize(("ranks", "name"), LOADED)
def test_the_same_state_on_other_ranks(ranks: int, name: str, results: dict) -> None:
    assert_equal(results[ranks][name]["state"], results[2]["of_2"]["state"])


@pytest.mark.parametrize(("ranks", "name"), LOADED)
def test_the_random_numbers_of_the_old_ranks_counted_round(ranks: int, name: str, results: dict) -> None:
    old = results[2]["of_2"]["draws"][: 1 if name == "from 1" else 2]
    assert results[ranks][name]["draws"] == [old[rank % len(old)] for rank in range(ranks)]


@pytest.mark.parametrize(("ranks", "name"), LOADED)
def test_the_next_update_is_the_same(ranks: int, name: str, results: dict) -> None:
    before, after = results[2]["of_2"]["state"]["weights"], results[2]["of_2"]["next"]
    assert min(float((after[key] - before[key]).abs().max()) for key in after) > 1e-3
    ours = results[ranks][name]["next"]
    assert max(float((ours[key] - after[key]).abs().max()) for key in after) < 1e-6


def test_an_optimizer_that_was_just_reset(results: dict) -> None:
    state = results[1]["reset"]["state"]
    assert state["moments"] == {}
    assert_equal(state, results[2]["reset"]["state"])


@pytest.mark.parametrize("kind", ["model", "optim", "extra_state"])
def test_a_file_that_would_run_code_is_refused_by_its_name(kind: str, results: dict) -> None:
    said, ran = results[1]["unsafe"][kind]
    assert f"{kind}_world_size_1_rank_0.pt is refused: to read it would run code (it names posix.system)" in said
    assert not ran


def test_another_model_is_refused(results: dict) -> None:
    assert results[1]["refused"].endswith("is of another model: ['lm_head.weight', 'other.weight'] differ")
