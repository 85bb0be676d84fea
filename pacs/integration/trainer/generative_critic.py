"""A run's critic that writes text (GenAC): its workers, its engines, and its update in a step.

Both models have their ranks and engines on the same GPUs. The critic's engines are awake while the policy's are, since
the agent loops ask them (`patches/critic_rollouts.py`). Then both sleep, and the models are updated one by one.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from verl.checkpoint_engine import CheckpointEngineManager
from verl.single_controller.ray import RayClassWithInitArgs, RayWorkerGroup
from verl.single_controller.ray.base import create_colocated_worker_cls
from verl.trainer.ppo.utils import Role
from verl.utils.config import omega_conf_to_dataclass
from verl.workers.rollout.llm_server import LLMServerManager

from pacs.algorithm.genac.method import GenAcCritic
from pacs.algorithm.genac.parsing import read_score
from pacs.algorithm.genac.rewards import SuccessRate, compared
from pacs.base.files import write_atomically
from pacs.base.terminal import print
from pacs.checkpoints.folder import CRITIC, Checkpoint
from pacs.evaluation.genac.templates import problem_of, template_named
from pacs.integration.checkpoints.shard_checks import check_shards
from pacs.integration.exchange import tables_of
from pacs.integration.trainer.critic_rows import CriticRow, Judged, critic_batch, critic_rows, judged
from pacs.integration.worker.critic import FIRST_ENGINE, CriticWorker, replica_class
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.not_finite import SkippedUpdates, poison_error
from pacs.metrics.genac import critic_metrics
from pacs.metrics.reduce import gradient_metrics, update_metrics
from pacs.runs.genac_settings import GenacSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import critic_section

#: The file of a checkpoint that holds the pass rate.
STATE = "genac.json"
#: Share of the prompts of a probe that a critic has to score.
PROBED = 0.9


class UnparsableError(RuntimeError):
    """The critic gives too few scores to go on."""


class GenerativeCritic:
    """The critic of a run.

    Args:
        trainer: a `MethodTrainer`.

    Attributes:
        workers: its worker group.
        engines: its engines.
        rate: the pass rate that it is told.
    """

    workers: Any
    engines: LLMServerManager

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.settings = GenacSettings.from_mapping(plain(trainer.config.genac))
        self.method = GenAcCritic(baseline=self.settings.baseline)
        self.rate = SuccessRate(self.settings.rate.first or 0.0, self.settings.rate.decay)
        self.rate_is_known = self.settings.rate.first is not None
        self.skipped = SkippedUpdates(trainer.config.run.faults.skipped_updates)

    def start(self) -> None:
        """Start workers and engines; the engines sleep."""
        trainer = self.trainer
        self.section = critic_section(trainer.config)
        role = next(role for role in (Role.ActorRolloutRef, Role.ActorRollout) if role in trainer.role_worker_mapping)
        pool = trainer.resource_pool_manager.get_resource_pool(role)
        name = str(Role.ActorRollout)
        worker = RayClassWithInitArgs(cls=ray.remote(CriticWorker), config=self.section, role=name)
        group = RayWorkerGroup(
            resource_pool=pool,
            ray_cls_with_init=create_colocated_worker_cls({name: worker}),
            device_name=trainer.config.trainer.device,
        )
        self.workers = group.spawn(prefix_set={name})[name]
        self.workers.init_model()
        self.workers.set_loss_fn(MethodLoss(self.method))
        self.ranks = max(self.workers._query_dispatch_info("actor")) + 1
        of_critic = trainer.config.copy()
        of_critic.actor_rollout_ref = self.section
        manager: Any = type("CriticEngines", (LLMServerManager,), {"rollout_replica_class": replica_class()})
        self.engines = manager.create(config=of_critic, worker_group=self.workers, start_rank=FIRST_ENGINE)
        transfer = omega_conf_to_dataclass(self.section.rollout.checkpoint_engine)
        transfer.backend = "naive"
        self.weights = CheckpointEngineManager(
            config=transfer, actor_wg=self.workers, replicas=self.engines.get_replicas()
        )
        self.sleep()

    def sleep(self) -> None:
        """Have the engines put their memory away."""
        self.weights.sleep_replicas()

    def wake(self) -> None:
        """Send the engines the weights."""
        self.weights.update_weights(self.trainer.global_steps)

    def probe(self) -> None:
        """Ask for a score of some problems of which nothing is solved yet.

        Raises:
            UnparsableError: fewer than `PROBED` of the answers have one.
        """
        trainer, settings = self.trainer, self.settings
        number = min(settings.probe, len(trainer.train_dataset))
        if number == 0 or trainer.global_steps > 0:
            return
        template, tokenizer = template_named(settings.template), trainer.tokenizer
        servers = [replica.server_handle for replica in self.engines.get_replicas()]
        calls = []
        for place in range(number):
            problem = problem_of(trainer.train_dataset[place]["raw_prompt"])
            text = template.head(problem, self.rate.rate, settings.model_size)
            ids = [part for each in (text, template.tail) for part in tokenizer.encode(each, add_special_tokens=False)]
            sampling = {"temperature": 1.0, "seed": place, "max_tokens": settings.trace_tokens}
            server = servers[place % len(servers)]
            calls.append(server.generate.remote(request_id=f"probe-{place}", prompt_ids=ids, sampling_params=sampling))
        traces = [tokenizer.decode(output.token_ids, skip_special_tokens=True) for output in ray.get(calls)]
        scored = sum(read_score(trace) is not None for trace in traces)
        if scored < PROBED * number:
            unread = next(trace for trace in traces if read_score(trace) is None)
            raise UnparsableError(
                f"genac.critic.model.path={self.section.model.path}: {scored} of {number} answers to an empty solution "
                f"end in a score, {PROBED:.0%} are needed. One that does not: {unread[-200:]!r}. Fine-tune the critic "
                "on traces first (docs/genac.md), give it more genac.trace_tokens, or set genac.probe=0 to go on "
                "without this check."
            )
        print(f"pacs: the critic scores {scored} of {number} empty solutions", flush=True)

    def learn_first_rate(self, validation: dict[str, Any]) -> None:
        """Take the pass rate of the validation before training, where no setting gives one."""
        if not self.rate_is_known:
            scores = [value for name, value in validation.items() if name.startswith("val-core/") and "mean@" in name]
            self.rate.rate, self.rate_is_known = float(np.mean(scores)), True

    def update(self, batch: Any, outcomes: list[float], metrics: dict[str, Any]) -> None:
        """Train the critic on what it wrote in this step.

        Args:
            batch: verl's keys and tags of the policy's rows.
            outcomes: r of each row.
            metrics: gets the critic's.

        Raises:
            UnparsableError: too many traces have no score.
            PoisonError: too many updates in a row were skipped.
        """
        responses = judged(batch, outcomes)
        traces = [(response.outcome, trace) for response in responses for trace in response.traces]
        told = self.rate.rate
        self.rate.update([response.outcome for response in responses])
        metrics["pacs/critic/pretraining_count"] = float(
            self.trainer.config.trainer.critic_warmup > self.trainer.global_steps
        )
        metrics.update(
            critic_metrics(
                outcomes=[outcome for outcome, _ in traces],
                values=[trace.value for _, trace in traces],
                tokens=[len(trace.tokens) for _, trace in traces],
                responses=len(responses),
                rate=told,
            )
        )
        metrics["pacs/response_tokens/generated_sum"] += metrics["pacs/genac/trace_tokens_sum"]
        self._check_scored([trace.value for _, trace in traces])
        data = critic_batch(
            list(self._rows(responses)),
            updates=self.settings.updates_per_step,
            ranks=self.ranks,
            pad=self.trainer.tokenizer.eos_token_id,
            temperature=self.section.rollout.temperature,
        )
        returned = self.workers.update_actor(data)["metrics"]
        norms = returned["grad_norm"]
        if self.skipped.add(norms):
            raise poison_error(self.skipped.most, self.trainer.global_steps)
        of_update = gradient_metrics(norms, self.section.actor.optim.clip_grad) | update_metrics(tables_of(returned))
        for name in ("gradient/norm_max", "gradient/skipped_count", "rollout_gap/per_token"):
            metrics[f"pacs/genac/{name}"] = of_update[f"pacs/{name}"]
        metrics["pacs/genac/learning_rate_mean"] = float(returned["learning_rate"])

    def _rows(self, responses: Sequence[Judged]) -> Iterator[CriticRow]:
        """The rows of the update, as long as a micro-batch holds."""
        rewards = torch.tensor([reward for response in responses for reward in response.rewards()])
        credit = iter(compared(rewards.double(), self.settings.baseline).tolist())
        most = self.section.actor.ppo_max_token_len_per_gpu
        for response in responses:
            yield from critic_rows(response, list(islice(credit, len(response.traces))), most)

    def _check_scored(self, values: Sequence[float | None]) -> None:
        without = sum(value is None for value in values)
        if without > self.settings.unparsable * len(values):
            raise UnparsableError(
                f"step {self.trainer.global_steps}: {without} of the critic's {len(values)} traces have no score, more "
                f"than genac.unparsable={self.settings.unparsable:g} of them: give it more genac.trace_tokens, a lower "
                "genac.critic.actor.optim.lr, or a critic that was fine-tuned for longer."
            )

    def save(self, folder: Path) -> None:
        """Write the critic's part of a checkpoint."""
        self.workers.save_checkpoint(str(folder / CRITIC), None, self.trainer.global_steps, None)
        check_shards(folder / CRITIC, self.workers.world_size)
        write_atomically(folder / STATE, json.dumps(self.rate.state_dict()) + "\n")

    def load(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint."""
        self.workers.load_checkpoint(str(checkpoint.folder / CRITIC), None, False)
        self.rate.load_state_dict(json.loads((checkpoint.folder / STATE).read_text(encoding="utf-8")))
        self.rate_is_known = True
