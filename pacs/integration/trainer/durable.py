"""verl's synchronous trainer, so that nothing is lost: atomic checkpoints, resuming, stops on request, faults.

What is trained is the subclass's; it adds its own state to a checkpoint by `save_algorithm_state` and
`load_algorithm_state`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
import transfer_queue.interface as tq_interface
from omegaconf import DictConfig, open_dict
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.utils import tensordict_utils as tu

from pacs.base.terminal import print
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.saving import Saving
from pacs.integration.start.nodes import host_of
from pacs.integration.trainer.failed_prompts import failure_of
from pacs.integration.trainer.monitor import Monitor
from pacs.integration.trainer.progress import ProgressTrainer
from pacs.integration.trainer.run_log import RunLog
from pacs.runs import signals
from pacs.runs.actor_failures import is_death
from pacs.runs.state import Progress, report_fault, write_progress
from pacs.runs.supervisor import STOP_REQUEST

#: How long the monitor is given to name the process whose death made the trainer fail.
MONITOR_SECONDS = 10.0


class DurableTrainer(ProgressTrainer):
    """A synchronous trainer that can be killed at any instant and stopped on request.

    Args:
        config: verl's config with a `pacs` section; a run that goes on has `trainer.resume_mode=resume_path`.
    """

    checkpoint_callback: CheckpointCallback
    total_training_steps: int
    _logger: Any

    def __init__(self, config: DictConfig) -> None:
        self.run_dir = Path(config.pacs.run_dir)
        self.prompts_fetched = 0
        self.stopping = False
        super().__init__(config)
        self.saving = Saving(self)
        self.monitor = Monitor(self.run_dir, self._known_progress, self._close_logs)

    # verl compares the mode with "sync" by name, and takes any other for an asynchronous one.
    @property
    def trainer_mode(self) -> str:
        """The mode verl's loop sees."""
        return "sync"

    @trainer_mode.setter
    def trainer_mode(self, registered_name: str) -> None:
        """verl sets the registered name; it stays in the config."""

    # verl makes its Tracking inside fit(); the run's own log joins it there.
    @property
    def logger(self) -> Any:
        """verl's Tracking."""
        return self._logger

    @logger.setter
    def logger(self, tracking: Any) -> None:
        tracking.logger["pacs"] = RunLog(
            self.run_dir / "metrics.jsonl", resumed_step=self.global_steps, total_steps=self.total_training_steps
        )
        self._logger = tracking

    def save_algorithm_state(self, folder: Path) -> str | None:
        """Write what the algorithm needs beside verl's files; the name of the reference's folder, if there is one."""
        return None

    def load_algorithm_state(self, checkpoint: Checkpoint) -> None:
        """Take up what `save_algorithm_state` wrote."""

    def init(self) -> None:
        """Start all that the run needs, under watch."""
        self.monitor.start()
        with self.causes_named():
            super().init()

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        for loader in (self.train_dataloader, self.val_dataloader):
            loader.worker_init_fn = signals.heed_parent_alone

    def on_init_end(self) -> None:
        """Send vLLM the weights, under watch."""
        # A machine that is gone may be told by its engine before Ray has given it up.
        addresses = self.llm_server_manager.get_addresses()
        engines = {f"vLLM engine {i} on {host_of(address)}": address for i, address in enumerate(addresses)}
        self.monitor.watch(self._actors(), engines)
        super().on_init_end()

    def fit(self, agent_loop_manager: Any) -> None:
        """Train, under watch; return at the last step or after the step in which a stop was asked for."""
        self.monitor.watch(
            {f"agent-loop worker {i}": worker for i, worker in enumerate(agent_loop_manager.agent_loop_workers)}, {}
        )
        with self.causes_named():
            self._fit(agent_loop_manager)
        self.monitor.stop()
        self.phase = "stopped" if self.stopping else "end"
        write_progress(self.run_dir, self.progress())
        # Before Ray ends what they have started: a server whose engine is gone reports that as a fault.
        for replica in self.llm_server_manager.get_replicas():
            for server in replica.servers:
                ray.kill(server)

    def _fit(self, agent_loop_manager: Any) -> None:
        # Both end verl's loop; only the last step of the first one is saved, whatever save_freq is.
        if self.steps_per_epoch == 0:
            raise RuntimeError(
                f"data.train_batch_size={self.config.data.train_batch_size}: of the prompts fewer are left after "
                f"data.filter_overlong_prompts (data.max_prompt_length={self.config.data.max_prompt_length})"
            )
        epochs = self.steps_per_epoch * self.config.trainer.total_epochs
        self.last_step = self.total_training_steps = min(self.total_training_steps, epochs)
        self.trained_steps = self.global_steps
        if self.global_steps >= self.last_step:
            print(
                f"pacs: nothing to train: the checkpoint is of step {self.global_steps}, and the run ends at step "
                f"{self.last_step} (trainer.total_training_steps, trainer.total_epochs)",
                flush=True,
            )
            return
        super().fit(agent_loop_manager)

    @contextmanager
    def causes_named(self) -> Iterator[None]:
        """Report why what is done within fails."""
        try:
            yield
        except Exception as error:
            # Before verl takes down the queue, whose death would be taken for the cause. Of a dead engine verl may say
            # only that rollouts have failed.
            if is_death(error) or self.monitor.suspects():
                self.monitor.join(MONITOR_SECONDS)
            report_fault(self.run_dir, failure_of(error, self.run_dir))
            self.monitor.stop()
            raise

    def _known_progress(self) -> Progress | None:
        return self.progress() if self.last_step > 0 else None

    def _close_logs(self) -> None:
        if (logger := getattr(self, "_logger", None)) is not None:
            logger.finish(exit_code=1)

    def _actors(self) -> dict[str, Any]:
        """The actors of the run, by what they are."""
        groups = {
            "training worker": self.actor_rollout_wg.workers,
            "critic worker": self.critic_wg.workers if self.use_critic else [],
            "reward worker": self.get_reward_handles() or [],
            "vLLM server": [s for replica in self.llm_server_manager.get_replicas() for s in replica.servers],
            "TransferQueue controller": [ray.get_actor("TransferQueueController", namespace="transfer_queue")],
            "TransferQueue storage": (tq_interface._TQ_STORAGE or {}).get("SimpleStorage", {}).values(),
        }
        return {f"{what} {i}": handle for what, handles in groups.items() for i, handle in enumerate(handles)}

    def on_step_end(self) -> None:
        """The step is done; if a stop was asked for, save and make verl's loop end with it."""
        self.stopping = (self.run_dir / STOP_REQUEST).exists() and self.global_steps < self.last_step
        if self.stopping:
            # Before the engines wake up and take the memory that a save may need.
            if self.saving.saved_step != self.global_steps:
                self._save_checkpoint()
            self.trained_steps = self.total_training_steps = self.global_steps
            self.phase = "stopped"
            write_progress(self.run_dir, self.progress())
            with open_dict(self.config):
                self.config.trainer.test_freq = -1
        super().on_step_end()

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        """verl's batch, with ids that say the prompts' order: rows can then be arranged alike in every run."""
        self._count_resampled(num_prompts)
        with signals.blocked():  # it starts the loader's workers
            batch = super()._next_train_batch(num_prompts)
        first = self.prompts_fetched
        self.prompts_fetched += len(batch)
        tu.assign_non_tensor_stack(batch, "uid", [f"{self.global_steps}-{first + i}" for i in range(len(batch))])
        return batch

    def _count_resampled(self, num_prompts: int | None) -> None:
        """Count the prompts that take the place of filtered groups (None: a step begins), and stop at the limit.

        verl's synchronous trainer does not heed `algorithm.filter_groups.max_num_gen_batches`, and would sample for
        ever where the policy solves all problems, or none.
        """
        self.prompts_resampled = 0 if num_prompts is None else self.prompts_resampled + num_prompts
        most = self.config.algorithm.filter_groups.max_num_gen_batches
        sampled = self.config.data.train_batch_size + self.prompts_resampled
        if 0 < most * self.config.data.train_batch_size < sampled:
            raise RuntimeError(
                f"step {self.global_steps}: {sampled} prompts were sampled, and too few of them had responses "
                f"of different scores: the data is too easy or too hard for this policy now, or raise "
                f"algorithm.filter_groups.max_num_gen_batches={most} (0: no limit)"
            )

    def _save_checkpoint(self) -> None:
        """Save, whole or not at all; `self.phase` says so meanwhile."""
        phase, self.phase = self.phase, "save"
        self.saving.save(super()._save_checkpoint)
        self.phase = phase

    def _load_checkpoint(self) -> None:
        self.saving.load(super()._load_checkpoint)
