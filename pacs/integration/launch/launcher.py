"""From a composed config to a run: check it, choose its checkpoint, set up its folder, and train under supervision."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.base.errors import UserError, first_line
from pacs.base.files import read_json
from pacs.base.run_folder import RunFolder
from pacs.base.settings import flatten
from pacs.base.terminal import print
from pacs.checkpoints.folder import METRICS, Checkpoint, clear_unfinished, newest_checkpoint
from pacs.checkpoints.sums import FILE as SUMS
from pacs.checkpoints.sums import damaged_files
from pacs.integration.checks import run as checks
from pacs.integration.launch.folder_lock import check_contents, check_room, held, look_at
from pacs.integration.launch.input_hashes import names_files, write_inputs
from pacs.integration.launch.resume import check_former_run, choose_checkpoint
from pacs.integration.patches import engine_stages
from pacs.integration.provenance import write_run_folder
from pacs.integration.schema import PLATFORM_VARIABLE
from pacs.runs.clearing import clear_former_start
from pacs.runs.disk_space import NO_ROOM
from pacs.runs.read import go_on_after
from pacs.runs.signals import StopRequests
from pacs.runs.state import Progress, now, read_state, write_progress, write_state
from pacs.runs.supervisor import FINISHED, Driver, supervise
from pacs.verl_keys import config as keys
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import draws_more, guides, has_generative_critic, has_partial_rollouts, values_steps
from pacs.verl_keys.correction import take_over
from pacs.verl_keys.names import POLICY_PATH, TOTAL_STEPS
from pacs.verl_keys.workload import engine_gpus

#: verl's key of its agent-loop manager, and ours, where `run.rollouts` asks for anything.
AGENT_LOOP_MANAGER = "actor_rollout_ref.rollout.agent.agent_loop_manager_class"
MANAGER = "pacs.integration.patches.agent_loops.Manager"
#: What processes of engines on GPUs of their own import before they take weights.
TRANSFERS = "pacs.integration.patches.engine_weights"

#: The module that the driver's process runs.
DRIVER = "pacs.integration.launch.driver"
#: What verl says when a part of the run is up, in order, and what is made of it.
STAGES = (
    ("ray init kwargs", "starting Ray"),
    ("train and validate dataloader initialized", "data loaded; starting the training worker"),
    ("actor and ref model engine initialized", "training worker ready; starting vLLM"),
    (engine_stages.LOADING, "vLLM loads the model"),
    (engine_stages.PROFILING, "vLLM compiles the model and measures its memory"),
    (engine_stages.GRAPHS, "vLLM captures CUDA graphs"),
    ("all initialize finished", "vLLM ready"),
)


def prepare(config: DictConfig) -> None:
    """Make a config what the trainer is given: paths absolute, checked; and choose verl's platform for this process.

    Raises:
        checks.ConfigError: If the run cannot start as configured.
    """
    make_paths_absolute(config)
    check(config)


def make_paths_absolute(config: DictConfig) -> None:
    """The first half of `prepare`, which imports nothing of verl: what `driver_of` needs.

    Raises:
        checks.ConfigError: If a path is none.
    """
    checks.check_paths(config)
    with open_dict(config):
        config.run.dir = str(Path(config.run.dir).expanduser().absolute())
        if config.ray_kwargs.ray_init.get("address") is None:  # as Ray has it, which takes an empty one for none
            config.ray_kwargs.ray_init.address = os.environ.get("RAY_ADDRESS") or None
        if config.ray_kwargs.ray_init.get("address") is not None:
            _name_inputs_absolutely(config)
        config.trainer.default_local_dir = str(Path(config.trainer.default_local_dir).expanduser().absolute())
    if config.trainer.device == "cpu":
        os.environ[PLATFORM_VARIABLE] = "cpu"


def check(config: DictConfig) -> None:
    """The second half of `prepare`.

    Raises:
        checks.ConfigError: If the run cannot start as configured.
    """
    try:
        meant = take_over(config) if keys.method(config) == "pacs" else []
    except UserError as error:
        raise checks.ConfigError(f"{error}.") from error
    try:
        checks.check_run(config)
    except checks.ConfigError as error:  # in our words, whichever were given
        raise checks.ConfigError([str(error).removeprefix("- "), *meant]) from error
    asked = (draws_more, guides, values_steps, has_generative_critic, has_partial_rollouts)
    if config.run.rollouts.seeded or any(asks(config) for asks in asked):
        OmegaConf.update(config, AGENT_LOOP_MANAGER, MANAGER, force_add=True)
    if engine_gpus(config):
        transfer = config.actor_rollout_ref.rollout.checkpoint_engine
        transfer.backend = "gloo" if config.trainer.device == "cpu" else "nccl"
        OmegaConf.update(transfer, "custom_backend_module", TRANSFERS, force_add=True)


def _name_inputs_absolutely(config: DictConfig) -> None:
    """What is here is opened by processes of the cluster, which are in the folder where Ray was started."""

    named = {key: value for key, value in flatten(plain(config)).items() if names_files(key)}
    for key, value in named.items():
        here = [_absolute(each) for each in value] if isinstance(value, list) else _absolute(value)
        if here != value:
            OmegaConf.update(config, key, here)


def _absolute(named: Any) -> Any:
    """The whole path of what is here; what is not, and what is no path, as it is."""
    if not isinstance(named, str) or not os.path.exists(os.path.expanduser(named)):  # noqa: PTH110, PTH111 (pathlib's raise)
        return named
    return str(Path(named).expanduser().absolute())


def check_folder(config: DictConfig) -> None:
    """Look at what is in a prepared run's folder, say what it would go on from, and write nothing.

    Raises:
        checks.ConfigError: If a run is training there, or if it, or the model to begin with, holds what this run would
            not go on from.
    """
    check_contents(Path(config.run.dir))
    look_at(Path(config.run.dir))
    check_room(Path(config.run.dir))
    check_former_run(config)
    if choose_checkpoint(config) is None:
        _check_model_folder(config)


def driver_of(config: DictConfig) -> Driver:
    """A run's driver, for `train`: it imports what it needs while the run is checked. The paths are absolute."""
    return Driver(DRIVER, Path(config.run.dir))


def train(config: DictConfig, driver: Driver | None = None, *, verbose: bool = False) -> int:
    """Train with a prepared config until the run ends; return the exit status.

    Args:
        config: prepared.
        driver: of `driver_of`, where the caller has checked more meanwhile, and ends it.
        verbose: show on the console all that the run's processes say, which is in the run's folder in any case.

    Raises:
        checks.ConfigError: If the run's folder or its checkpoint does not allow it.
    """
    run_dir = Path(config.run.dir)
    check_contents(run_dir)
    with StopRequests() as requests, held(run_dir):
        check_former_run(config)
        asked = {key: config.trainer[key] for key in ("resume_mode", "resume_from_path")}
        checkpoint = choose_checkpoint(config)
        newest = _end_former_start(run_dir)
        clear_unfinished(RunFolder(run_dir).checkpoints)  # not only before the next save, which is hours away
        if newest not in (None, checkpoint):  # what was left of the last start has gone on until now
            with open_dict(config):
                config.trainer.update(asked)
            checkpoint = choose_checkpoint(config)
        total = config.trainer.total_training_steps
        if checkpoint is not None and total is not None and checkpoint.step >= total:
            if checkpoint.step == total:
                _count_as_finished(run_dir, checkpoint)
            reached = f"the run has reached step {checkpoint.step}, and {TOTAL_STEPS}={total}"
            print(f"pacs: nothing to train: {reached}: raise it to go on", flush=True)
            return FINISHED
        if checkpoint is None:
            _check_model_folder(config)
        # Ray is imported by a run that has passed all other checks.
        from pacs.integration.checks.cluster import prepare_cluster

        prepare_cluster(config)
        write_run_folder(config)
        try:
            write_inputs(config, run_dir)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise
            raise checks.ConfigError(f"what the run reads cannot be read: {error}") from error
        if config.trainer.save_freq < 1:
            print("pacs: trainer.save_freq is below 1: this run is saved only if it is stopped on request")
        print(f"pacs: the run's folder is {run_dir}", flush=True)
        print(f"pacs: starting Ray, FSDP2 and vLLM; all they say is in {RunFolder.LOG} there", flush=True)
        resumed_from = None if checkpoint is None else checkpoint.step
        with driver or driver_of(config) as begun:
            status = supervise(begun, requests, resumed_from=resumed_from, stages=STAGES, verbose=verbose)
        _clear_cluster(config)
        return status


def _end_former_start(run_dir: Path) -> Checkpoint | None:
    """End what is left of the last start in the folder, and say how it has ended; its newest checkpoint if it was left.

    In a copied folder the last start is another folder's, and stays as it is.
    """
    cleared, state = clear_former_start(run_dir), read_state(run_dir)
    if state is not None and state.state == "running" and not state.is_of(run_dir):
        print(f"pacs: {run_dir} is a copy of {state.folder}, made while that run was training", flush=True)
    if state is not None and state.state == "failed":
        print(f"pacs: the last start failed: {state.cause}", flush=True)
    return newest_checkpoint(RunFolder(run_dir).checkpoints)[0] if cleared else None


def _check_model_folder(config: DictConfig) -> None:
    """Hold a model that was exported against its SHA256SUMS; a run that goes on has its weights in the checkpoint."""
    folder = Path(str(config.actor_rollout_ref.model.path)).expanduser()
    try:
        damaged = damaged_files(folder)
    except OSError as error:
        damaged = [str(error)]
    if damaged:
        wrong = f"{', '.join(damaged)}: not what its {SUMS} says: export or copy the model again."
        raise checks.ConfigError(f"{POLICY_PATH}={folder}: {wrong}")


def _count_as_finished(run_dir: Path, checkpoint: Checkpoint) -> None:
    """Correct what a start has left that was cut off after its last save."""
    state, step = read_state(run_dir), checkpoint.step
    if state is None or state.state == "finished":
        return
    go_on_after(RunFolder(run_dir).metrics, step, read_json(checkpoint.folder / METRICS))
    write_progress(run_dir, Progress(step, step, "end"))
    write_state(run_dir, replace(state, state="finished", ended=now(), cause=None, exit_status=FINISHED))
    saved = f"the last start ended after it had saved step {step}, whose validation may be missing"
    print(f"pacs: {saved}: `pacs evaluate` measures the model", flush=True)


def _clear_cluster(config: DictConfig) -> None:
    """End what a run on a Ray cluster has left on its other nodes; the supervisor knows this one alone."""
    address = config.ray_kwargs.ray_init.get("address")
    if address is None:
        return
    import ray

    from pacs.integration import nodes

    try:
        with nodes.connected(address):
            nodes.clear_other_nodes(Path(config.run.dir))
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:  # gone with its processes
        print(f"pacs train: Ray at {address} is gone ({first_line(error)})", flush=True)
