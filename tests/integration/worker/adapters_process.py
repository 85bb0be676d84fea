"""One rank of the worker, started by test_adapters.py as a real process: adapters trained, kept as reference, saved."""

import os
from typing import Any

import torch
from torch.distributed.tensor import DTensor, distribute_tensor
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Pacs, ReferenceSchedule
from pacs.integration.worker.adapters import AdapterWorker
from pacs.integration.worker.method_loss import MethodLoss
from tests.integration.worker.worker_case import as_tensordict
from tests.integration.worker.worker_process import FOLDER, full_weights, step_data, worker_config

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
Weights = dict[str, torch.Tensor]


def new_worker(case: dict[str, Any]) -> AdapterWorker:
    worker = AdapterWorker(worker_config(case), role="actor")
    worker.init_model()
    return worker


@torch.no_grad()
def put(worker: AdapterWorker, values: Weights) -> None:
    """Write whole adapters into the policy's shards."""
    for name, parameter in worker.actor.engine.module.named_parameters():
        if name in values:
            value = values[name]
            if isinstance(parameter, DTensor):
                value = distribute_tensor(value, parameter.device_mesh, parameter.placements)
            parameter.copy_(value)


def adapters(worker: AdapterWorker) -> Weights:
    return {name: value for name, value in full_weights(worker).items() if "lora_" in name}


def reference(worker: AdapterWorker) -> Weights:
    with worker.kept.in_place():
        return adapters(worker)


def log_probs(worker: AdapterWorker, case: dict[str, Any]) -> list[torch.Tensor]:
    """Of this rank's rows, by the policy."""
    data = as_tensordict(case["parts"], RANK, Pacs())
    tu.assign_non_tensor(data, temperature=1.0)
    return [row.clone() for row in worker.actor.log_probs(data).unbind()]


def gradients(worker: AdapterWorker, case: dict[str, Any]) -> dict[str, Any]:
    """Of each method and split, with the kept reference; and which parameters have one."""
    results = {}
    for name, (method, parts, split) in case["ways"].items():
        worker.set_loss_fn(MethodLoss(method))
        found: Weights = {}

        def record(found: Weights = found) -> float:
            for name, parameter in worker.actor.engine.module.named_parameters():
                if parameter.grad is not None:
                    found[name] = parameter.grad.full_tensor().cpu().clone()
            return 0.0

        step = worker.actor.engine.optimizer_step
        worker.actor.engine.optimizer_step = record
        worker.update_actor(step_data(parts, RANK, method, 1, is_policy=False, split=split))
        worker.actor.engine.optimizer_step = step
        results[name] = found
    return results


def three_steps(worker: AdapterWorker, case: dict[str, Any]) -> Weights:
    """Three steps of two mini-batches with SGD, the reference reset after the second."""
    method, parts, split = case["steps"]
    worker.set_loss_fn(MethodLoss(method))
    schedule = ReferenceSchedule(method.reference)
    for step in (1, 2, 3):
        data = step_data(parts, RANK, method, 2, is_policy=schedule.is_policy, split=split)
        tu.assign_non_tensor(data, pacs_learning_rate_factor=schedule.learning_rate_factor(step))
        worker.update_actor(data)
        if schedule.after_updates(step, saturated=0.0, log_ratio=0.0):
            worker.reset_reference(method.reference.reset_optimizer)
    return full_weights(worker)


def update(worker: AdapterWorker, case: dict[str, Any]) -> Weights:
    method, parts, split = next(iter(case["ways"].values()))
    worker.set_loss_fn(MethodLoss(method))
    worker.update_actor(step_data(parts, RANK, method, 1, is_policy=False, split=split))
    return full_weights(worker)


def saved_and_loaded(case: dict[str, Any]) -> dict[str, Any]:
    """Two updates with Adam, a checkpoint, a third; and the same from the checkpoint, of as many ranks or of others."""
    case = case | {"optimizer": "AdamW"}
    worker, folder = new_worker(case), FOLDER / f"of_{RANKS}"
    results: dict[str, Any] = {}
    put(worker, case["policy"])
    update(worker, case)
    update(worker, case)
    worker.save_checkpoint(str(folder / "actor"), None, 2)
    worker.save_reference(str(folder / "reference"))
    results["saved"] = {"weights": full_weights(worker), "reference": reference(worker)}
    results["log_probs"] = log_probs(worker, case)
    results["merged"] = dict(_merged(worker))
    results["after the sync"] = full_weights(worker)
    results["next"] = update(worker, case)
    for ranks in {RANKS, 2}:
        other = new_worker(case)
        other.load_checkpoint(str(FOLDER / f"of_{ranks}" / "actor"))
        other.load_reference(str(FOLDER / f"of_{ranks}" / "reference"))
        loaded = {"weights": full_weights(other), "reference": reference(other)}
        results[f"from {ranks}"] = loaded | {"next": update(other, case)}
    return results


def _merged(worker: AdapterWorker) -> Any:
    """What verl would send to vLLM with model.lora.merge=true."""
    engine = worker.actor.engine
    engine.model_config.lora["merge"] = True
    params, peft_config = engine.get_per_tensor_param(base_sync_done=True)
    assert peft_config is None
    yield from ((name, value.clone()) for name, value in params)


def main() -> None:
    case = torch.load(FOLDER / f"cases_{RANKS}.pt", weights_only=False)
    worker = new_worker(case)
    results: dict[str, Any] = {"start": {"policy": adapters(worker), "reference": reference(worker)}}
    results["drawn again"] = adapters(new_worker(case))
    put(worker, case["reference"])
    worker.reset_reference(False)
    put(worker, case["policy"])
    results["gradients"] = gradients(worker, case)
    results["kept"] = {"policy": adapters(worker), "reference": reference(worker)}
    worker.reset_reference(False)
    results["steps"] = three_steps(worker, case)
    results |= saved_and_loaded(case)
    if RANK == 0:
        torch.save(results, FOLDER / f"results_{RANKS}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
