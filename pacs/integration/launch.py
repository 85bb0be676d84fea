"""From a composed config to a run: check it, choose its checkpoint, set up its folder, and train under supervision."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.integration import checks
from pacs.integration.cpu_platform import PLATFORM_VARIABLE
from pacs.integration.resume import choose_checkpoint
from pacs.integration.run_folder import write_run_folder
from pacs.runs import stacks
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.runs.settings import FaultSettings
from pacs.runs.state import read_state, report_fault
from pacs.runs.supervisor import FINISHED, supervise
from pacs.runs.watchdog import Watchdog

#: verl's agent-loop manager with `pacs.rollouts.seeded=true`.
SEEDED_MANAGER = "pacs.integration.seeded_rollouts.SeededAgentLoopManager"
#: Held by the start that is training in the run's folder.
LOCK = ".lock"


def prepare(config: DictConfig) -> None:
    """Make the run's paths absolute, check the config, and choose verl's platform for this process.

    Raises:
        checks.ConfigError: If the run cannot start as configured.
    """
    with open_dict(config):
        config.pacs.run_dir = str(Path(config.pacs.run_dir).expanduser().absolute())
        config.trainer.default_local_dir = str(Path(config.trainer.default_local_dir).expanduser().absolute())
    if config.trainer.device == "cpu":
        os.environ[PLATFORM_VARIABLE] = "cpu"
    checks.check_run(config)


def train(config: DictConfig) -> int:
    """Train with a prepared config until the run ends; return the exit status.

    Raises:
        checks.ConfigError: If the run's folder or its checkpoint does not allow it.
    """
    run_dir = Path(config.pacs.run_dir)
    with _locked(run_dir):
        checkpoint = choose_checkpoint(config)
        total = config.trainer.total_training_steps
        if checkpoint is not None and total is not None and checkpoint.step >= total:
            print(
                f"pacs: nothing to train: the run has reached step {checkpoint.step}, and trainer.total_training_steps="
                f"{total}: raise it to go on",
                flush=True,
            )
            return FINISHED
        write_run_folder(config)
        print(f"pacs: the run's folder is {run_dir}", flush=True)
        resumed_from = None if checkpoint is None else checkpoint.step
        return supervise(
            partial(_drive, config), run_dir, Path(config.trainer.default_local_dir), resumed_from=resumed_from
        )


@contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    """Make the run's folder and hold its lock. The driver inherits it: it is held while either of the two lives."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = (run_dir / LOCK).open("w")
    except OSError as error:
        problem = f"pacs.run_dir={run_dir} cannot be written ({error}): choose another folder."
        raise checks.ConfigError([problem]) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            state = read_state(run_dir)
            who = f" (process {state.pid} on {state.host}, since {state.started})" if state else ""
            raise checks.ConfigError(
                [f"pacs.run_dir={run_dir}: a run is training in this folder{who}. Stop it, or choose another folder."]
            ) from None
        yield


def _drive(config: DictConfig) -> None:
    """In the driver's process: start Ray and the trainer, and wait; an exception in any part of it is raised here."""
    with open_dict(config):
        OmegaConf.update(config, "ray_kwargs.ray_init.runtime_env.env_vars", _environment(config), force_add=True)
        if config.pacs.rollouts.seeded:
            config.actor_rollout_ref.rollout.agent.agent_loop_manager_class = SEEDED_MANAGER

    import ray
    from verl.trainer.main_ppo import run_ppo

    from pacs.integration.monitor import death_of
    from pacs.integration.nodes import dump_on_other_nodes
    from pacs.integration.task_runner import PacsTaskRunner

    run_dir = Path(config.pacs.run_dir)
    stacks.register()
    Watchdog(run_dir, FaultSettings(**config.pacs.faults), dump_on_other_nodes).start()
    try:
        run_ppo(config, task_runner_class=ray.remote(PacsTaskRunner))
    except ray.exceptions.RayActorError as error:
        report_fault(run_dir, f"the trainer died: {death_of(error)}")
        raise
    finally:
        ray.shutdown()


def _environment(config: DictConfig) -> dict[str, str]:
    """Variables of every process of the run; what the config sets itself wins."""
    variables = {"TENSORBOARD_DIR": str(Path(config.pacs.run_dir) / "tensorboard")}
    # A Ray cluster that was there before does not inherit them.
    variables |= {name: os.environ[name] for name in (TOKEN, RUN_DIR)}
    if config.trainer.device == "cpu":
        variables[PLATFORM_VARIABLE] = "cpu"
    configured = OmegaConf.select(config, "ray_kwargs.ray_init.runtime_env.env_vars") or {}
    return variables | {str(key): str(value) for key, value in configured.items()}
