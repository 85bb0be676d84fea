"""What keeps a folder from being a Hugging Face model to train or to sample, found without loading it."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: One of these makes a tokenizer.
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "spiece.model", "vocab.json", "vocab.txt")
#: The list of the files of weights, where there are several.
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
WEIGHTS = (".safetensors", ".bin")
#: Bytes of a header of safetensors, which its own library refuses above this.
LONGEST_HEADER = 100_000_000


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
    """What the header of a file of weights says against its size; None: nothing.

    The format (https://huggingface.co/docs/safetensors): eight bytes with the length of the header, the header as JSON
    with the place of each tensor, and the tensors to the end of the file.
    """
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            first = stream.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else size
            if length > min(size - 8, LONGEST_HEADER):
                return f"its header does not fit its {size:,} bytes"
            header = json.loads(stream.read(length))
        ends = (about["data_offsets"][1] for name, about in header.items() if name != "__metadata__")
        wanted = 8 + length + max(ends, default=0)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return f"its header cannot be read: {' '.join(str(error).split())}"
    return None if wanted == size else f"it has {size:,} bytes, and its header says {wanted:,}"
