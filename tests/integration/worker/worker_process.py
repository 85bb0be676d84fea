"""One rank of the worker, started by test_worker.py as a real process: PACS through verl's worker and FSDP2 engine.

It takes the gradient of one train batch in every way in which a batch can be split, and takes three steps with
mini-batches, a reset and SGD; rank 0 writes what came out.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import verl  # noqa: F401 (loads the plugin)
from hydra import compose, initialize_config_dir
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Method, ReferenceSchedule
from pacs.base.paths import config_dir
from pacs.integration import exchange
from pacs.integration.checkpoints.shards import local_shards
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from pacs.metrics.reduce import update_metrics
from tests.integration.worker.worker_case import GROUP, Row, as_tensordict

FOLDER, DEVICE = Path(sys.argv[1]), sys.argv[2]


def worker_config(case: dict[str, Any]) -> Any:
    """The section of a run's config that its workers get."""
    overrides = [
        "recipe=arithmetic",
        f"trainer.device={DEVICE}",
        "actor_rollout_ref.actor.use_dynamic_bsz=false",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
        "+actor_rollout_ref.model.load_tokenizer=false",
        f"actor_rollout_ref.actor.optim.optimizer={case.get('optimizer', 'SGD')}",
        f"actor_rollout_ref.actor.optim.lr={case['learning_rate']}",
        "actor_rollout_ref.actor.optim.clip_grad=1e9",
        "actor_rollout_ref.actor.optim.total_training_steps=3",
        f"actor_rollout_ref.model.use_remove_padding={'padded' not in case['layout']}",
        f"actor_rollout_ref.model.use_fused_kernels={'fused' in case['layout']}",
        *case.get("overrides", []),
    ]
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose("pacs", overrides=overrides).actor_rollout_ref
    config.model.path = str(FOLDER / case["family"] / "policy")
    return config


def make_worker(case: dict[str, Any]) -> MethodWorker:
    """Policy and reference as a run builds them, without vLLM beside them."""
    config = worker_config(case)
    worker = MethodWorker(config, role="actor")
    worker.init_model()
    config.model.path = str(FOLDER / case["family"] / "reference")
    other = MethodWorker(config, role="ref")
    other.init_model()
    worker.ref = other.ref
    return worker


def full_weights(worker: MethodWorker) -> dict[str, torch.Tensor]:
    parameters = worker.actor.engine.module.named_parameters()
    return {name: value.full_tensor().detach().cpu().clone() for name, value in parameters}


def step_data(
    parts: list[list[Row]],
    rank: int,
    config: Method,
    mini_batches: int,
    *,
    is_policy: bool,
    split: dict[str, Any],
    temperature: float = 1.0,
) -> Any:
    data = as_tensordict(parts, rank, config)
    settings = {
        "temperature": temperature,
        "calculate_entropy": True,
        "mini_batch_size": sum(map(len, parts)) // mini_batches,
        "epochs": 1,
        "dataloader_kwargs": {"shuffle": False},
        "pacs_reference_is_policy": is_policy,
        "pacs_learning_rate_factor": 1.0,
        **split,
    }
    if split["pacs_strategy"] == "grouped":
        settings.setdefault("force_group_size", GROUP)
    tu.assign_non_tensor(data, **settings)
    return data


def returned_metrics(output: Any) -> dict[str, Any]:
    """On rank 0, what is logged; the others return no tables."""
    tables = tu.get(output, "metrics").get(exchange.TABLES, [])
    return update_metrics([dict(zip(names, values, strict=True)) for names, values in tables])


def gradients(worker: MethodWorker, rank: int, case: dict[str, Any]) -> dict[str, Any]:
    """The train batch's gradient as the optimizer would see it and the metrics, for each config and way to split."""
    results = {}
    for name, (config, parts, split, is_policy) in case["ways"].items():
        worker.set_loss_fn(MethodLoss(config))
        seen: dict[str, torch.Tensor] = {}

        def record(seen: dict[str, torch.Tensor] = seen) -> float:
            for name, parameter in worker.actor.engine.module.named_parameters():
                seen[name] = parameter.grad.full_tensor().cpu().clone()
            return 0.0

        step = worker.actor.engine.optimizer_step
        worker.actor.engine.optimizer_step = record
        about = {"is_policy": is_policy, "split": split, "temperature": case["temperature"]}
        output = worker.update_actor(step_data(parts, rank, config, 1, **about))
        worker.actor.engine.optimizer_step = step
        results[name] = {"gradient": seen, "metrics": returned_metrics(output)}
    return results


def three_steps(worker: MethodWorker, rank: int, case: dict[str, Any]) -> dict[str, Any]:
    """Three steps of two mini-batches with SGD, the reference reset after the second; every forward pass noted."""
    start = {name: value.clone() for name, value in local_shards(worker.actor.engine.module).items()}
    results = {}
    for name, (config, parts, split, epochs) in case["steps"].items():
        for parameter, value in zip(local_shards(worker.actor.engine.module).values(), start.values(), strict=True):
            parameter.data.copy_(value)
        worker.set_loss_fn(MethodLoss(config))
        worker.reset_reference(reset_optimizer=True)
        schedule = ReferenceSchedule(config.reference)
        passes: list[list[tuple[str, int]]] = []
        note_passes(worker, passes)
        for step in (1, 2, 3):
            passes.append([])
            data = step_data(parts, rank, config, 2, is_policy=schedule.is_policy, split=split)
            factor = {"pacs_learning_rate_factor": schedule.learning_rate_factor(step)}
            tu.assign_non_tensor(data, epochs=epochs, **factor)
            worker.update_actor(data)
            if schedule.after_updates(step, saturated=0.0, log_ratio=0.0):
                worker.reset_reference(config.reference.reset_optimizer)
                equal = all(
                    torch.equal(a.cpu(), b.cpu())
                    for a, b in zip(
                        local_shards(worker.actor.engine.module).values(),
                        local_shards(worker.ref.engine.module).values(),
                        strict=True,
                    )
                )
        results[name] = {"weights": full_weights(worker), "passes": passes, "reset_copies": equal}
    return results


def note_passes(worker: MethodWorker, passes: list[list[tuple[str, int]]]) -> None:
    for role, engine in {"policy": worker.actor.engine, "reference": worker.ref.engine}.items():
        forward = type(engine).forward_step

        def noted(
            micro_batch: Any, loss_function: Any, forward_only: bool, role: str = role, engine: Any = engine,
            forward: Any = forward,
        ) -> Any:  # fmt: skip
            passes[-1].append((role if forward_only else "update", len(micro_batch)))
            return forward(engine, micro_batch, loss_function, forward_only)

        engine.forward_step = noted


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cases = torch.load(FOLDER / f"cases_{ranks}.pt", weights_only=False)
    results = {}
    for name, case in cases.items():
        worker = make_worker(case)
        results[name] = gradients(worker, rank, case)
        if "steps" in case:
            results[name] |= three_steps(worker, rank, case)
    if rank == 0:
        torch.save(results, FOLDER / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
