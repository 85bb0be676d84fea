"""What a run needs of this machine: GPUs, a cluster, packages, a folder, data and a model."""

import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
from omegaconf import DictConfig, ListConfig, OmegaConf

from pacs.data.schema import schema_problems
from pacs.data.sources import MAX_PROMPT_LENGTH, SOURCES
from pacs.integration.checks.models import model_problems, recipe_command
from pacs.integration.checks.prompts import prompt_problems
from pacs.integration.checks.reasoning import reasoning_problems
from pacs.integration.checks.rows import Note, row_problems
from pacs.integration.checks.schemas import unite_problems
from pacs.integration.checks.user_code import try_own_code
from pacs.rewards.registry import PATH as VERIFIERS
from pacs.runs.variables import variable_problems

RAY_ADDRESS = "ray_kwargs.ray_init.address"
CONNECT_SECONDS = 5.0
#: verl's names of loggers that need packages: what is imported, and what pip calls it.
LOGGER_PACKAGES = {
    "tensorboard": {"tensorboard": "tensorboard"},
    "wandb": {"wandb": "wandb"},
    "mlflow": {"mlflow": "mlflow"},
    "swanlab": {"swanlab": "swanlab"},
    "trackio": {"trackio": "trackio"},
    "clearml": {"clearml": "clearml", "pandas": "pandas"},
    "rl_insight": {"rl_insight": "rl-insight"},
    "vemlp_wandb": {"volcengine_ml_platform": "volcengine-ml-platform"},
}


def surroundings_problems(config: DictConfig, note: Note) -> Iterator[str]:
    """What is not here, a sentence each with the setting and the mend; `note` as of `input_problems`."""
    yield from variable_problems()
    yield from _machine_problems(config)
    yield from input_problems(config, note)


def input_problems(config: DictConfig, note: Note) -> Iterator[str]:
    """What each node of the run needs: packages, the folder, data, the model, code of one's own.

    Args:
        config: of the run.
        note: takes what is no reason to refuse the run, a sentence each; a warning begins with "warning: ".
    """
    yield from _package_problems(config)
    yield from _folder_problems(config)
    data_problems = list(_data_problems(config))
    problems = [*data_problems, *model_problems(config)]
    yield from problems
    if not data_problems:
        yield from row_problems(config, _data_files(config), lambda said: note(f"warning: {said}"))
    files = _data_files(config)
    named = {key: [file for of, file in files if of == key] for key, _ in files}
    if not problems:
        problems = list(prompt_problems(config, named["data.train_files"], named["data.val_files"]))
        yield from problems or reasoning_problems(config)
    trial = try_own_code(config, None if data_problems else named["data.train_files"][0])
    for said in trial.notes:
        note(said)
    yield from trial.problems


def expected_data(config: DictConfig) -> list[str]:
    """A line for each data file: what is there, or the command that prepares it. Test sets first, as in preparing."""
    lines = []
    for key, file in _data_files(config):
        if not file.is_file():
            lines.append(f"{key}={file}: missing: {how_to_prepare(config, file)}")
        elif isinstance(found := _metadata(file), str):
            lines.append(f"{key}={file}: {found}")
        else:
            lines.append(f"{key}={file}: {found.num_rows:,} rows")
    return lines


def how_to_prepare(config: DictConfig, file: Path) -> str:
    """The command that makes a data file, if it is named as that of a known source or of the arithmetic recipe."""
    if (command := recipe_command(file)) is not None:
        return command
    source = next((source for source in SOURCES if source.name == file.parent.name), None)
    if source is None or file.name != ("train.parquet" if source.training else "test.parquet"):
        return "`pacs data prepare`, or the recipe's README"
    words = ["pacs data prepare", source.name, "--out", str(file.parent)]
    if source.training:
        words += ["--model", str(config.actor_rollout_ref.model.path)]
        if config.data.max_prompt_length != MAX_PROMPT_LENGTH:
            words += ["--max-prompt-length", str(config.data.max_prompt_length)]
        if not (config.data.get("apply_chat_template_kwargs") or {}).get("enable_thinking", True):
            words += ["--no-thinking"]
    after = ", after the evaluation sets whose problems it is not to have" if source.training else ""
    return f"`{' '.join(words)}`{after}"


def _machine_problems(config: DictConfig) -> Iterator[str]:
    if (address := config.ray_kwargs.ray_init.get("address")) is not None:
        yield from _address_problems(str(address))  # the cluster is looked at when the run holds its folder
        return
    if config.trainer.nnodes > 1:
        yield (
            f"trainer.nnodes={config.trainer.nnodes}, but this is one machine: start it on several with "
            "scripts/slurm/train.sbatch, or name a Ray cluster (ray_kwargs.ray_init.address=HOST:PORT)."
        )
    if config.trainer.device == "cuda":
        import torch

        wanted, found = config.trainer.n_gpus_per_node, torch.cuda.device_count()
        if wanted > found:
            why = "" if torch.version.cuda else f" (the PyTorch of this environment, {sys.prefix}, is a CPU build)"
            yield (
                f"trainer.n_gpus_per_node={wanted}, but this machine has {found} GPUs{why}: lower it, run on a machine "
                "that has them, in the environment of scripts/setup_gpu.sh, or use hardware=cpu (tiny models only)."
            )


def _address_problems(address: str) -> Iterator[str]:
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or "://" in host or not port.isdigit():
        yield f"{RAY_ADDRESS}={address}: give it as HOST:PORT, or auto for the cluster of this machine."
        return
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        yield f"{RAY_ADDRESS}={address}: nothing answers there ({error}): start Ray, or give the address that it named."


def _package_problems(config: DictConfig) -> Iterator[str]:
    loggers = config.trainer.logger if isinstance(config.trainer.logger, ListConfig) else [config.trainer.logger]
    for name in loggers:
        for module, package in LOGGER_PACKAGES.get(name, {}).items():
            if importlib.util.find_spec(module) is None:
                what = "which" if package == name else f"whose package {package}"
                yield f"trainer.logger has {name}, {what} is not installed: pip install {package}, or logging=default."


def _folder_problems(config: DictConfig) -> Iterator[str]:
    """The run's folder, or where it is to be made."""
    folder = Path(config.run.dir)
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield f"run.dir={folder} cannot be written (see {there}): choose another folder."


def _data_files(config: DictConfig) -> list[tuple[str, Path]]:
    given = {key: OmegaConf.select(config, key) for key in ("data.val_files", "data.train_files")}
    lists = {key: files if isinstance(files, ListConfig) else [files] for key, files in given.items()}
    return [(key, Path(file).expanduser()) for key, files in lists.items() for file in files]


def _data_problems(config: DictConfig) -> Iterator[str]:
    problems = [problem for key, file in _data_files(config) for problem in _file_problems(config, key, file)]
    for key in () if problems else ("data.val_files", "data.train_files"):
        problems += unite_problems(key, [file for of, file in _data_files(config) if of == key])
    yield from problems
    if not problems:
        yield from _number_problems(config)


def _file_problems(config: DictConfig, key: str, file: Path) -> Iterator[str]:
    if not file.is_file():
        yield (
            f"{key}={file}: no such file. Prepare the data ({how_to_prepare(config, file)}), or set {key} to a parquet "
            "file."
        )
        return
    graded = config.reward.custom_reward_function.path == VERIFIERS
    for problem in schema_problems(file, prompt=config.data.prompt_key, graded=graded):
        yield f"{key}={file} {problem}."


def _metadata(file: Path) -> pyarrow.parquet.FileMetaData | str:
    """What a parquet file says of itself, or why it is none, as a sentence."""
    try:
        return pyarrow.parquet.read_metadata(file)
    except (pyarrow.ArrowException, OSError) as error:
        return f"not a parquet file ({' '.join(str(error).split()).rstrip('.')})."


def _number_problems(config: DictConfig) -> Iterator[str]:
    """The files together must fill a batch."""
    files = [file for key, file in _data_files(config) if key == "data.train_files"]
    rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
    most, wanted = config.data.get("train_max_samples", -1), config.data.train_batch_size
    named = f"data.train_files={', '.join(map(str, files))} has {rows} rows"
    if 0 < most < rows:
        rows, named = most, f"data.train_max_samples={most}"
    if rows < wanted:
        yield f"{named}, fewer than data.train_batch_size={wanted}: lower the batch size or add data."
