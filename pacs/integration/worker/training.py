"""verl's training worker with what every run needs of it: checkpoints of any ranks, and gradients that are watched."""

import sys
from pathlib import Path
from typing import Any

import torch
from verl.single_controller.base.decorator import Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.utils import tensordict_utils as tu
from verl.utils.fsdp_utils import load_fsdp_model_to_gpu, offload_fsdp_model_to_cpu, offload_fsdp_optimizer
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker

from pacs.checkpoints.torch_file import only_safe_loads, read_torch_file
from pacs.integration.checkpoints.shard_checks import CheckedFile, check_files, share_of
from pacs.integration.checkpoints.shards import dealt_out_alike, load_checkpoint, shard_file
from pacs.integration.exactness.layout_check import check_layout
from pacs.integration.patches import engine_weights  # noqa: F401 (it registers itself)
from pacs.integration.worker.not_finite import SkippedUpdates
from pacs.integration.worker.optimizer_settings import settings_kept
from pacs.metrics.reduce import gradient_metrics

#: Among the metrics of a baseline's update: the most updates in a row that were skipped since the start.
SKIPPED_IN_A_ROW = "pacs/gradient/skipped_in_a_row"


class DurableTrainingWorker(TrainingWorker):
    """A policy or a critic that can be gone on with."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset(self) -> None:
        """Build the model; a critic's last layer and adapters are drawn from the engine's seed, in each run alike."""
        if self.config.model_type == "value_model" or self.model_config.lora_rank > 0:
            torch.manual_seed(self.engine_config.seed)
        super().reset()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_checkpoint(
        self, local_path: str, hdfs_path: str | None = None, del_local_after_load: bool = False
    ) -> None:
        """Load what verl saved on as many ranks (verl's own way) or on others; settings of the optimizer stay."""
        engine, folder = self.engine, Path(local_path)
        with settings_kept(engine.optimizer, engine.lr_scheduler):
            if dealt_out_alike(engine.module, folder, "model"):
                rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
                for kind in ("optim", "extra_state"):  # verl's own error would not name the file
                    read_torch_file(shard_file(folder, kind, ranks, rank), mmap=True)
                with only_safe_loads():
                    super().load_checkpoint(local_path, hdfs_path, del_local_after_load)
                return
            # As verl's engine does around its own.
            if engine.is_param_offload_enabled:
                load_fsdp_model_to_gpu(engine.module)
            load_checkpoint(engine.checkpoint_manager, folder)
            if engine.is_param_offload_enabled:
                offload_fsdp_model_to_cpu(engine.module)
            if engine.is_optimizer_offload_enabled:
                offload_fsdp_optimizer(engine.optimizer)


class BaselineTrainingWorker(DurableTrainingWorker):
    """A policy or a critic under one of verl's own losses."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.skipped = SkippedUpdates(limit=sys.maxsize)  # the trainer knows the limit

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset(self) -> None:
        """Build the model."""
        super().reset()
        if self.config.model_type == "value_model":  # a policy's temperature is known to the worker around it
            check_layout(self.engine, temperature=1.0, model="critic.model")

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
    def train_mini_batch(self, data: Any) -> Any:
        """verl's loop over mini-batches, whose metrics also tell of the single updates' gradients."""
        output = super().train_mini_batch(data)
        if output is not None:
            metrics = tu.get(output, "metrics")
            self.skipped.add(metrics["grad_norm"])
            metrics.update(gradient_metrics(metrics["grad_norm"], self.optimizer_config.clip_grad))
            metrics[SKIPPED_IN_A_ROW] = self.skipped.most
        return output


class ProbedWorker(ActorRolloutRefWorker):
    """Actor, rollout and reference in one process, whose policy is tried before it is used, and its files checked."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def check_files(self, folder: str, names: list[str], written: bool) -> list[CheckedFile]:
        """Read this rank's share of a checkpoint's large files against their checksums (see `shard_checks`)."""
        assigned = share_of(names, torch.distributed.get_rank(), torch.distributed.get_world_size())
        return check_files(Path(folder), assigned, written=written)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        """verl's; then the run's layout is compared with one sequence at a time (LayoutError)."""
        super().init_model()
        if self.actor is not None:
            check_layout(self.actor.engine, temperature=self.config.rollout.temperature)


class BaselineWorker(ProbedWorker):
    """Actor, rollout and (with a KL term) reference in one process."""

    actor_worker_cls = BaselineTrainingWorker
