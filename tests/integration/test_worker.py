"""PACS's gradient through verl's real training worker and FSDP2 engine, against plain autograd."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pacs.integration.batching import group_order, padded_row_count
from tests.integration.worker_batch import (
    GROUP,
    add_reference,
    make_rows,
    padding_row,
    reference_gradient,
    tiny_model,
)

GROUPS, GROUPS_PER_MINI_BATCH = 5, 6

pytestmark = pytest.mark.slow


def run_ranks(folder: Path, ranks: int) -> dict:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    processes = []
    for rank in range(ranks):
        env = os.environ | {
            "RANK": str(rank),
            "WORLD_SIZE": str(ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "OMP_NUM_THREADS": "1",
        }
        command = [sys.executable, "-m", "tests.integration.worker_process", str(folder)]
        processes.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    outputs = [process.communicate(timeout=300)[0].decode() for process in processes]
    assert [process.returncode for process in processes] == [0] * ranks, "\n".join(outputs)[-6000:]
    return torch.load(folder / f"results_{ranks}.pt", weights_only=False)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Two models on disk, a mini-batch of five uneven groups and one group of padding, and its true gradient."""
    folder = tmp_path_factory.mktemp("worker")
    model = tiny_model(seed=0)
    model.save_pretrained(folder / "model")
    tiny_model(seed=1).save_pretrained(folder / "other_model")
    rows = make_rows(GROUPS, seed=3)
    add_reference(rows, model)
    layout = {"group_size": GROUP, "groups_per_mini_batch": GROUPS_PER_MINI_BATCH}
    total = padded_row_count([row["uid"] for row in rows], **layout)
    rows += [padding_row() for _ in range(total - len(rows))]
    lengths = [len(row["prompt"]) + len(row["response"]) for row in rows]
    for ranks in (1, 2):
        _, parts = group_order([row["uid"] for row in rows], lengths, ranks=ranks, **layout)
        torch.save([[rows[i] for i in part] for part in parts], folder / f"parts_{ranks}.pt")
    return {"folder": folder, "gradient": reference_gradient(model, rows)}


@pytest.fixture(scope="module", params=[1, 2], ids=["1 rank", "2 ranks"])
def results(request: pytest.FixtureRequest, case: dict) -> dict:
    return run_ranks(case["folder"], request.param)


def relative_error(gradient: dict, reference: dict) -> float:
    """Of the global L2 norm."""
    assert gradient.keys() == reference.keys()
    difference = sum((gradient[name] - reference[name]).square().sum() for name in reference)
    return float((difference / sum(value.square().sum() for value in reference.values())).sqrt())


@pytest.mark.parametrize("way", ["one group", "all groups", "dynamic"])
def test_any_micro_batching_gives_the_gradient_of_the_whole_mini_batch(case: dict, results: dict, way: str) -> None:
    gradient, _ = results["gradients"][way]
    assert relative_error(gradient, case["gradient"]) < 1e-5


def test_metrics_do_not_depend_on_the_micro_batching(results: dict) -> None:
    expected = results["gradients"]["all groups"][1]
    assert expected
    for way in ("one group", "dynamic"):
        metrics = results["gradients"][way][1]
        totals = {name: total(value) for name, value in metrics.items()}
        assert totals == pytest.approx({name: total(value) for name, value in expected.items()}, rel=1e-5, abs=1e-6)


def total(metric: object) -> float:
    """What verl makes of a metric: over ranks and micro-batches."""
    from verl.utils.metric import Metric

    return float(Metric.aggregate_dp(metric)) if isinstance(metric, list) else metric.aggregate()


def test_a_reset_copies_every_shard(results: dict) -> None:
    assert results["reset_copies"]
