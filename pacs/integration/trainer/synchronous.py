"""verl's synchronous trainer, with where in verl's loop each of what every run of ours has attached to it is called.

Attached are phases, the prompts' order and pool, grading, the filter of groups, checkpoints and a watch over processes.
What is trained is the subclass's: method_trainer.py, and baselines.py of verl's own.
"""

from pathlib import Path
from typing import Any

import ray
from omegaconf import DictConfig
from verl.utils.debug import marked_timer

from pacs.base.run_folder import RunFolder
from pacs.checkpoints.folder import Checkpoint
from pacs.integration.checkpoints.saving import Saving
from pacs.integration.trainer.generative_critic import GenerativeCritic
from pacs.integration.trainer.grading import Grading, without_shaping
from pacs.integration.trainer.group_filter import GroupFilter
from pacs.integration.trainer.monitor import Monitor, actors_of, engines_of, servers_of
from pacs.integration.trainer.partial import MODE, PartialRollouts, set_bounds
from pacs.integration.trainer.phases import Phases, announced, find_last_step
from pacs.integration.trainer.pool import PoolLoader
from pacs.integration.trainer.prompts import PromptOrder
from pacs.integration.trainer.run_log import RunLog
from pacs.integration.trainer.separate import EnginesPlaced
from pacs.integration.trainer.std_filter import GroupsThatDiffer
from pacs.integration.trainer.step_rows import is_padding, prompt_uid
from pacs.metrics.outcomes import averaged
from pacs.runs import signals
from pacs.runs.state import Progress, write_progress
from pacs.verl_keys.config import draws_from_pool, has_partial_rollouts

#: Seconds between two looks at whether the rollouts are done; verl's 2 s would be most of a tiny model's step.
ROLLOUT_POLL_SECONDS = 0.2


@announced
class SynchronousTrainer(EnginesPlaced):
    """A trainer that can be killed at any instant, stopped on request, and says what it is at.

    Args:
        config: verl's config with a `pacs` section; a run that goes on has `trainer.resume_mode=resume_path`.
    """

    total_training_steps: int
    #: A critic that writes text (`generative_critic.py`), of some of our methods' runs.
    critic: GenerativeCritic | None = None
    _logger: Any

    def __init__(self, config: DictConfig) -> None:
        set_bounds(config)
        super().__init__(config)
        self.run_dir = Path(config.run.dir)
        self.stopping = False
        self.sampled_parts: dict[str, dict[str, float]] = {}
        self.phases = Phases(self.replay_buffer)
        self.prompts = PromptOrder(config)
        self.prompts.count_discarded(self.replay_buffer)
        self.replay_buffer.poll_interval = ROLLOUT_POLL_SECONDS
        self.grading = Grading(self)
        self.group_filter = GroupFilter(self)
        self.std_filter = GroupsThatDiffer(self)
        self.partial = PartialRollouts(self) if has_partial_rollouts(config) else None
        self.saving = Saving(self)
        self.monitor = Monitor(self.run_dir, self._known_progress, self._close_logs)

    def save_algorithm_state(self, folder: Path) -> str | None:
        """Write what the algorithm needs beside verl's files; the name of the reference's folder, if there is one."""
        return None

    def load_algorithm_state(self, checkpoint: Checkpoint) -> None:
        """Take up what `save_algorithm_state` wrote."""

    # verl compares the mode with "sync" by name, and takes any other for an asynchronous one.
    @property
    def trainer_mode(self) -> str:
        """The mode verl's loop sees."""
        return MODE if has_partial_rollouts(self.config) else "sync"

    @trainer_mode.setter
    def trainer_mode(self, registered_name: str) -> None:
        """verl sets the registered name; it stays in the config."""

    @property
    def logger(self) -> Any:
        """verl's Tracking, which it makes inside fit(); the run's own log joins it there."""
        return self._logger

    @logger.setter
    def logger(self, tracking: Any) -> None:
        tracking.logger["pacs"] = RunLog(
            RunFolder(self.run_dir).metrics,
            resumed_step=self.global_steps,
            resumed_metrics=self.saving.resumed_metrics,
            total_steps=self.total_training_steps,
            on_gpus=self.config.trainer.device != "cpu",
        )
        self._logger = tracking

    def init(self) -> None:
        """Start all that the run needs, under watch."""
        self.monitor.start()
        with self.monitor.causes_named():
            super().init()

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        for loader in ("train_dataloader", "val_dataloader"):
            getattr(self, loader).worker_init_fn = signals.heed_parent_alone
        if draws_from_pool(self.config):
            self.train_dataloader = self.prompts.pool = PoolLoader(self.config, self.train_dataset)

    def on_init_end(self) -> None:
        """Send vLLM the weights, under watch."""
        # A machine that is gone may be told by its engine before Ray has given it up.
        self.monitor.watch(actors_of(self), engines_of(self))
        super().on_init_end()

    def fit(self, agent_loop_manager: Any) -> None:
        """Train, under watch; return at the last step or after the step in which a stop was asked for."""
        loops = agent_loop_manager.agent_loop_workers
        self.monitor.watch({f"agent-loop worker {i}": loop for i, loop in enumerate(loops)}, {})
        with self.monitor.causes_named():
            find_last_step(self)
            if self.global_steps < self.phases.last_step:
                super().fit(agent_loop_manager)
        self.monitor.stop()
        self.phases.current = "stopped" if self.stopping else "end"
        write_progress(self.run_dir, self._progress())
        # Before Ray ends what they have started: a server whose engine is gone reports that as a fault.
        for server in servers_of(self):
            ray.kill(server)

    def on_train_begin(self) -> None:
        """The first step's time begins."""
        super().on_train_begin()
        self.phases.begin_steps()

    def prepare_step(self) -> dict[str, Any]:
        """Hand out the step's prompts; the first wait for the agent loops' processes, which verl starts last."""
        with marked_timer("prepare", self.timing_raw):
            return dict(super().prepare_step() if self.partial is None else self.partial.hand_out())

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        """verl's batch, numbered: rows can then be arranged alike in every run."""
        if num_prompts is None:
            self.prompts.begin_step(self.global_steps)
        with signals.blocked():  # it starts the loader's workers
            batch = super()._next_train_batch(num_prompts)
        return self.prompts.number(self.global_steps, batch)

    def _fetch_one_gen_batch(self) -> Any:
        return self.prompts.fetch(super()._fetch_one_gen_batch, self.train_dataloader)

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """verl's; some of its responses are written at once, and the step's checkpoint takes along what it measured."""
        self._write_samples(batch := super().step(metrics, timing_raw))
        self.saving.measured = (batch, metrics, timing_raw)
        return batch

    def _save_checkpoint(self) -> None:
        """Save, whole or not at all."""
        with self.phases.within("save"):
            self.saving.save(super()._save_checkpoint)

    def _load_checkpoint(self) -> None:
        self.saving.load(super()._load_checkpoint)
        if self.partial is not None:
            self.partial.clear_trained()

    def on_step_end(self) -> None:
        """The step is done; if a stop was asked for, save and make verl's loop end with it."""
        self.stopping = (RunFolder(self.run_dir).stop).exists() and self.global_steps < self.phases.last_step
        if self.stopping:
            # Before the engines wake up and take the memory that a save may need.
            if self.saving.saved_step != self.global_steps:
                self._save_checkpoint()
            self.phases.trained_steps = self.total_training_steps = self.global_steps
            self.phases.current = "stopped"
            write_progress(self.run_dir, self._progress())
        super().on_step_end()
        if self.partial is not None and not self.stopping:
            self.partial.go_on()
        self.phases.end_step(self.global_steps)

    def on_validate_begin(self) -> None:
        """Before the first step, there is nothing yet that a stop would have to finish."""
        super().on_validate_begin()
        if self.phases.current != "start" and not self.stopping:
            self.phases.current = "validate"

    def _validate(self) -> dict[str, Any]:
        """verl's; nothing where a stop was asked for."""
        return {} if self.stopping else super()._validate()

    def _val_metrics_update(
        self, data_sources: list[str], sample_uids: list[str], reward_extra_infos_dict: dict[str, list[Any]],
        sample_turns: list[int], expected_acc_counts: dict[tuple[str, str], int],
    ) -> dict[str, float]:  # fmt: skip
        """verl's metrics of what the verifier said (right answers are asked for, whatever else is rewarded), and ours.

        Raises:
            ValueError: A score is not finite.
        """
        infos = reward_extra_infos_dict
        verdicts = [dict(zip(infos, values, strict=True)) for values in zip(*infos.values(), strict=True)]
        scores = infos["reward"] = without_shaping(infos["reward"], verdicts)
        self.grading.check_validation(data_sources, sample_uids, scores)
        infos = {name: values for name, values in infos.items() if averaged(values)}
        verls = super()._val_metrics_update(data_sources, sample_uids, infos, sample_turns, expected_acc_counts)
        return {**verls, **self.grading.validation(data_sources, sample_uids, scores, expected_acc_counts)}

    def _maybe_log_val_generations(self, inputs: list[str], outputs: list[str], scores: list[float]) -> None:
        """verl's; the prompts are kept for what is wrong with a score."""
        self.grading.validated_prompts = inputs
        super()._maybe_log_val_generations(inputs, outputs, scores)

    def _log_rollout_data(self, batch: Any, timing_raw: dict[str, float], rollout_data_dir: str) -> None:
        """Nothing: verl writes them last, and a run that ends while it saves or sends weights would have none."""

    def _write_samples(self, batch: Any) -> None:
        """Write the responses of the step's first groups; all of them would be gigabytes a day."""
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not is_padding(tag)]
        uids = list(dict.fromkeys(prompt_uid(key) for key in keys))[: self.config.run.sample_groups]
        if uids and self.config.trainer.rollout_data_dir:
            sample = batch.select_keys([key for key in keys if prompt_uid(key) in uids])
            self.sampled_parts = self.grading.parts(sample)
            super()._log_rollout_data(sample, {}, self.config.trainer.rollout_data_dir)
            self.sampled_parts = {}

    def _dump_generations(
        self, inputs: list[str], outputs: list[str], gts: list[Any], scores: list[float],
        reward_extra_infos_dict: dict[str, list[Any]], dump_path: str,
    ) -> None:  # fmt: skip
        """verl's, for training with the parts of each reward, too."""
        infos = dict(reward_extra_infos_dict)
        for name in next(iter(self.sampled_parts.values()), ()):
            infos[name] = [self.sampled_parts[key][name] for key in infos["uid"]]
        super()._dump_generations(inputs, outputs, gts, scores, infos, dump_path)

    def _progress(self) -> Progress:
        return self.phases.progress(self.prompts.resampled)

    def _known_progress(self) -> Progress | None:
        return self._progress() if self.phases.last_step > 0 else None

    def _close_logs(self) -> None:
        if (logger := getattr(self, "_logger", None)) is not None:
            logger.finish(exit_code=1)
