"""verl's task runner, in a process that knows our trainers and says why it ends."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from verl.trainer.main_ppo import TaskRunnerV1

from pacs.base.run_folder import RunFolder
from pacs.integration import reward_manager
from pacs.integration.launch.forks import end_forks_with_this_process
from pacs.integration.nodes import make_temporary_folders
from pacs.runs.actor_failures import cause_of
from pacs.runs.state import report_fault


class PacsTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[misc]
    """Registers our trainers with verl before verl looks one up."""

    def init_agent_loop_manager(self) -> None:
        """verl's, under the trainer's watch."""
        with self.trainer.monitor.causes_named():
            super().init_agent_loop_manager()

    def run(self, config: DictConfig) -> None:
        """Build the trainer and train, on what config.yaml says; the given config is what Ray was started with."""
        # verl only logs an entry point that fails, at debug level; here its error is the run's.
        import pacs.integration.plugin
        import pacs.integration.trainer.baselines
        import pacs.integration.trainer.method_trainer  # noqa: F401 (both trainers register themselves)

        end_forks_with_this_process()
        try:
            make_temporary_folders()
            written = OmegaConf.load(RunFolder(config.run.dir).config)
            assert isinstance(written, DictConfig)
            reward_manager.choose(written)
            super().run(written)
        except Exception as error:
            report_fault(Path(config.run.dir), cause_of(error))
            raise
