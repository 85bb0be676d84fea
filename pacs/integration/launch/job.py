"""Ray's job of a run: start Ray and the trainer on what the run's config.yaml says, and wait."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import ray
from omegaconf import DictConfig, OmegaConf
from verl.trainer.main_ppo import run_ppo

import pacs.integration.plugin  # noqa: F401 (verl hides its errors)
from pacs.base.collecting import collect_rarely
from pacs.base.redaction import is_secret, redact
from pacs.base.run_folder import RunFolder
from pacs.integration.launch.task_runner import PacsTaskRunner
from pacs.integration.nodes import dump_on_other_nodes, lost_nodes
from pacs.integration.patches.registry import COLLECTIVE_SECONDS
from pacs.integration.schema import PLATFORM_VARIABLE
from pacs.runs import stacks
from pacs.runs.actor_failures import DEATHS, cause_of, death_of
from pacs.runs.clearing import TEMPORARY, temporary_variables
from pacs.runs.driver import RunFailed, Watchdog
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN
from pacs.runs.settings import RunSettings
from pacs.runs.state import report_fault
from pacs.runs.supervisor import FAILED
from pacs.verl_keys.algorithm_changes import plain

#: Before the processes that a daemon's death takes with it are missed.
POLL_SECONDS = 0.2
#: Name of the program -> what it is.
DAEMONS = {"gcs_server": "Ray's control store (GCS)", "raylet": "Ray's node daemon (raylet)"}


class DaemonWatch(threading.Thread):
    """Ends the run, with the cause, when a daemon has died that this process has started.

    A driver whose GCS dies as it connects is ended by Ray's C++ code after 60 s without an exception.

    Args:
        run_dir: the run's folder.
    """

    def __init__(self, run_dir: Path) -> None:
        super().__init__(daemon=True, name="pacs-daemons")
        self.run_dir, self.stopped = run_dir, threading.Event()
        self.daemons: dict[psutil.Process, str] = {}

    def run(self) -> None:
        """Until `stop`."""
        while not self.stopped.wait(POLL_SECONDS):
            dead = self.dead()
            if dead is not None and not self.stopped.is_set():
                report_fault(self.run_dir, f"{dead} died")
                os._exit(FAILED)

    def stop(self) -> None:
        """Before Ray is shut down."""
        self.stopped.set()

    def dead_within(self, seconds: float) -> str | None:
        """`dead`, looked at for so long."""
        until = time.monotonic() + seconds
        while (dead := self.dead()) is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
        return dead

    def dead(self) -> str | None:
        """A daemon that was seen alive and is dead, with its process's number."""
        for daemon, name in list(self.daemons.items()):
            with suppress(psutil.NoSuchProcess):
                if daemon.is_running() and daemon.status() != psutil.STATUS_ZOMBIE:
                    continue
            return f"{name} (process {daemon.pid})"
        for child in psutil.Process().children() if len(self.daemons) < len(DAEMONS) else ():
            with suppress(psutil.NoSuchProcess):
                if kind := DAEMONS.get(child.name()):
                    self.daemons[child] = kind
        return None


#: Keys of `ray.init` that say what Ray has on this machine, which it refuses of a cluster that is there.
OF_THE_MACHINE = ("num_cpus", "num_gpus", "object_store_memory", "resources")

#: vLLM compiles the model at every start where this is 1, and else takes what it has compiled before.
COMPILE_CACHE_OFF = "VLLM_DISABLE_COMPILE_CACHE"
#: Where; by default all runs of a user share it, so that a new run finds what another has compiled.
CACHE_ROOT = "VLLM_CACHE_ROOT"
#: What every worker process of Ray's calls first.
WORKERS_FIRST = "ray_kwargs.ray_init.runtime_env.worker_process_setup_hook"
#: Ours of it, by its name, which every node imports.
COLLECT_RARELY = f"{collect_rarely.__module__}.{collect_rarely.__name__}"
#: Between the end of a raylet's connections, by which Ray knows its death, and that of its process.
RAYLET_SECONDS = 1.0


def drive(run_dir: Path) -> None:
    """Train the run in `run_dir`; an exception in any part of it is raised here.

    What is changed in the config here is Ray's alone; the trainer reads config.yaml itself.
    """
    config = OmegaConf.load(RunFolder(run_dir).config)
    assert isinstance(config, DictConfig)
    variables = environment(config)
    if config.ray_kwargs.ray_init.get("address") is None:
        # With null Ray joins whatever cluster `ray start` has left on this machine.
        OmegaConf.update(config, "ray_kwargs.ray_init.address", "local", force_add=True)
        variables = take_secrets_into_environment(variables)
    else:
        for key in OF_THE_MACHINE:
            config.ray_kwargs.ray_init.pop(key, None)
    OmegaConf.update(config, "ray_kwargs.ray_init.runtime_env.env_vars", variables, merge=False, force_add=True)
    if OmegaConf.select(config, WORKERS_FIRST) is None:
        OmegaConf.update(config, WORKERS_FIRST, COLLECT_RARELY, force_add=True)
    stacks.register()
    Watchdog(run_dir, RunSettings.from_mapping(plain(config.run)).faults, dump_on_other_nodes).start()
    daemons = DaemonWatch(run_dir)
    daemons.start()
    try:
        run_ppo(config, task_runner_class=ray.remote(PacsTaskRunner))
    except DEATHS as error:
        # With the raylet, or its agents, the trainer dies too, and may be missed first.
        dead = daemons.dead_within(RAYLET_SECONDS)
        cause = f"{dead} died" if dead else f"the trainer died: {death_of(error)}{lost_nodes()}"
        raise _failed(run_dir, cause) from error
    except ray.exceptions.RayError as error:
        raise _failed(run_dir, cause_of(error)) from error
    finally:
        daemons.stop()
        ray.shutdown()


def _failed(run_dir: Path, cause: str) -> RunFailed:
    """Note the cause before Ray is shut down, which may fail in its own way."""
    report_fault(run_dir, cause)
    return RunFailed(cause)


def environment(config: DictConfig) -> dict[str, str]:
    """Variables of every process of the run; what the config sets itself wins."""
    run_dir = Path(config.run.dir)
    folders = {"WANDB_DIR": run_dir, "SWANLAB_LOG_DIR": run_dir / "swanlab"}
    variables = {"TENSORBOARD_DIR": str(RunFolder(run_dir).tensorboard)}
    variables |= {name: os.environ.get(name) or str(folder) for name, folder in folders.items()}
    # A Ray cluster that was there before does not inherit them.
    variables |= {name: os.environ[name] for name in (TOKEN, RUN_DIR, TEMPORARY, KEEP_ENVIRONMENT)}
    variables |= temporary_variables()
    variables[COLLECTIVE_SECONDS] = str(config.actor_rollout_ref.nccl_timeout)
    if config.trainer.device == "cpu":
        variables[PLATFORM_VARIABLE] = "cpu"
    # verl switches it off, since several engines once wrote into each other's files; torch 2.10 writes them atomically.
    # An empty one vLLM cannot read.
    if root := os.environ.get(CACHE_ROOT):
        variables[CACHE_ROOT] = root
    variables[COMPILE_CACHE_OFF] = os.environ.get(COMPILE_CACHE_OFF) or "0"
    configured = OmegaConf.select(config, "ray_kwargs.ray_init.runtime_env.env_vars") or {}
    return variables | {str(key): str(value) for key, value in configured.items()}


def take_secrets_into_environment(variables: dict[str, str]) -> dict[str, str]:
    """Set the variables that are secret in this process, whose children Ray's are, and return the others.

    What `ray.init` is given Ray writes into its logs, which everyone on the machine can read.
    """
    # The start's own token is a name, by which its processes are found.
    secret = {n for n, value in variables.items() if n != TOKEN and (is_secret(n) or redact(value) != value)}
    os.environ.update({name: variables[name] for name in secret})
    return {name: value for name, value in variables.items() if name not in secret}
