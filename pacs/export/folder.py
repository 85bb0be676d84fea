"""The Hugging Face folder: weights, config, tokenizer, model card. It is there as a whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import PreTrainedModel
from transformers.utils.logging import tqdm

from pacs.base.errors import UserError
from pacs.checkpoints.merge import merge, open_shards
from pacs.checkpoints.source import Source
from pacs.checkpoints.sums import FILE as SUMS
from pacs.checkpoints.sums import write_sums
from pacs.export.adapters import split_adapters
from pacs.export.card import model_card
from pacs.export.model import auto_class, check_shards, empty_model, own_parameters
from pacs.rewards.configured import FILE, write_reward
from pacs.rewards.reasoning import SETTING
from pacs.verl_keys.names import REWARD_FUNCTION

#: Of one file of weights, unless one parameter is larger.
WEIGHTS_FILE_SIZE = "5GB"
#: Not taken over from the checkpoint: what is written anew, and weights (of `save_contents: [hf_model]`).
NOT_COPIED = (
    "config.json", "README.md", FILE, SUMS, "*.safetensors", "*.safetensors.index.json", "*.bin", "*.bin.index.json",
)  # fmt: skip
#: Config, index, model card.
SMALL_FILES_BYTES = 1_000_000


def export(source: Source, out: Path, dtype: str, evaluations: Sequence[str] = ()) -> int:
    """Write the folder; with any error, nothing of it is left behind.

    Args:
        source: the checkpoint.
        out: the folder to make; its parents are made too.
        dtype: torch's name of the dtype of the weights.
        evaluations: of the checkpoint, a section of the model card in Markdown each.

    Returns:
        Number of parameters (numbers, not tensors) that were written; tied ones count once.

    Raises:
        UserError: If the run's metrics.jsonl or run.json cannot be read.
        UserError: If `out` exists, the disk is too small, the shards are not
            those of the model, a value is not finite in `dtype`, or the weights cannot be written.
    """
    if os.path.lexists(out):  # also a link to nothing, which no folder can take the place of
        raise UserError(f"{out} exists already: give another --out, or remove it")
    model = empty_model(source.huggingface, getattr(torch, dtype), value_head=source.has_value_head)
    parameters = own_parameters(model)
    card = model_card(source, dtype, evaluations)
    place = next(folder for folder in out.absolute().parents if folder.is_dir())
    check_space(place, model, source.huggingface)
    shards, adapters = split_adapters(open_shards(source.actor, source.checkpoint.ranks), source.actor)
    check_shards(model, shards)

    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=place))
    try:
        state = {}
        for name in tqdm(parameters, desc="Merging shards"):
            parts, adapter = [shard[name] for shard in shards], adapters.get(name)
            merged = adapter.merged if adapter else merge
            state[name] = merged(name, parts, model.dtype)
            if not torch.isfinite(state[name]).all():
                raise UserError(f"{name} has values that are not finite in {dtype}: try another --dtype, or step")
        model.save_pretrained(aside, state_dict=state, max_shard_size=WEIGHTS_FILE_SIZE)
        # The checkpoint's own follows, if it has one; this one is made up from the config.
        (aside / "generation_config.json").unlink(missing_ok=True)
        shutil.copytree(source.huggingface, aside, ignore=shutil.ignore_patterns(*NOT_COPIED), dirs_exist_ok=True)
        (aside / "README.md").write_text(card, encoding="utf-8")
        if source.part == "actor" and (reward := source.setting(REWARD_FUNCTION)) is not None:
            write_reward(reward, aside, source.setting(SETTING))
        verify(aside, model, value_head=source.has_value_head)
        # mkdtemp's folders and safetensors' files are private.
        aside.chmod(0o755)
        for weights in aside.glob("*.safetensors"):
            shutil.copymode(aside / "README.md", weights)
        write_sums(aside)
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        aside.rename(out)
    except SafetensorError as error:
        raise UserError(f"{place}: the weights cannot be written, or not be read again: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return sum(parameter.numel() for parameter in parameters.values())


def check_space(place: Path, model: PreTrainedModel, huggingface: Path) -> None:
    """Raise `UserError` if the disk of `place` is too small for the model's parameters and what is copied."""
    copied = [file for file in huggingface.rglob("*") if file.is_file() and not any(map(file.match, NOT_COPIED))]
    needed = sum(value.nbytes for value in own_parameters(model).values())
    needed += sum(file.stat().st_size for file in copied) + SMALL_FILES_BYTES
    available = shutil.disk_usage(place).free
    if needed > available:
        short = f"the export needs {needed:,} bytes, and {available:,} are available"
        raise UserError(f"{place}: {short}: make room, or give an --out on another disk")


def verify(folder: Path, model: PreTrainedModel, *, value_head: bool = False) -> None:
    """Open the folder as transformers loads it, without reading the values.

    Raises:
        UserError: If a parameter is missing, too many or of another shape, or the dtype is not that of `model`.
        SafetensorError: If a file of weights is not whole.
    """
    loaded, report = auto_class(value_head=value_head).from_pretrained(
        folder, device_map="meta", ignore_mismatched_sizes=True, output_loading_info=True
    )
    problems = {kind: found for kind, found in report.items() if found}
    if problems or loaded.dtype != model.dtype:
        raise UserError(f"{folder} cannot be loaded as it was written: {problems}, {loaded.dtype}")
