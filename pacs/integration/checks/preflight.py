"""What a run needs of this machine: GPUs, a cluster, packages, a folder, data and a model."""

import importlib.util
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
from omegaconf import DictConfig, ListConfig

from pacs.checkpoints.model_folder import model_problems
from pacs.data.schema import schema_problems
from pacs.data.sources import MAX_PROMPT_LENGTH, SOURCES
from pacs.integration.checks.model_config import read_model_config
from pacs.integration.checks.reward_function import reward_function_problems
from pacs.rewards.registry import PATH as VERIFIERS

RAY_ADDRESS = "ray_kwargs.ray_init.address"
CONNECT_SECONDS = 5.0
#: Where a recipe looks for its model and problems -> what makes them.
MADE_BY = {
    Path("outputs/arithmetic"): "python -m recipes.arithmetic.make",
    Path("outputs/math_smoke"): "python -m recipes.math_smoke.make FILE",
}
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


def surroundings_problems(config: DictConfig) -> Iterator[str]:
    """What is not here, a sentence each with the setting and the mend."""
    yield from _machine_problems(config)
    yield from input_problems(config)


def input_problems(config: DictConfig) -> Iterator[str]:
    """What each node of the run needs: packages, the folder, data, the model."""
    yield from _package_problems(config)
    yield from _folder_problems(config)
    yield from _data_problems(config)
    yield from _model_problems(config)
    yield from reward_function_problems(config)


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
    if (command := _recipe_command(file)) is not None:
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


def _recipe_command(path: Path) -> str | None:
    """The command that makes a recipe's folder, of what is in it."""
    return next((f"`{made} --out {folder}`" for folder, made in MADE_BY.items() if path.is_relative_to(folder)), None)


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
    folder = Path(config.pacs.run_dir)
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield f"pacs.run_dir={folder} cannot be written (see {there}): choose another folder."


def _data_files(config: DictConfig) -> Iterator[tuple[str, Path]]:
    for key in ("val_files", "train_files"):
        files = config.data[key]
        for file in files if isinstance(files, ListConfig) else [files]:
            yield f"data.{key}", Path(file).expanduser()


def _data_problems(config: DictConfig) -> Iterator[str]:
    problems = [problem for key, file in _data_files(config) for problem in _file_problems(config, key, file)]
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


def _model_problems(config: DictConfig) -> Iterator[str]:
    path = str(config.actor_rollout_ref.model.path)
    folder = Path(path).expanduser()
    if folder.is_dir():
        template = config.actor_rollout_ref.model.get("custom_chat_template") is None
        tokenizer = config.actor_rollout_ref.model.get("tokenizer_path") in (None, config.actor_rollout_ref.model.path)
        if problems := list(model_problems(folder, tokenizer=tokenizer, template=template)):
            yield from (f"actor_rollout_ref.model.path={path} {problem}." for problem in problems)
            return
    if not folder.is_dir() and (path.count("/") != 1 or path.startswith((".", "/", "~"))):
        how = _recipe_command(folder) or "make or download the model"
        yield (
            f"actor_rollout_ref.model.path={path}: no such folder: {how}, or give a Hugging Face id such as "
            "Qwen/Qwen3-8B."
        )
        return
    try:
        found = read_model_config(path)
    except (OSError, ValueError, httpx.HTTPError) as error:
        why = str(error).splitlines()[0]
        if folder.is_dir():
            yield f"actor_rollout_ref.model.path={path}: its config.json cannot be read ({why}): make it anew."
        else:
            yield (
                f"actor_rollout_ref.model.path={path} is neither a folder here nor a model that Hugging Face answers "
                f"for ({why}): download it first, or set the path to its folder."
            )
    else:
        yield from _context_problems(config, found)


def _context_problems(config: DictConfig, model: Mapping[str, Any]) -> Iterator[str]:
    """A prompt and its response must fit the positions that the model has, which bound vLLM's context too."""
    settings = {**model, **(config.actor_rollout_ref.model.override_config or {})}
    text = settings.get("text_config") or {}
    context = settings.get("max_position_embeddings") or text.get("max_position_embeddings")
    prompt, response = config.data.max_prompt_length, config.data.max_response_length
    held = config.actor_rollout_ref.rollout.max_model_len
    if context is not None and held is not None and prompt + response <= context < held:
        yield (
            f"actor_rollout_ref.rollout.max_model_len={held}: the model at actor_rollout_ref.model.path="
            f"{config.actor_rollout_ref.model.path} has {context} positions (max_position_embeddings): leave it out."
        )
    if context is not None and prompt + response > context:
        yield (
            f"data.max_prompt_length={prompt} and data.max_response_length={response} make {prompt + response} tokens, "
            f"and the model at actor_rollout_ref.model.path={config.actor_rollout_ref.model.path} has {context} "
            "positions (max_position_embeddings): lower the lengths, or choose a model with a longer context."
        )
