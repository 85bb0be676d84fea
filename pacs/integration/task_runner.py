"""verl's task runner, in a process that knows the PACS trainer."""

from omegaconf import DictConfig
from verl.trainer.main_ppo import TaskRunnerV1


class PacsTaskRunner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[misc]
    """Registers the PACS trainer with verl before verl looks it up."""

    def run(self, config: DictConfig) -> None:
        """Build the trainer and train."""
        # verl only logs an entry point that fails, at debug level; here its error is the run's.
        import pacs.integration.plugin
        import pacs.integration.trainer  # noqa: F401 (registers `pacs`)

        super().run(config)
