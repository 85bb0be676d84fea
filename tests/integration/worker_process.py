"""One rank of the training worker, started by test_worker.py as a real process.

Reads its part of the batch, runs PACS's loss through verl's worker and FSDP2 engine with each way of making
micro-batches, and (rank 0) writes the full gradient of each.
"""

import os
import sys
from functools import partial
from pathlib import Path

os.environ["VERL_PLATFORM"] = "cpu"

import torch
import verl  # noqa: F401 (loads the plugin)
from verl.trainer.config import CheckpointConfig
from verl.utils import tensordict_utils as tu
from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
from verl.workers.engine_workers import TrainingWorkerConfig

from pacs.algorithm import PacsConfig
from pacs.integration.loss import pacs_policy_loss
from pacs.integration.worker import PacsTrainingWorker, copy_shards, local_shards
from tests.integration.worker_batch import GROUP, as_tensordict

FP32 = {"param_dtype": "fp32", "reduce_dtype": "fp32", "buffer_dtype": "fp32"}


def make_worker(model: Path, *, forward_only: bool = False) -> PacsTrainingWorker:
    model_config = HFModelConfig(
        path=str(model),
        use_remove_padding=False,
        enable_gradient_checkpointing=False,
        override_config={"attn_implementation": "sdpa"},
    )
    engine = FSDPEngineConfig(
        strategy="fsdp2",
        forward_only=forward_only,
        model_dtype="fp32",
        mixed_precision=FP32,
        use_torch_compile=False,
        use_dynamic_bsz=False,
    )
    optimizer = FSDPOptimizerConfig(lr=1e-3, clip_grad=1e9, total_training_steps=10)
    worker = PacsTrainingWorker(
        TrainingWorkerConfig(
            model_type="language_model",
            model_config=model_config,
            engine_config=engine,
            optimizer_config=optimizer,
            checkpoint_config=CheckpointConfig(),
        )
    )
    worker.reset()
    return worker


def gradient(worker: PacsTrainingWorker, rows: list[dict], micro_batching: dict) -> tuple[dict, dict]:
    """The mini-batch's gradient as the optimizer would see it, and the metrics the worker returns."""
    seen: dict[str, torch.Tensor] = {}

    def record() -> float:
        for name, parameter in worker.engine.module.named_parameters():
            seen[name] = parameter.grad.full_tensor().clone()
        return 0.0

    worker.engine.optimizer_step = record
    data = as_tensordict(rows)
    tu.assign_non_tensor(data, temperature=1.0, global_batch_size=None, force_group_size=GROUP, **micro_batching)
    metrics = tu.get(worker.train_batch(data), "metrics")
    return seen, {name: value for name, value in metrics.items() if name.startswith("actor/pacs/")}


def main(folder: Path) -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    parts = torch.load(folder / f"parts_{ranks}.pt", weights_only=False)
    worker = make_worker(folder / "model")
    worker.set_loss_fn(partial(pacs_policy_loss, PacsConfig()))
    blocks = len(parts[rank]) // GROUP
    ways = {
        "one group": {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 1},
        "all groups": {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": blocks},
        "dynamic": {"use_dynamic_bsz": True, "max_token_len_per_gpu": 120},
    }
    results = {way: gradient(worker, parts[rank], micro_batching) for way, micro_batching in ways.items()}

    # A reset: another model's shards become the policy's, and nothing else.
    reference = make_worker(folder / "other_model", forward_only=True)
    copy_shards(worker.engine.module, reference.engine.module)
    equal = all(
        torch.equal(a, b)
        for a, b in zip(
            local_shards(worker.engine.module).values(),
            local_shards(reference.engine.module).values(),
            strict=True,
        )
    )
    if rank == 0:
        torch.save({"gradients": results, "reset_copies": equal}, folder / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
