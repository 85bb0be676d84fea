"""One rank that takes the gradient of a train batch through PACS's worker, for tiny models of many families.

Started by `families_run`; rank 0 writes what came out. The probe is asked, and its answer kept, whatever it is: the
gradient is taken all the same.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import verl  # noqa: F401 (loads the plugin)
from omegaconf import DictConfig
from verl.utils import tensordict_utils as tu
from verl.workers.engine_workers import ActorRolloutRefWorker

from pacs.integration import exchange
from pacs.integration.checkpoints.shards import local_shards
from pacs.integration.exactness.layout_check import LayoutError, check_layout
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from tests.integration.preflight.families_case import CONFIG, ROWS, composed, reference_log_probs, relative_error
from tests.integration.worker.worker_case import as_tensordict, deal_out

FOLDER = Path(sys.argv[1])


def probed(worker: MethodWorker, temperature: float) -> dict[str, Any]:
    """The probe's complaint, and whether all is as before."""
    engine = worker.actor.engine
    before = {name: value.clone() for name, value in local_shards(engine.module).items()}
    random_state = torch.get_rng_state()
    complaint = None
    try:
        check_layout(engine, temperature)
    except LayoutError as error:
        complaint = str(error)
    after = local_shards(engine.module)
    undisturbed = (
        torch.equal(random_state, torch.get_rng_state())
        and all(torch.equal(before[name], after[name]) for name in before)
        and all(parameter.grad is None for parameter in engine.module.parameters())
        and not engine.optimizer.state
        and not engine.module.training
    )
    return {"probe": complaint, "undisturbed": undisturbed}


def taken_gradient(worker: MethodWorker, temperature: float, rank: int, ranks: int) -> dict[str, torch.Tensor]:
    """By parameter, as the optimizer would see it."""
    worker.set_loss_fn(MethodLoss(CONFIG))
    parts = deal_out(ROWS, groups_per_mini_batch=8, ranks=ranks, whole_groups=False)
    data = as_tensordict(parts, rank, CONFIG)
    reference = [reference_log_probs(row) for row in parts[rank]]
    data[exchange.REFERENCE] = torch.nested.as_nested_tensor(reference, layout=torch.jagged)
    tu.assign_non_tensor(
        data,
        temperature=temperature,
        calculate_entropy=True,
        mini_batch_size=sum(map(len, parts)),
        epochs=1,
        dataloader_kwargs={"shuffle": False},
        **{"pacs_strategy": "cached", "pacs_reference_is_policy": False, "pacs_learning_rate_factor": 1.0},
    )
    seen: dict[str, torch.Tensor] = {}

    def record() -> float:
        for name, parameter in worker.actor.engine.module.named_parameters():
            if parameter.grad is not None:
                seen[name] = parameter.grad.full_tensor().cpu().clone()
        return 0.0

    worker.actor.engine.optimizer_step = record
    worker.actor.train_mini_batch(data)
    return seen


def result_of(config: DictConfig, expected: dict[str, torch.Tensor] | None, rank: int, ranks: int) -> dict[str, Any]:
    """`expected` None: only the probe is asked."""
    temperature = config.actor_rollout_ref.rollout.temperature
    worker = MethodWorker(config.actor_rollout_ref, role="actor")
    ActorRolloutRefWorker.init_model(worker)
    found = probed(worker, temperature)
    if expected is not None:
        found["error"] = relative_error(taken_gradient(worker, temperature, rank, ranks), expected)
    return found


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    results: dict[str, dict[str, Any]] = {}
    for name, (family, layout, overrides, settings) in torch.load(FOLDER / f"cases_{ranks}.pt").items():
        config = composed(FOLDER / family, family, layout, *overrides, f"trainer.n_gpus_per_node={ranks}", **settings)
        gradient = FOLDER / family / "gradient.pt"
        # What is overridden rounds or drops numbers, or is wrong anyway; heads and sharded layers are a model's mends.
        exact = all("wrap_policy" in override for override in overrides) and "attention_dropout" not in settings
        expected = torch.load(gradient) if exact else None
        try:
            results[name] = result_of(config, expected, rank, ranks)
        except (AttributeError, TypeError, ValueError, AssertionError, RuntimeError, NotImplementedError) as error:
            results[name] = {"fails": repr(error).splitlines()[0][:200]}
        if rank == 0:
            print(f"{name}: {results[name]}", flush=True)
    if rank == 0:
        torch.save(results, FOLDER / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
