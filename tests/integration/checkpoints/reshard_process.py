"""One rank of the worker, started by test_reshard.py as a real process: it trains and saves, or loads and goes on."""

import os
import random
import shutil
from typing import Any

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from pacs.algorithm import Pacs
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from tests.integration.checkpoints.test_strangers_files import poison
from tests.integration.worker.worker_case import GROUP, deal_out, make_rows
from tests.integration.worker.worker_process import FOLDER, full_weights, make_worker, step_data

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
GROUPS = 6  # of 4 rows: 24 divide among 1, 2 and 3 ranks
SPLIT = {"pacs_strategy": "cached", "use_dynamic_bsz": False, "micro_batch_size_per_gpu": 4}


def new_worker(*overrides: str) -> MethodWorker:
    case = {
        "family": "uneven",
        "layout": "packed",
        "optimizer": "AdamW",
        "learning_rate": 0.01,
        "overrides": ["actor_rollout_ref.actor.optim.lr_scheduler_type=cosine", *overrides],
    }
    worker = make_worker(case)
    worker.set_loss_fn(MethodLoss(Pacs()))
    return worker


def update(worker: MethodWorker, number: int) -> dict[str, torch.Tensor]:
    """The same rows whatever the number of ranks; the weights after it."""
    rows = make_rows(GROUPS, seed=number)
    parts = deal_out(rows, groups_per_mini_batch=GROUPS, ranks=RANKS, whole_groups=False)
    assert len(parts) * len(parts[0]) == GROUPS * GROUP
    worker.update_actor(step_data(parts, RANK, Pacs(), 1, is_policy=False, split=SPLIT))
    return full_weights(worker)


def whole(value: Any) -> Any:
    """As torch's own collectives gather it."""
    if isinstance(value, DTensor):
        return value.full_tensor().detach().cpu().clone()
    return value.clone() if isinstance(value, torch.Tensor) else value


def state(worker: MethodWorker) -> dict[str, Any]:
    """All that a checkpoint is to bring back, but the random states."""
    engine = worker.actor.engine
    optimizer = engine.optimizer.state_dict()
    moments = {
        f"{key} {number}": whole(value)
        for number, values in optimizer["state"].items()
        for key, value in values.items()
    }
    return {
        "weights": full_weights(worker),
        "reference": {name: whole(value) for name, value in worker.ref.engine.module.named_parameters()},
        "moments": moments,
        "settings": optimizer["param_groups"],
        "schedule": engine.lr_scheduler.state_dict(),
    }


def draws() -> list[list[float]]:
    """The next random numbers of each rank."""
    of_ranks: list[Any] = [None] * RANKS
    own = [torch.rand(1).item(), np.random.rand(), random.random()]
    torch.distributed.all_gather_object(of_ranks, own)
    return of_ranks


def save(worker: MethodWorker, name: str) -> None:
    worker.save_checkpoint(str(FOLDER / name / "actor"), None, 2)
    worker.save_reference(str(FOLDER / name / "reference"))


def load(worker: MethodWorker, name: str) -> dict[str, Any]:
    worker.load_checkpoint(str(FOLDER / name / "actor"))
    worker.load_reference(str(FOLDER / name / "reference"))
    return state(worker)


def go_on(worker: MethodWorker, name: str) -> dict[str, Any]:
    return {"state": load(worker, name), "draws": draws(), "next": update(worker, 3)}


def write() -> dict[str, Any]:
    """Two updates, then a checkpoint, a third update, and a checkpoint with a reset."""
    worker = new_worker()
    for seed in (torch.manual_seed, np.random.seed, random.seed):
        seed(RANK)
    update(worker, 1)
    update(worker, 2)
    save(worker, "of_2")
    results = {"of_2": {"state": state(worker), "draws": draws(), "next": update(worker, 3)}}
    worker.reset_reference(reset_optimizer=True)
    save(worker, "reset")
    results["reset"] = {"state": state(worker)}
    results["as it was"] = go_on(worker, "of_2")
    # Two whole copies of the model instead of two halves.
    results["other mesh"] = go_on(new_worker("actor_rollout_ref.actor.fsdp_config.fsdp_size=1"), "of_2")
    return results


def on_one() -> dict[str, Any]:
    worker = new_worker()
    results: dict[str, Any] = {"from 2": {"state": load(worker, "of_2")}}
    save(worker, "of_1")
    results["from 2"] |= {"draws": draws(), "next": update(worker, 3)}
    results["reset"] = {"state": load(worker, "reset")}
    results["refused"] = refusal(worker)
    results["unsafe"] = {kind: code_refusal(worker, kind) for kind in ("model", "optim", "extra_state")}
    return results


def code_refusal(worker: MethodWorker, kind: str) -> tuple[str, bool]:
    """What is said of this rank's file, written by as many ranks, that would touch a file; whether it did."""
    file, folder = FOLDER / "evil", FOLDER / f"unsafe_{kind}"
    shutil.copytree(FOLDER / "of_1" / "actor", folder)
    poison(folder / f"{kind}_world_size_1_rank_0.pt", file)
    try:
        worker.load_checkpoint(str(folder))
    except ValueError as error:
        return str(error), file.exists()
    return "nothing", file.exists()


def refusal(worker: MethodWorker) -> str:
    """What is said of a rank's file that has another parameter."""
    file = FOLDER / "reset" / "reference" / "reference_world_size_2_rank_1.pt"
    shards = torch.load(file)
    shards["other.weight"] = shards.pop("lm_head.weight")
    torch.save(shards, file)
    try:
        worker.load_reference(str(file.parent))
    except ValueError as error:
        return str(error)
    return "nothing"


def on_three() -> dict[str, Any]:
    offload = [f"actor_rollout_ref.actor.fsdp_config.{what}_offload=true" for what in ("param", "optimizer")]
    worker = new_worker(*offload)
    return {"from 2": go_on(worker, "of_2"), "from 1": go_on(worker, "of_1")}


def main() -> None:
    results = {1: on_one, 2: write, 3: on_three}[RANKS]()
    if RANK == 0:
        torch.save(results, FOLDER / f"results_{RANKS}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
