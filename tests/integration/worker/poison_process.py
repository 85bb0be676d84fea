"""One rank of the worker, started by test_poison.py as a real process: mini-batches of which one gives NaN."""

import os
from typing import Any

import torch
from torch.distributed.tensor import DTensor
from verl.utils import tensordict_utils as tu

from pacs.integration import exchange
from pacs.integration.checkpoints.shards import local_shards
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from tests.integration.worker.worker_case import VOCABULARY
from tests.integration.worker.worker_process import FOLDER, make_worker, returned_metrics, step_data


def poison_embedding(module: torch.nn.Module, token: int, rank: int, ranks: int) -> None:
    """inf in the embedding of one token: what the model says of a sequence is NaN where the token occurs in it."""
    here = VOCABULARY // ranks
    if token // here == rank:
        local_shards(module)["model.embed_tokens.weight"].data[token % here] = torch.inf


def local(value: torch.Tensor) -> torch.Tensor:
    return (value.to_local() if isinstance(value, DTensor) else value).detach().clone()


def shards(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: local(value) for name, value in local_shards(module).items()}


def state(worker: MethodWorker) -> dict[str, torch.Tensor]:
    """This rank's weights and moments."""
    values = {f"weights {name}": value for name, value in shards(worker.actor.engine.module).items()}
    for name, parameter in worker.actor.engine.module.named_parameters():
        moments = worker.actor.engine.optimizer.state.get(parameter, {})
        values |= {f"{kind} {name}": local(value) for kind, value in moments.items()}
    return values


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def run(worker: MethodWorker, rank: int, case: dict[str, Any]) -> dict[str, Any]:
    """One step; and whether each of its updates left weights and moments as they were, to the bit."""
    worker.set_loss_fn(MethodLoss(case["config"]))
    engine = worker.actor.engine
    unchanged: list[bool] = []

    def noted() -> float:
        before = state(worker)
        norm = type(engine).optimizer_step(engine)
        unchanged.append(equal(before, state(worker)))
        return norm

    engine.optimizer_step = noted
    data = step_data(
        case["parts"],
        rank,
        case["config"],
        case["mini_batches"],
        is_policy=case["reference_is_policy"],
        split=case["split"],
    )
    output = worker.update_actor(data)
    result = {"unchanged": unchanged, "state": state(worker), "returned": dict(tu.get(output, "metrics"))}
    if exchange.TABLES in result["returned"]:
        result["metrics"] = returned_metrics(output)
    return result


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    about, cases = torch.load(FOLDER / f"cases_{ranks}.pt", weights_only=False)
    worker = make_worker(about)
    modules = {"policy": worker.actor.engine.module, "reference": worker.ref.engine.module}
    start = {role: shards(module) for role, module in modules.items()}
    results = {}
    for name, case in cases.items():
        for role, module in modules.items():
            for key, shard in local_shards(module).items():
                shard.data.copy_(start[role][key])
        worker.actor.engine.optimizer.state.clear()
        if case["poisoned"]:
            poison_embedding(modules[case["poisoned"]], about["token"], rank, ranks)
        results[name] = run(worker, rank, case)
    of_ranks: list[Any] = [None] * ranks
    torch.distributed.all_gather_object(of_ranks, results)
    if rank == 0:
        torch.save(of_ranks, FOLDER / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
