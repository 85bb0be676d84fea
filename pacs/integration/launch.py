"""From a composed config to a run: check it, set up its folder and environment, start Ray, wait."""

import os
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.integration import checks
from pacs.integration.cpu_platform import PLATFORM_VARIABLE
from pacs.integration.run_folder import write_run_folder


def prepare(config: DictConfig) -> None:
    """Make the run's paths absolute, check the config, and choose verl's platform for this process.

    Raises:
        checks.ConfigError: If the run cannot start as configured.
    """
    with open_dict(config):
        config.pacs.run_dir = str(Path(config.pacs.run_dir).expanduser().absolute())
    if config.trainer.device == "cpu":
        os.environ[PLATFORM_VARIABLE] = "cpu"
    checks.check_run(config)


def open_run_folder(config: DictConfig) -> None:
    """Make the run's folder and write what is known before the run.

    Raises:
        checks.ConfigError: If it cannot be written.
    """
    try:
        write_run_folder(config)
    except OSError as error:
        raise checks.ConfigError(
            [f"pacs.run_dir={config.pacs.run_dir} cannot be written ({error}): choose another folder."]
        ) from error


def run(config: DictConfig) -> None:
    """Train with a prepared config. Blocks until the run ends; an exception in any part of it is raised here."""
    with open_dict(config):
        OmegaConf.update(config, "ray_kwargs.ray_init.runtime_env.env_vars", _environment(config), force_add=True)

    import ray
    from verl.trainer.main_ppo import run_ppo

    from pacs.integration.task_runner import PacsTaskRunner

    try:
        run_ppo(config, task_runner_class=ray.remote(PacsTaskRunner))
    finally:
        ray.shutdown()


def _environment(config: DictConfig) -> dict[str, str]:
    """Variables of every process of the run; what the config sets itself wins."""
    variables = {"TENSORBOARD_DIR": str(Path(config.pacs.run_dir) / "tensorboard")}
    if config.trainer.device == "cpu":
        variables[PLATFORM_VARIABLE] = "cpu"
    configured = OmegaConf.select(config, "ray_kwargs.ray_init.runtime_env.env_vars") or {}
    return variables | {str(key): str(value) for key, value in configured.items()}
