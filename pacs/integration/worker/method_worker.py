"""verl's workers with what our methods add: scores before the gradient pass, and a reference that can be reset."""

from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from verl.single_controller.base.decorator import Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.utils import tensordict_utils as tu
from verl.utils.device import get_torch_device
from verl.utils.profiler import DistProfiler
from verl.workers.utils.padding import response_from_nested

from pacs.algorithm import (
    check_whole_groups,
    credit_means,
    credited_objectives,
    row_columns,
    score_responses,
    sequence_log_ratios,
)
from pacs.algorithm.carried import rank_stride
from pacs.integration.checkpoints.shards import copy_shards, load_shards, save_shards
from pacs.integration.exchange import REFERENCE, SCORED, SLOPES, TABLES, MiniBatch, RowFields, StepSettings
from pacs.integration.worker.effective_ranks import rank_hidden_states
from pacs.integration.worker.merging import merge_duplicates
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.slopes import give_slopes
from pacs.integration.worker.training import DurableTrainingWorker, ProbedWorker


class MethodTrainingWorker(DurableTrainingWorker):
    """The actor's training worker: knows N, and with `cached` the effective advantages, before a gradient pass."""

    loss_fn: MethodLoss

    def train_mini_batch(self, data: Any) -> Any:
        """verl's loop over mini-batches; one rank returns the tables of all, which verl has gathered."""
        self.updates = 0
        self.policy_pass_seconds = 0.0
        output = super().train_mini_batch(data)
        if output is not None and self.engine.get_data_parallel_rank() > 0:
            tu.get(output, "metrics").pop(TABLES)
        return output

    def train_batch(self, data: Any) -> Any:
        """Run verl's update on one mini-batch, with N of Eq. 8 (over all ranks) beside the data."""
        fields, step = RowFields.unpack(data), StepSettings.unpack(data)
        sums = torch.stack([fields.shares.sum().double(), fields.row_mask.sum().double()]).to(self.device_name)
        torch.distributed.all_reduce(sums, group=self.engine.get_data_parallel_group())
        n, rows = (each or 1.0 for each in sums.tolist())
        own_reference = self.updates == 0 and step.reference_is_policy
        mini_batch = MiniBatch(denominator=n, rows=rows, update=self.updates, self_reference=own_reference)
        tu.assign_non_tensor(data, **mini_batch.pack())
        if step.strategy == "cached":
            data[SCORED] = self._score(data, own_reference)
        self.updates += 1
        return super().train_batch(data)

    def log_probs(self, data: Any, **context: Any) -> torch.Tensor:
        """log pi of every response token at the current weights, without a gradient: jagged, on the host.

        Every rank gets those of its own rows. `context` is passed to the engine's `eval_mode`.
        """
        request = data.copy()
        settings = {
            "use_remove_padding": self.model_config.get("use_remove_padding", False),
            "use_fused_kernels": self.engine_config.use_fused_kernels,
            "use_dynamic_bsz": self.engine_config.use_dynamic_bsz,
            "max_token_len_per_gpu": self.engine_config.infer_max_token_len_per_gpu,
            "micro_batch_size_per_gpu": self.engine_config.infer_micro_batch_size_per_gpu,
            "force_group_size": 1,
            "calculate_entropy": False,
        }
        tu.assign_non_tensor(request, **settings)
        with self.engine.eval_mode(**context):
            output = self.engine.infer_batch(request)
        mask = data["response_mask"]
        # Unfused, and without flash-attn's cross-entropy, verl's are of the autocast's 16 bits.
        log_probs: torch.Tensor = output["model_output"]["log_probs"].to(mask.device, torch.float32)
        return response_from_nested(log_probs, mask)  # type: ignore[no-any-return]

    def _score(self, data: Any, own_reference: bool) -> torch.Tensor:
        """`row_columns` of this rank's rows at the current weights: (B, C). A group's rows may be on any rank."""
        mask = data["response_mask"].to_padded_tensor(0) != 0
        method, fields = self.loss_fn.method, RowFields.unpack(data)
        constants = fields.constants()
        current = torch.zeros(mask.shape)
        if method.needs_log_likelihoods or not own_reference:
            start = perf_counter()
            current = self.log_probs(data, disable_auto_offload=True).to_padded_tensor(0)
            self.policy_pass_seconds += perf_counter() - start
        reference = current if own_reference else data[REFERENCE].to_padded_tensor(0)
        rows = {
            # NaN goes to the ranks that share its group, not an error to this one alone, for which they would wait.
            "log_ratios": sequence_log_ratios(current, reference, mask, allow_not_finite=True),
            "log_likelihoods": torch.where(mask, current, 0).sum(dim=1),
            "lengths": mask.sum(dim=1),
            "labels": fields.labels,
            "coefficients": constants.coefficients,
            "row_mask": fields.row_mask,
            "group_ids": fields.group_ids,
            "group_sizes": fields.group_sizes,
        }
        if method.tokenwise:
            objectives = credited_objectives(current, reference, mask, method, constants.credit)
            rows["token_sums"] = objectives.sum(dim=1)
        if (credit := credit_means(constants.credit, mask)) is not None:
            rows["credit"] = credit
        if constants.weights is not None:
            rows["weights"] = constants.weights
        rows = self._of_all_ranks(rows)
        group_ids = rows.pop("group_ids").long()
        check_whole_groups(group_ids, rows.pop("group_sizes").long(), rows["row_mask"])
        columns = score_responses(group_ids=group_ids, method=method, **rows)
        first = self.engine.get_data_parallel_rank() * len(data)
        return torch.stack([columns[name][first : first + len(data)] for name in row_columns(method)], dim=1).float()

    def _of_all_ranks(self, columns: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Columns of a mini-batch's rows, (B,) each, of all ranks, in float64 on the host."""
        mine = torch.stack([column.double() for column in columns.values()]).to(self.device_name)
        parts = [torch.empty_like(mine) for _ in range(self.engine.get_data_parallel_size())]
        torch.distributed.all_gather(parts, mine, group=self.engine.get_data_parallel_group())
        return dict(zip(columns, torch.cat(parts, dim=1).cpu(), strict=True))


class MethodWorker(ProbedWorker):
    """Actor, rollout and (unless the reference is always the policy) reference in one process."""

    actor_worker_cls = MethodTrainingWorker
    ref_worker_cls = MethodTrainingWorker

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def set_loss_fn(self, loss_fn: MethodLoss) -> None:
        """verl's; equal rows are merged, if they are, in the passes of policy and reference alike."""
        super().set_loss_fn(loss_fn)
        if self.actor is not None and (stride := rank_stride(loss_fn.method)) is not None:
            rank_hidden_states(self.actor.engine, stride)
        if self.actor is not None and SLOPES in loss_fn.method.reads:
            give_slopes(self.actor.engine)
        if loss_fn.method.update.merge_duplicates:
            for model in (self.actor, self.ref):
                if model is not None:
                    merge_duplicates(model.engine)

    @register(dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="actor"))
    @DistProfiler.annotate(color="red", role="actor_update", scheduled=True)
    def update_actor(self, data: Any) -> Any:
        """The reference's log-probabilities as far as they are needed, then verl's update on every mini-batch."""
        tu.maybe_fix_3d_position_ids(data)
        start = perf_counter()
        data[REFERENCE] = self._reference_log_probs(data)
        reference_seconds = perf_counter() - start
        rate = self._scale_learning_rate(StepSettings.unpack(data).learning_rate_factor)
        # Not through verl's update_actor: its profiler would start a second time in this process.
        output = self.actor.train_mini_batch(data)
        if output is None:
            return None
        metrics = tu.get(output, "metrics")
        metrics["timing_s/reference_pass"], metrics["learning_rate"] = reference_seconds, rate
        metrics["timing_s/policy_pass"] = self.actor.policy_pass_seconds
        return output.cpu()

    def _reference_log_probs(self, data: Any) -> torch.Tensor:
        """log pi_ref of each response token (jagged).

        Where the reference is the policy at the step's start, the policy gives them before its first update, for
        all rows but the first mini-batch's: those have r = 0, and their values here are 0 and not read.
        """
        if not StepSettings.unpack(data).reference_is_policy:
            return self._log_probs_of_reference(data)
        # A further epoch reads the first mini-batch's too.
        first = data["mini_batch_size"] // self.actor.engine.get_data_parallel_size() if data["epochs"] == 1 else 0
        unread = [torch.zeros(len(mask)) for mask in data["response_mask"].unbind()[:first]]
        if first == len(data):
            return torch.nested.as_nested_tensor(unread, layout=torch.jagged)
        later_rows = tu.index_select_tensor_dict(data, list(range(first, len(data))))
        values = [*unread, *self.actor.log_probs(later_rows).unbind()]
        return torch.nested.as_nested_tensor(values, layout=torch.jagged)

    def _log_probs_of_reference(self, data: Any) -> torch.Tensor:
        reference: MethodTrainingWorker = self.ref
        return reference.log_probs(data)

    def _scale_learning_rate(self, factor: float) -> float:
        """Set this step's rate to verl's schedule times `factor`; verl's scheduler sets its own again after it."""
        rates: list[float] = [factor * rate for rate in self.actor.engine.lr_scheduler.get_last_lr()]
        for group, rate in zip(self.actor.engine.optimizer.param_groups, rates, strict=True):
            group["lr"] = rate
        return rates[0]

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_reference(self, reset_optimizer: bool) -> None:
        """Make the reference the current policy; optionally forget the optimizer's moments.

        Each rank copies its own shards: no gather, no file.
        """
        if self.ref is not None:
            # verl's offload to the host may still be copying.
            get_torch_device().synchronize()
            copy_shards(self.actor.engine.module, self.ref.engine.module)
        if reset_optimizer:
            self.actor.engine.optimizer.state.clear()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_reference(self, folder: str) -> None:
        """Write this rank's shards of the reference to `folder`."""
        save_shards(self.ref.engine.module, Path(folder), "reference")

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_reference(self, folder: str) -> None:
        """Read this rank's shards of the reference from `folder`, whatever number of ranks wrote it."""
        load_shards(self.ref.engine.module, Path(folder), "reference")
