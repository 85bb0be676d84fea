"""From a composed config to a run: check it, choose its checkpoint, set up its folder, and train under supervision."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.integration import checks, nodes
from pacs.integration.checks.cluster import prepare_cluster
from pacs.integration.cpu_platform import PLATFORM_VARIABLE
from pacs.integration.resume import check_former_run, choose_checkpoint
from pacs.integration.run_folder import write_run_folder
from pacs.runs.names import open_lock
from pacs.runs.state import Progress, now, read_state, write_progress, write_state
from pacs.runs.supervisor import FINISHED, clear_former_start, supervise
from pacs.terminal import print

#: Held by the start that is training in the run's folder.
LOCK = ".lock"


def prepare(config: DictConfig) -> None:
    """Make the run's paths absolute, check the config, and choose verl's platform for this process.

    Raises:
        checks.ConfigError: If the run cannot start as configured.
    """
    checks.check_paths(config)
    with open_dict(config):
        config.pacs.run_dir = str(Path(config.pacs.run_dir).expanduser().absolute())
        if config.ray_kwargs.ray_init.get("address") is None and "RAY_ADDRESS" in os.environ:  # Ray would take it too
            config.ray_kwargs.ray_init.address = os.environ["RAY_ADDRESS"]
        if config.ray_kwargs.ray_init.get("address") is not None:
            _name_inputs_absolutely(config)
        config.trainer.default_local_dir = str(Path(config.trainer.default_local_dir).expanduser().absolute())
    if config.trainer.device == "cpu":
        os.environ[PLATFORM_VARIABLE] = "cpu"
    checks.check_run(config)


def _name_inputs_absolutely(config: DictConfig) -> None:
    """What is here is opened by processes of the cluster, which are in the folder where Ray was started."""

    def absolute(name: str) -> str:
        path = Path(name).expanduser()
        return str(path.absolute()) if path.exists() else name

    for part, key in ((config.data, "train_files"), (config.data, "val_files")):
        part[key] = [absolute(name) for name in part[key]] if OmegaConf.is_list(part[key]) else absolute(part[key])
    for model in (config.actor_rollout_ref.model, config.critic.model):
        if model.path is not None:
            model.path = absolute(str(model.path))


def check_folder(config: DictConfig) -> None:
    """Look at what is in a prepared run's folder, say what it would go on from, and write nothing.

    Raises:
        checks.ConfigError: If a run is training there, or if it holds what this run would not go on from.
    """
    lock = Path(config.pacs.run_dir) / LOCK
    if lock.exists():
        with lock.open() as held:
            _lock(held, lock.parent, fcntl.LOCK_SH)
    check_former_run(config)
    choose_checkpoint(config)


def train(config: DictConfig) -> int:
    """Train with a prepared config until the run ends; return the exit status.

    Raises:
        checks.ConfigError: If the run's folder or its checkpoint does not allow it.
    """
    run_dir = Path(config.pacs.run_dir)
    with _locked(run_dir):
        clear_former_start(run_dir)
        check_former_run(config)
        checkpoint = choose_checkpoint(config)
        total = config.trainer.total_training_steps
        if checkpoint is not None and total is not None and checkpoint.step >= total:
            if checkpoint.step == total:
                _count_as_finished(run_dir, total)
            print(
                f"pacs: nothing to train: the run has reached step {checkpoint.step}, and trainer.total_training_steps="
                f"{total}: raise it to go on",
                flush=True,
            )
            return FINISHED
        prepare_cluster(config)
        try:
            write_run_folder(config)
        except OSError as error:
            problem = f"pacs.run_dir={run_dir} cannot be written ({error}): make room there, or choose another folder."
            raise checks.ConfigError([problem]) from error
        if config.trainer.save_freq < 1:
            print("pacs: trainer.save_freq is below 1: this run is saved only if it is stopped on request")
        print(f"pacs: the run's folder is {run_dir}", flush=True)
        resumed_from = None if checkpoint is None else checkpoint.step
        status = supervise(
            "pacs.integration.driver", run_dir, Path(config.trainer.default_local_dir), resumed_from=resumed_from
        )
        _clear_cluster(config)
        return status


def _count_as_finished(run_dir: Path, step: int) -> None:
    """Correct what a start has left that was cut off after its last save."""
    state = read_state(run_dir)
    if state is None or state.state == "finished":
        return
    write_progress(run_dir, Progress(step, step, "end"))
    write_state(run_dir, replace(state, state="finished", ended=now(), cause=None, exit_status=FINISHED))
    print(
        f"pacs: the last start ended after it had saved step {step}, whose metrics and validation may be missing: "
        "`pacs evaluate` measures the model",
        flush=True,
    )


def _clear_cluster(config: DictConfig) -> None:
    """End what a run on a Ray cluster has left on its other nodes; the supervisor knows this one alone."""
    address = config.ray_kwargs.ray_init.get("address")
    if address is None:
        return
    try:
        with nodes.connected(address):
            nodes.clear_other_nodes(Path(config.pacs.run_dir))
    except (ConnectionError, RuntimeError) as error:  # the cluster is gone, and its processes with it
        print(f"pacs train: Ray at {address} is gone ({str(error).splitlines()[0]})", flush=True)


@contextmanager
def _locked(run_dir: Path) -> Iterator[None]:
    """Make the run's folder and hold its lock; it goes with this process."""
    try:
        run_dir.mkdir(parents=True, exist_ok=True)
        lock = open_lock(run_dir / LOCK)
    except OSError as error:
        problem = f"pacs.run_dir={run_dir} cannot be written ({error}): choose another folder."
        raise checks.ConfigError([problem]) from error
    with lock:
        _lock(lock, run_dir, fcntl.LOCK_EX)
        yield


def _lock(lock: TextIO, run_dir: Path, kind: int) -> None:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        state = read_state(run_dir)
        who = f" (process {state.pid} on {state.host}, since {state.started})" if state else ""
        raise checks.ConfigError(
            [f"pacs.run_dir={run_dir}: a run is training in this folder{who}. Stop it, or choose another folder."]
        ) from None
    except OSError as error:
        problem = f"pacs.run_dir={run_dir}: its file system has no locks ({error}): choose a folder on another."
        raise checks.ConfigError([problem]) from error
