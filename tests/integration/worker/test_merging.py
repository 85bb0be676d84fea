"""Rows of the same tokens that pass through the model once, through verl's real workers on one rank and two."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Method
from pacs.integration.exchange import MERGED
from pacs.integration.worker import merging
from pacs.integration.worker.merging import different_rows, merge_duplicates, spread
from tests.integration.worker.test_worker import METHODS, TRIED_RANKS, relative_error, run_ranks
from tests.integration.worker.worker_case import (
    Row,
    autograd_loss,
    deal_out,
    make_rows,
    response_log_probs,
    tiny_model,
)

GROUPS, ACTOR, SEED = 7, "actor_rollout_ref.actor", 10


def make_duplicates() -> list[Row]:
    """Groups of four and three; in most of them some responses are the same, of one label or of both."""
    rng, written = random.Random(SEED), {}
    rows = []
    for row in make_rows(GROUPS, seed=3):
        same = written.setdefault(row.uid, row)
        rows.append(replace(row, response=same.response, mask=same.mask) if rng.random() < 0.6 else row)
    return rows


ROWS = make_duplicates()
#: name -> verl's settings of micro-batches, whether a group stays on one rank.
SPLITS: dict[str, tuple[dict[str, Any], bool]] = {
    "grouped": ({"pacs_strategy": "grouped", "max_token_len_per_gpu": 120}, True),
    "cached": ({"pacs_strategy": "cached", "max_token_len_per_gpu": 64}, False),
    "cached, whole groups": ({"pacs_strategy": "cached", "max_token_len_per_gpu": 120}, True),
}
WAYS = [
    (name, split)
    for place, name in enumerate(METHODS)
    for split in ("grouped", ("cached", "cached, whole groups")[place % 2])
    if split != "grouped" or not METHODS[name].whole_mini_batch
]


def merging_method(name: str) -> Method:
    method = METHODS[name]
    return method.model_copy(update={"update": method.update.model_copy(update={"merge_duplicates": True})})


@pytest.fixture(scope="module", params=TRIED_RANKS, ids=["one rank", "two ranks"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict:
    folder, ranks = tmp_path_factory.mktemp("merging"), request.param
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model("qwen3", seed).save_pretrained(folder / "qwen3" / role)
    ways = {}
    for name, split in WAYS:
        settings, whole = SPLITS[split]
        parts = deal_out(ROWS, groups_per_mini_batch=GROUPS + GROUPS % ranks, ranks=ranks, whole_groups=whole)
        ways[name, split] = (merging_method(name), parts, settings | {"use_dynamic_bsz": True}, False)
    about = {"family": "qwen3", "layout": "packed", "temperature": 0.7, "learning_rate": 0.1}
    overrides = [f"{ACTOR}.use_dynamic_bsz=true", f"{ACTOR}.ppo_max_token_len_per_gpu=120"]
    torch.save({"merged": {**about, "ways": ways, "overrides": overrides}}, folder / f"cases_{ranks}.pt")
    return run_ranks(folder, ranks)["merged"]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "split"), WAYS)
def test_the_gradient_is_that_of_all_rows(name: str, split: str, results: dict) -> None:
    """By a pass of each row of its own."""
    with torch.no_grad():
        reference = response_log_probs(tiny_model("qwen3", seed=1), ROWS, 0.7)
    model = tiny_model("qwen3", seed=0)
    autograd_loss(model, reference, ROWS, METHODS[name], 0.7).backward()
    expected = {name: value.grad for name, value in model.named_parameters()}
    found = results[name, split]
    assert relative_error(found["gradient"], expected) < 1e-5
    merged = found["metrics"]["pacs/duplicates/merged_per_token"]
    if split == "cached":  # those that meet
        assert 0 <= merged <= repeated_share(ROWS)
    elif split == "grouped" and name in ("rloo", "dr_grpo", "none"):  # every row counts in N
        assert merged == pytest.approx(repeated_share(ROWS))
    else:
        assert merged > 0


def repeated_share(rows: list[Row]) -> float:
    """Of the tokens of responses, those of one that its group has already."""
    seen: set[tuple] = set()
    repeated = 0
    for row in rows:
        kind = (row.uid, *row.response)
        repeated += sum(row.mask) if kind in seen else 0
        seen.add(kind)
    return repeated / sum(sum(row.mask) for row in rows)


def test_rows_are_the_same_by_all_of_their_tokens() -> None:
    rows = [[1, 2], [1, 2, 3], [1, 2], [2, 1], [1, 2, 3], [1, 2]]
    tokens = torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)
    assert different_rows(tokens) == ([0, 1, 3], [0, 1, 0, 2, 1, 0])
    few = {"log_probs": torch.nested.as_nested_tensor([torch.ones(2), torch.ones(3) * 2], layout=torch.jagged)}
    assert [row.tolist() for row in spread(few, [1, 0, 1])["log_probs"].unbind()] == [[2.0] * 3, [1.0] * 2, [2.0] * 3]


@pytest.mark.parametrize("images", [False, True])
def test_rows_with_images_are_left_alone(images: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their tokens do not say what the images are."""
    monkeypatch.setattr(merging, "get_device_id", lambda: "cpu")
    passed: list[int] = []

    def step(micro_batch: Any, loss_function: Any, forward_only: bool) -> Any:
        passed.append(len(micro_batch))
        return None, {"model_output": {"log_probs": micro_batch["input_ids"]}}

    engine = SimpleNamespace(forward_step=step)
    merge_duplicates(engine)
    once = engine.forward_step
    merge_duplicates(engine)
    assert engine.forward_step is once
    tokens = torch.nested.as_nested_tensor([torch.tensor([1, 2])] * 3, layout=torch.jagged)
    batch = tu.get_tensordict({"input_ids": tokens, "multi_modal_inputs": [{"pixels": 1} if images else {}] * 3})
    _, output = engine.forward_step(batch, None, True)
    assert passed == [3 if images else 1]
    assert [row.tolist() for row in output["model_output"]["log_probs"].unbind()] == [[1, 2]] * 3
    assert MERGED not in batch or not images
