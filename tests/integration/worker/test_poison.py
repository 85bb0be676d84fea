"""Log-probabilities that are not finite, through verl's real worker and FSDP2 engine: the update is skipped, alike on
every rank, and what follows trains as if it had not been there."""

import math
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.algorithm import Pacs
from pacs.integration import exchange
from tests.integration.worker.test_worker import RANKS, STATIC, TRIED_RANKS, Results, run_ranks
from tests.integration.worker.worker_case import Row, deal_out, make_rows, tiny_model

pytestmark = pytest.mark.slow

MINI_BATCHES = 3
#: In no row but the poisoned one: its embedding is inf in the poisoned model.
TOKEN = 39
ROWS = [
    replace(row, prompt=[min(t, TOKEN - 1) for t in row.prompt], response=[min(t, TOKEN - 1) for t in row.response])
    for row in make_rows(2 * MINI_BATCHES, seed=3)
]
#: name -> the model with the inf, whether the reference is the policy, the mini-batch with the token.
POISONS = {"reference": ("reference", False, 1), "policy": ("policy", False, 1), "after a reset": ("policy", True, 0)}
STRATEGIES: dict[str, dict[str, Any]] = {
    "grouped": STATIC,
    "cached": {"use_dynamic_bsz": True, "max_token_len_per_gpu": 24},
}
#: With the poisoned mini-batch, and without it.
BATCHES = ("poisoned", "without")
WAYS = list(product(POISONS, STRATEGIES))
#: A row of a group that does not count: which model gives what is not finite, if one does.
DROPPED = Pacs(single_class_groups="drop")
DROPPED_GROUP = [row for row in ROWS if row.uid == "0"]
IN_DROPPED = ("reference", "policy", None)


def parts_of(ranks: int, strategy: str, mini_batch: int) -> tuple[list[list[Row]], int]:
    """What each rank is given, the token in the first row of the last rank's part of a mini-batch; and that row."""
    parts = deal_out(ROWS, groups_per_mini_batch=2, ranks=ranks, whole_groups=strategy == "grouped")
    row = mini_batch * len(parts[-1]) // MINI_BATCHES
    while not any(parts[-1][row].mask):  # padding, or all of it a tool's: a loss does not read it
        row += 1
    parts[-1][row] = replace(parts[-1][row], prompt=[TOKEN, *parts[-1][row].prompt[1:]])
    return parts, (ranks - 1) * len(parts[-1]) + row


def parts_of_dropped(ranks: int, strategy: str) -> tuple[list[list[Row]], int]:
    """What each rank is given, the token in one row of the dropped group; and the row's mini-batch."""
    parts = deal_out(ROWS, groups_per_mini_batch=2, ranks=ranks, whole_groups=strategy == "grouped")
    places = [(part, place) for part in parts for place, row in enumerate(part) if row.uid == "0"]
    part, place = places[-1]
    part[place] = replace(part[place], prompt=[TOKEN, *part[place].prompt[1:]])
    return parts, place // (len(part) // MINI_BATCHES)


def write_cases(folder: Path, ranks: int) -> None:
    cases = {}
    for (poison, strategy), batch in product(WAYS, BATCHES):
        poisoned, is_policy, mini_batch = POISONS[poison]
        parts, _ = parts_of(ranks, strategy, mini_batch)
        if batch == "without":
            size = len(parts[0]) // MINI_BATCHES
            parts = [part[: mini_batch * size] + part[(mini_batch + 1) * size :] for part in parts]
        cases[poison, strategy, batch] = {
            "config": Pacs(),
            "poisoned": poisoned,
            "reference_is_policy": is_policy,
            "parts": parts,
            "mini_batches": MINI_BATCHES - (batch == "without"),
            "split": {"pacs_strategy": strategy, **STRATEGIES[strategy]},
        }
    for strategy, poisoned in product(STRATEGIES, IN_DROPPED):
        cases["dropped", strategy, poisoned] = {
            "config": DROPPED,
            "poisoned": poisoned,
            "reference_is_policy": False,
            "parts": parts_of_dropped(ranks, strategy)[0],
            "mini_batches": MINI_BATCHES,
            "split": {"pacs_strategy": strategy, **STRATEGIES[strategy]},
        }
    about = {"family": "qwen3", "layout": "padded", "learning_rate": 0.01, "optimizer": "AdamW", "token": TOKEN}
    torch.save((about, cases), folder / f"cases_{ranks}.pt")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("poison")
    tiny_model("qwen3", seed=0).save_pretrained(folder / "qwen3" / "policy")
    tiny_model("qwen3", seed=1).save_pretrained(folder / "qwen3" / "reference")
    for ranks in RANKS:
        write_cases(folder, ranks)
    return cache(lambda ranks: run_ranks(folder, ranks, process="worker.poison_process"))


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize(("poison", "strategy"), WAYS)
def test_the_update_is_skipped_on_every_rank_and_no_other(
    poison: str, strategy: str, ranks: int, results: Results
) -> None:
    """Skipped: weights and Adam's moments, its count of steps among them, are the same bits as before."""
    skipped = [update == POISONS[poison][2] for update in range(MINI_BATCHES)]
    norms = []
    for rank in results(ranks):
        result = rank[poison, strategy, "poisoned"]
        assert result["unchanged"] == skipped
        norms.append(torch.tensor(result["returned"]["grad_norm"]))
        assert (~norms[-1].isfinite()).tolist() == skipped
        assert torch.equal(norms[-1].nan_to_num(-1), norms[0].nan_to_num(-1))


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize(("poison", "strategy"), [way for way in WAYS if way[0] != "after a reset"])
def test_the_others_train_as_if_it_had_not_been_there(poison: str, strategy: str, ranks: int, results: Results) -> None:
    """To the bit. (After a reset the first mini-batch has no pass of the reference, so the others are not alike.)"""
    for rank in results(ranks):
        state, expected = (rank[poison, strategy, batch]["state"] for batch in BATCHES)
        assert len([name for name in state if name.startswith("exp_avg ")]) > 10
        assert state.keys() == expected.keys()
        assert [name for name in state if not torch.equal(state[name], expected[name])] == []


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize(("poison", "strategy"), WAYS)
def test_the_rows_are_counted_and_the_metrics_finite(poison: str, strategy: str, ranks: int, results: Results) -> None:
    parts, row = parts_of(ranks, strategy, POISONS[poison][2])
    rows = [row for part in parts for row in part]
    group = sum(other.uid == rows[row].uid for other in rows)
    # Scored as 0 without a pass, its group does not see it: only its own row of the gradient pass does.
    expected = 1 if (poison, strategy) == ("after a reset", "cached") else group
    metrics = results(ranks)[0][poison, strategy, "poisoned"]["metrics"]
    assert metrics["pacs/rows/not_finite_count"] == expected
    assert len(metrics) > 20
    assert {name: value for name, value in metrics.items() if not math.isfinite(value)} == {}
    clean = results(ranks)[0]["reference", strategy, "without"]["metrics"]
    assert clean["pacs/rows/not_finite_count"] == 0
    assert _always_there(metrics) == _always_there(clean)


def _always_there(metrics: dict[str, float]) -> set[str]:
    """Without the bins of the calibration: an empty one has no mean."""
    return {name for name in metrics if not name.startswith("pacs/critic/bin_")}


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_the_workers_return_says_of_which_row_it_is(strategy: str, ranks: int, results: Results) -> None:
    """Over ranks, mini-batches and dynamic micro-batches: every row once, with its own length, label and update."""
    parts, _ = parts_of(ranks, strategy, POISONS["reference"][2])
    rows = [row for part in parts for row in part]
    tables = results(ranks)[0]["reference", strategy, "poisoned"]["returned"][exchange.TABLES]
    names = tables[0][0]
    values = torch.cat([values for _, values in tables], dim=1)
    of_row = values[:, values[names.index("row")].argsort()].tolist()
    columns = dict(zip(names, of_row, strict=True))
    assert columns["row"] == list(range(len(rows)))
    assert columns["tokens"] == [sum(row.mask) for row in rows]
    assert columns["correct"] == [float(row.label) for row in rows]
    part, size = len(parts[0]), len(parts[0]) // MINI_BATCHES
    assert columns["update"] == [i % part // size for i in range(len(rows))]


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_the_reference_says_of_a_dropped_group_cannot_touch_the_update(
    strategy: str, ranks: int, results: Results
) -> None:
    """No update is skipped, and weights and moments are those of a reference that is finite, to the bit."""
    assert {row.label for row in DROPPED_GROUP} == {True}
    for rank in results(ranks):
        poisoned, clean = (rank["dropped", strategy, model] for model in ("reference", None))
        assert poisoned["unchanged"] == [False] * MINI_BATCHES
        assert [name for name in clean["state"] if not torch.equal(poisoned["state"][name], clean["state"][name])] == []
    metrics, clean = (results(ranks)[0]["dropped", strategy, model]["metrics"] for model in ("reference", None))
    assert metrics == clean | {"pacs/rows/not_finite_count": len(DROPPED_GROUP)}


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_policy_that_says_nan_of_a_dropped_group_is_not_trained_on_it(
    strategy: str, ranks: int, results: Results
) -> None:
    """The loss does not read it, but its own backward pass does: 0 * NaN is NaN in every weight, under either way."""
    _, mini_batch = parts_of_dropped(ranks, strategy)
    for rank in results(ranks):
        skipped = [update == mini_batch for update in range(MINI_BATCHES)]
        assert rank["dropped", strategy, "policy"]["unchanged"] == skipped
