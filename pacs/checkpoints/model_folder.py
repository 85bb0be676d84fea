"""What keeps a folder from being a Hugging Face model to train or to sample, found without loading it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from pacs.base.errors import one_line

#: One of these makes a tokenizer.
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
#: The list of the files of weights, where there are several.
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WEIGHTS = (".safetensors", ".bin")


def model_problems(
    folder: Path, *, weights: bool = True, tokenizer: bool = True, template: bool = True
) -> Iterator[str]:
    """What is wrong with a folder, a clause each that goes on from its name: "has no tokenizer ...".

    Args:
        folder: of the model.
        weights: it needs them (a training checkpoint has its own).
        tokenizer: it needs one, and with it perhaps a chat template (a run may name another folder for both).
        template: it needs a chat template (a run may bring its own).
    """
    if isinstance(config := _read(folder / "config.json"), str):
        yield config
        return
    tokenizers = [folder / name for name in TOKENIZERS] + [*folder.glob("*.tiktoken"), *folder.glob("*.model")]
    if tokenizer and not any(file.is_file() for file in tokenizers):
        yield f"has no tokenizer (none of {', '.join(TOKENIZERS)}): save the model's own with it"
    elif tokenizer and (folder / TOKENIZERS[0]).is_file() and isinstance(wrong := _read(folder / TOKENIZERS[0]), str):
        yield wrong
    elif tokenizer and template and not _has_template(folder):
        yield "has no chat template (chat_template.jinja, or chat_template in tokenizer_config.json): save one with it"
    if weights:
        yield from _weight_problems(folder)


def _read(file: Path) -> dict[str, Any] | str:
    """A JSON object, or what is wrong with it."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"holds no {file.name}: it is not a Hugging Face model folder"
    except (OSError, ValueError, RecursionError) as error:
        return f"has a {file.name} that cannot be read ({' '.join(str(error).split())}): make it anew"
    return found if isinstance(found, dict) else f"has a {file.name} that holds no settings: make it anew"


def _has_template(folder: Path) -> bool:
    if any((folder / name).exists() for name in ("chat_template.jinja", "chat_template.json", "chat_templates")):
        return True
    settings = _read(folder / "tokenizer_config.json")
    return isinstance(settings, dict) and bool(settings.get("chat_template"))


def _weight_problems(folder: Path) -> Iterator[str]:
    for name in INDEXES:
        if not (folder / name).is_file():
            continue
        index = _read(folder / name)
        if isinstance(index, str):
            yield index
            return
        listed = index.get("weight_map")
        files = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
        if missing := [file for file in files if not (folder / file).is_file()]:
            yield f"lacks {len(missing)} of the {len(files)} files that {name} lists, {missing[0]} among them"
    if not any(file.suffix in WEIGHTS for file in folder.iterdir()):
        yield "has no weights (*.safetensors or *.bin)"
    for file in sorted(folder.glob("*.safetensors")):
        if (problem := safetensors_problem(file)) is not None:
            yield f"has a damaged {file.name} ({problem}): copy or download it again"


def safetensors_problem(file: Path) -> str | None:
    """What safetensors says against a file, whose header it holds against the file's size; None: nothing."""
    try:
        with safe_open(file, framework="numpy"):
            return None
    except (OSError, SafetensorError) as error:
        return one_line(error)
