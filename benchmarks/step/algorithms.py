"""A training step of each algorithm after the rollouts, split into phases, as verl's trainer and PACS's take them.

Every function here takes one step on a `Batch` and returns the seconds of its phases, named as in `report.PHASES`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from verl.trainer.ppo.core_algos import compute_gae_advantage_return, compute_grpo_outcome_advantage
from verl.utils import tensordict_utils as tu
from verl.utils.device import get_torch_device
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker
from verl.workers.utils.padding import response_from_nested, response_to_nested

from benchmarks.step.batch import Batch
from pacs.algorithm import Pacs
from pacs.integration.exchange import StepSettings
from pacs.integration.trainer.step_rows import dense_ids, step_rows
from pacs.integration.worker.method_worker import MethodWorker


class Clock:
    """The seconds of each phase of a step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is inside, until the device is done."""
        get_torch_device().synchronize()
        start = perf_counter()
        yield
        get_torch_device().synchronize()
        self.seconds[name] = perf_counter() - start


def grpo(worker: ActorRolloutRefWorker, batch: Batch) -> dict[str, float]:
    """verl's GRPO without KL: log pi_old with the entropy, advantages, update."""
    clock, data = Clock(), batch.data.copy()
    with clock.phase("log-prob pass"):
        _old_log_probs(worker, data)
    with clock.phase("advantages"):
        mask, rewards = _token_rewards(batch)
        ids = np.array(batch.prompt_ids, dtype=object)
        advantages, _ = compute_grpo_outcome_advantage(rewards, mask, ids)
        data["advantages"] = response_to_nested(advantages, data["response_mask"])
    with clock.phase("actor update"):
        worker.update_actor(_with_settings(data, batch))
    return clock.seconds


def ppo(worker: ActorRolloutRefWorker, critic: TrainingWorker, batch: Batch) -> dict[str, float]:
    """verl's PPO without KL: log pi_old with the entropy, values, advantages, both updates."""
    clock, data = Clock(), batch.data.copy()
    with clock.phase("log-prob pass"):
        _old_log_probs(worker, data)
    with clock.phase("values pass"):
        output = critic.infer_batch(_without_loss(data, entropy=False))
        data["values"] = response_from_nested(output["values"], data["response_mask"])
    with clock.phase("advantages"):
        mask, rewards = _token_rewards(batch)
        advantages, returns = compute_gae_advantage_return(rewards, data["values"].to_padded_tensor(0), mask, 1.0, 1.0)
        data["advantages"] = response_to_nested(advantages, data["response_mask"])
        data["returns"] = response_to_nested(returns, data["response_mask"])
    with clock.phase("critic update"):
        critic.train_mini_batch(_with_settings(data, batch))
    with clock.phase("actor update"):
        worker.update_actor(_with_settings(data, batch))
    return clock.seconds


def pacs(
    worker: MethodWorker,
    batch: Batch,
    *,
    strategy: Literal["grouped", "cached"],
    entropy: bool,
    after_reset: bool = False,
    split: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """A step of PACS.

    Args:
        worker: PACS's.
        batch: the rollouts.
        strategy: how the gradient is taken.
        entropy: calculate it in the update's passes.
        after_reset: the reference is the policy, as in the step that follows a reset.
        split: settings of verl's micro-batches.
    """
    clock, data = Clock(), batch.data.copy()
    with clock.phase("advantages"):
        groups, padding = dense_ids(batch.prompt_ids), torch.zeros(len(data), dtype=torch.bool)
        data.update(step_rows(groups, padding, batch.labels, Pacs(), torch.ones(len(data)))[0].pack())
    settings = StepSettings(strategy=strategy, reference_is_policy=after_reset).pack()
    settings |= {"calculate_entropy": entropy, **(split or {})}
    if strategy == "grouped":
        settings["force_group_size"] = batch.group
    with clock.phase("actor update"):
        output = worker.update_actor(_with_settings(data, batch, **settings))
    metrics = tu.get(output, "metrics")
    for phase, timing in {"log-prob pass": "reference_pass", "policy pass": "policy_pass"}.items():
        clock.seconds[phase] = metrics[f"timing_s/{timing}"]
        clock.seconds["actor update"] -= clock.seconds[phase]
    return clock.seconds


def _old_log_probs(worker: ActorRolloutRefWorker, data: Any) -> None:
    output = worker.compute_log_prob(_without_loss(data, entropy=True))
    data["old_log_probs"] = response_from_nested(output["log_probs"], data["response_mask"])
    data["entropy"] = response_from_nested(output["entropy"], data["response_mask"])


def _token_rewards(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T) mask and rewards: the label at each response's last token."""
    mask = batch.data["response_mask"].to_padded_tensor(0)
    last = torch.nn.functional.one_hot(mask.sum(dim=1) - 1, mask.shape[1])
    return mask, last * batch.labels[:, None]


def _without_loss(data: Any, *, entropy: bool) -> Any:
    request = data.copy()
    tu.assign_non_tensor(request, compute_loss=False, calculate_entropy=entropy, temperature=1.0)
    return request


def _with_settings(data: Any, batch: Batch, **more: Any) -> Any:
    """What verl's trainer says of an update."""
    request, rows = data.copy(), len(data) // batch.mini_batches
    settings = {
        "calculate_entropy": False,
        "global_batch_size": rows,
        "mini_batch_size": rows,
        "epochs": 1,
        "seed": 0,
        "dataloader_kwargs": {"shuffle": False},
        "temperature": 1.0,
    }
    tu.assign_non_tensor(request, **settings | more)
    return request
