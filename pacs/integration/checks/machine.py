"""What a run needs of this machine: GPUs, a cluster, packages, a folder, data and a model."""

import importlib.util
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import one_line
from pacs.base.files import nearest
from pacs.data.schema import schema_problems
from pacs.data.sources import MAX_PROMPT_LENGTH, SOURCES
from pacs.integration.checks.data_rows import Note, row_problems, unite_problems
from pacs.integration.checks.features import loop_problems, own_loop_problems
from pacs.integration.checks.genac import critic_folder_problems
from pacs.integration.checks.guided import guidance_problems
from pacs.integration.checks.judge import judge_place_problems
from pacs.integration.checks.models import model_problems, recipe_command
from pacs.integration.checks.numbers import number_problems
from pacs.integration.checks.pool import note_rated_model, rates_problems
from pacs.integration.checks.prompts import prompt_problems, reasoning_problems
from pacs.integration.checks.rlpr import note_measured_model, reference_problems
from pacs.integration.checks.slots import machine_slot_problems
from pacs.integration.checks.teacher import teacher_folder_problems
from pacs.integration.checks.user_code import own_code_problems, tool_schemas
from pacs.rewards.registry import PATH as VERIFIERS
from pacs.runs.variables import cpu_variable_problems, ray_variable_problems, variable_problems
from pacs.verl_keys.config import attention, chat_template_options, has_critic
from pacs.verl_keys.names import RAY_ADDRESS
from pacs.verl_keys.workload import engine_gpus

CONNECT_SECONDS = 5.0
#: verl's names of loggers that need packages: what is imported, and what pip calls it.
LOGGER_PACKAGES = {
    **{name: {name: name} for name in ("tensorboard", "wandb", "mlflow", "swanlab", "trackio")},
    "clearml": {"clearml": "clearml", "pandas": "pandas"},
    "rl_insight": {"rl_insight": "rl-insight"},
    "vemlp_wandb": {"volcengine_ml_platform": "volcengine-ml-platform"},
}


def surroundings_problems(config: DictConfig, note: Note) -> Iterator[str]:
    """What is not here, a sentence each with the setting and the mend; `note` as of `input_problems`."""
    yield from variable_problems()
    yield from _machine_problems(config)
    if not (problems := list(input_problems(config, note))):
        note_rated_model(config, note)
        note_measured_model(config, data_files(config), note)
    yield from problems


def input_problems(config: DictConfig, note: Note) -> Iterator[str]:
    """What each node of the run needs: packages, the folder, data, the model, code of one's own.

    Args:
        config: of the run.
        note: takes what is no reason to refuse the run, a sentence each; a warning begins with "warning: ".
    """
    yield from _package_problems(config)
    yield from _folder_problems(config)
    files = data_files(config)
    train, val = ([file for of, file in files if of == f"data.{part}_files"] for part in ("train", "val"))
    yield from own_loop_problems(config)
    data_problems = list(_data_problems(config, files, train, val))
    places = [*teacher_folder_problems(config), *critic_folder_problems(config), *judge_place_problems(config)]
    problems = [*data_problems, *model_problems(config), *places]
    yield from problems
    if not data_problems:
        yield from row_problems(config, files, lambda said: note(f"warning: {said}"))
        yield from rates_problems(config)
        yield from guidance_problems(config, train)
        yield from loop_problems(config, train)
        yield from number_problems(config, train)
        yield from reference_problems(config, files)
    first = None if data_problems else train[0]
    of_own_code = list(own_code_problems(config, first, note))
    if not problems:
        tools = [] if of_own_code else tool_schemas(config, first)
        yield from list(prompt_problems(config, train, val, tools)) or reasoning_problems(config)
    yield from of_own_code


def listed(value: Any) -> list[Any]:
    """The items of a setting that is one or a list."""
    return list(value) if OmegaConf.is_list(value) else [value]


def expected_data(config: DictConfig) -> list[str]:
    """A line for each data file: what is there, or the command that prepares it. Test sets first, as in preparing."""

    def found(file: Path) -> str:
        if not file.is_file():
            return f"missing: {how_to_prepare(config, file)}"
        try:
            return f"{pyarrow.parquet.read_metadata(file).num_rows:,} rows"
        except (pyarrow.ArrowException, OSError) as error:
            return f"not a parquet file ({one_line(error).rstrip('.')})."

    return [f"{key}={file}: {found(file)}" for key, file in data_files(config)]


def how_to_prepare(config: DictConfig, file: Path) -> str:
    """The command that makes a data file, if it is named as that of a known source or of the arithmetic recipe."""
    if (command := recipe_command(file)) is not None:
        return command
    source = next((source for source in SOURCES if source.name == file.parent.name), None)
    if source is None or file.name != ("train.parquet" if source.training else "test.parquet"):
        return "`pacs data prepare`, or the recipe's README"
    command = f"pacs data prepare {source.name} --out {file.parent}"
    if not source.training:
        return f"`{command}`"
    command += f" --model {config.actor_rollout_ref.model.path}"
    if config.data.max_prompt_length != MAX_PROMPT_LENGTH:
        command += f" --max-prompt-length {config.data.max_prompt_length}"
    if not chat_template_options(config).get("enable_thinking", True):
        command += " --no-thinking"
    return f"`{command}`, after the evaluation sets whose problems it is not to have"


def _machine_problems(config: DictConfig) -> Iterator[str]:
    if (address := config.ray_kwargs.ray_init.get("address")) is not None:
        yield from _address_problems(str(address))  # the cluster is looked at when the run holds its folder
        if config.trainer.device == "cuda":  # its nodes are to have the packages that are here
            yield from kernel_problems(config)
        return
    yield from ray_variable_problems()
    if config.trainer.nnodes > 1:
        mend = f"start it on several with scripts/slurm/train.sbatch, or name a Ray cluster ({RAY_ADDRESS}=HOST:PORT)"
        yield f"trainer.nnodes={config.trainer.nnodes}, but this is one machine: {mend}."
    if config.trainer.device == "cpu":
        yield from (*cpu_variable_problems(), *machine_slot_problems(config))
    if config.trainer.device == "cuda":
        import torch

        wanted, found, model = config.trainer.n_gpus_per_node, torch.cuda.device_count(), config.reward.reward_model
        apart = engine_gpus(config)
        if wanted <= found < wanted + apart:
            yield (
                f"actor_rollout_ref.rollout.n_gpus_per_node={config.actor_rollout_ref.rollout.n_gpus_per_node} on "
                f"nnodes={config.actor_rollout_ref.rollout.nnodes}: {apart} GPUs for vLLM and the {wanted} of "
                f"trainer.n_gpus_per_node are more than the {found} of this machine: lower either."
            )
        more = model.n_gpus_per_node * model.nnodes if model.enable and model.enable_resource_pool else 0
        if wanted <= found < wanted + more:
            yield (
                f"reward.reward_model.n_gpus_per_node={model.n_gpus_per_node}: with the {wanted} of "
                f"trainer.n_gpus_per_node these are more than the {found} GPUs of this machine: lower either."
            )
        if wanted > found:
            why = "" if torch.version.cuda else f" (the PyTorch of this environment, {sys.prefix}, is a CPU build)"
            mend = "run on a machine that has them, in the environment of scripts/setup_gpu.sh, or use hardware=cpu"
            yield f"trainer.n_gpus_per_node={wanted}, but this machine has {found} GPUs{why}: lower it, {mend}."
        else:
            yield from (*machine_slot_problems(config), *kernel_problems(config))


def kernel_problems(config: DictConfig) -> Iterator[str]:
    """Packages with kernels for GPUs that the settings of policy and critic ask for and that are not here."""
    build = "bash scripts/setup_gpu.sh builds it"
    for model in ("actor_rollout_ref.model", *(["critic.model"] if has_critic(config) else [])):
        # With the package kernels transformers takes one of the hub's.
        named = attention(config, model)
        if named == "flash_attention_2" and not any(map(importlib.util.find_spec, ("flash_attn", "kernels"))):
            key = f"{model}.override_config.attn_implementation"
            mend = f"{build}; or take PyTorch's (++{key}=sdpa)"
            yield f"{key}={named} needs flash-attn, which is not installed: {mend}."
        if OmegaConf.select(config, f"{model}.use_liger") and importlib.util.find_spec("liger_kernel") is None:
            yield f"{model}.use_liger=true needs liger-kernel, which is not installed: install it, or leave this out."
    if engine_gpus(config) and importlib.util.find_spec("cupy") is None:
        yield (
            "actor_rollout_ref.rollout.nnodes (vLLM on GPUs of its own): verl sends weights there by the package cupy, "
            "which is not installed: pip install cupy-cuda13x==14.0.1, or leave it out."
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
    for name in listed(config.trainer.logger):
        for module, package in LOGGER_PACKAGES.get(name, {}).items():
            if importlib.util.find_spec(module) is None:
                what = "which" if package == name else f"whose package {package}"
                yield f"trainer.logger has {name}, {what} is not installed: pip install {package}, or logging=default."


def _folder_problems(config: DictConfig) -> Iterator[str]:
    """The run's folder, or where it is to be made."""
    folder = Path(config.run.dir)
    there = nearest(folder)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield f"run.dir={folder} cannot be written (see {there}): choose another folder."


def data_files(config: DictConfig) -> list[tuple[str, Path]]:
    """Each with the setting that names it, those of the validation first."""
    keys = ("data.val_files", "data.train_files")
    return [(key, Path(file).expanduser()) for key in keys for file in listed(OmegaConf.select(config, key))]


def _data_problems(
    config: DictConfig, files: list[tuple[str, Path]], train: list[Path], val: list[Path]
) -> Iterator[str]:
    problems = []
    graded = config.reward.custom_reward_function.path == VERIFIERS
    for key, file in files:
        if file.is_file():
            found = schema_problems(file, prompt=config.data.prompt_key, graded=graded)
            problems += [f"{key}={file} {problem}." for problem in found]
        else:
            how = how_to_prepare(config, file)
            problems.append(f"{key}={file}: no such file. Prepare the data ({how}), or set {key} to a parquet file.")
    if not problems:
        problems += [*unite_problems("data.val_files", val), *unite_problems("data.train_files", train)]
    yield from problems or _number_problems(config, train)


def _number_problems(config: DictConfig, files: list[Path]) -> Iterator[str]:
    """The files together must fill a batch."""
    rows = sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)
    most, wanted = config.data.get("train_max_samples", -1), config.data.train_batch_size
    named = f"data.train_files={', '.join(map(str, files))} has {rows} rows"
    if 0 < most < rows:
        rows, named = most, f"data.train_max_samples={most}"
    if rows < wanted:
        yield f"{named}, fewer than data.train_batch_size={wanted}: lower the batch size or add data."
    elif config.trainer.total_training_steps is None:
        steps, first = rows // wanted * config.trainer.total_epochs, config.trainer.critic_warmup
        if first > steps:
            yield (
                f"trainer.critic_warmup={first} is the first step that updates the policy, but {named}, so that there "
                f"are at most {steps} steps (trainer.total_epochs={config.trainer.total_epochs}): lower the one, or "
                "raise the other."
            )
