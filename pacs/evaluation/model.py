"""The model that is evaluated: where it lies, what it is, how long its context is."""

import hashlib
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError, first_line, one_line
from pacs.base.files import file_sha256
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.checkpoints.folder import MARKER
from pacs.checkpoints.model_folder import model_problems
from pacs.checkpoints.source import Source, find_source
from pacs.checkpoints.sums import FILE as SUMS
from pacs.checkpoints.sums import read_sums
from pacs.rewards.configured import RunReward, read_reward, reward_of
from pacs.rewards.reasoning import SETTING
from pacs.verl_keys.names import DATA_SEED, METHOD, REWARD_FUNCTION

#: What decides what a model says: weights, config, tokenizer, chat template, code.
SUFFIXES = (".safetensors", ".bin", ".json", ".jinja", ".model", ".txt", ".tiktoken", ".py")


@dataclass(frozen=True)
class Model:
    """A model that was found.

    Attributes:
        given: as the command named it.
        folder: with config and tokenizer, and the weights unless it is a training checkpoint.
        source: the training checkpoint, if it is one.
        reward: of the training run that it is a checkpoint or an export of, as far as that is known.
    """

    given: str
    folder: Path
    source: Source | None = None
    reward: RunReward | None = None

    @property
    def marker_sha256(self) -> str | None:
        """Hash of the training checkpoint's marker, which names its files and when they were written."""
        return file_sha256(self.source.checkpoint.folder / MARKER) if self.source else None

    @property
    def trained_by(self) -> dict[str, Any] | None:
        """What is known of the training run, of a checkpoint: algorithm, seed of the data, step, commit."""
        if self.source is None:
            return None
        file = RunFolder(self.source.run).info
        try:
            info = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        except ValueError as error:
            raise UserError(f"{file} cannot be read ({error}): repair it, or remove it") from error
        return {
            "algorithm": self.source.setting(METHOD),
            "seed": self.source.setting(DATA_SEED),
            "step": self.source.checkpoint.step,
            "git_commit": info.get("git_commit"),
        }


def find_model(given: str, *, template: bool = True) -> Model:
    """Find a model folder, a training checkpoint, or a model of the Hugging Face Hub.

    Args:
        given: one of these.
        template: a folder needs a chat template.

    Raises:
        UserError: If it is none of them.
        UserError, BrokenCheckpoint: If the checkpoint cannot be exported.
    """
    path = Path(given).expanduser()
    if not path.exists() and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", given):
        # A stranger's reward.yaml decides nothing: it might open the sandbox of programs.
        return Model(given, _download(given))
    if not path.is_dir():
        raise UserError(f"{given}: no such folder: give a model's folder, a training checkpoint or a Hub name")
    if path.name.startswith("global_step_") or (RunFolder(path).checkpoints).is_dir():
        source = find_source(path)
        return Model(
            given, source.huggingface, source, reward_of(source.setting(REWARD_FUNCTION), source.setting(SETTING))
        )
    if not (path / "config.json").is_file():
        raise UserError(
            f"{given} is no model (it has no config.json), and neither a training checkpoint "
            f"(global_step_N) nor a run (with {RunFolder.CHECKPOINTS}/)"
        )
    if problems := list(model_problems(path, template=template)):
        raise UserError(f"{given} {'; it '.join(problems)}")
    try:
        return Model(given, path.absolute(), reward=read_reward(path))
    except ValueError as error:
        raise UserError(str(error)) from None


def context_and_dtype(model: Model) -> tuple[int, str]:
    """The most tokens of prompt and response together, and the dtype of the weights, by the model's config.

    Raises:
        UserError: If it has no config that transformers reads.
    """
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(model.folder).get_text_config()
        length = int(config.max_position_embeddings)
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{model.given}: its config.json is of no language model: {one_line(error)}") from error
    rope: dict[str, Any] = getattr(config, "rope_parameters", None) or {}
    if "original_max_position_embeddings" in rope:
        length = max(length, int(rope["original_max_position_embeddings"] * rope.get("factor", 1)))
    dtype = config.dtype
    return length, "auto" if dtype is None else str(dtype).removeprefix("torch.")


def model_sha256(folder: Path) -> str:
    """A hash of the contents and the names of a model's files.

    Raises:
        UserError: If the folder has a SHA256SUMS (`pacs export` writes one) that says otherwise of one of them.
    """
    sums = read_sums(folder)
    files = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES and not file.name.startswith("."))
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as threads:
        digests = list(threads.map(file_sha256, files))
    damaged = [file.name for file, digest in zip(files, digests, strict=True) if sums.get(file.name, digest) != digest]
    damaged += [name for name in sums if Path(name).suffix in SUFFIXES and not (folder / name).is_file()]
    if damaged:
        raise UserError(f"{folder}: {', '.join(damaged)}: not what its {SUMS} says: export or copy the model again")
    lines = [f"{file.name} {digest}\n" for file, digest in zip(files, digests, strict=True)]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def merge_checkpoint(model: Model, out: Path) -> None:
    """Merge a training checkpoint into the folder `out`, in the dtype that vLLM sampled with in the run.

    Raises:
        UserError: If it cannot be merged.
    """
    from pacs.export.dtype import choose_dtype
    from pacs.export.folder import export

    assert model.source is not None
    dtype, why = choose_dtype(None, model.source)
    print(f"merging {model.source.checkpoint.folder} in {dtype} ({why})", flush=True)
    export(model.source, out, dtype)


def _download(name: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download

    patterns = [f"*{suffix}" for suffix in SUFFIXES]
    try:
        # Asked first: the download itself would try for long.
        HfApi().model_info(name, timeout=10)
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:
        try:
            return Path(snapshot_download(name, allow_patterns=patterns, local_files_only=True))
        except Exception:
            why = f"cannot be had from the Hugging Face Hub ({first_line(error)})"
            raise UserError(f"{name} is no folder, and {why}: give a local folder") from error
