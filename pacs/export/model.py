"""The model that a checkpoint's config describes, and whether the shards are its parameters."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification, PreTrainedModel

from pacs.base.errors import UserError
from pacs.checkpoints.merge import local_part


def auto_class(*, value_head: bool) -> Any:
    """What transformers makes the model by; one of PPO's critics classifies each token with one label, its value."""
    return AutoModelForTokenClassification if value_head else AutoModelForCausalLM


def empty_model(huggingface: Path, dtype: torch.dtype, *, value_head: bool = False) -> PreTrainedModel:
    """The model of a config, without memory for its parameters.

    Raises:
        UserError: If the config is missing or of a model that transformers does not know as one of that kind.
    """
    try:
        config = AutoConfig.from_pretrained(
            huggingface, trust_remote_code=False, **({"num_labels": 1} if value_head else {})
        )
        with torch.device("meta"):
            return auto_class(value_head=value_head).from_config(config, dtype=dtype)
    except (OSError, ValueError) as error:
        raise UserError(f"{huggingface}: {' '.join(str(error).split())}") from error


def own_parameters(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """What is to be written, by name: the model's state without the parameters that are tied to others."""
    return {name: value for name, value in model.state_dict().items() if name not in model.all_tied_weights_keys}


def check_shards(model: PreTrainedModel, shards: list[dict[str, torch.Tensor]]) -> None:
    """Hold the ranks' state dicts against the model.

    Raises:
        UserError: If they have other parameters or shapes, or if parameters differ that should be tied.
    """
    tied = model.all_tied_weights_keys
    expected = own_parameters(model)
    found = {name: value for name, value in shards[0].items() if name not in tied}
    if expected.keys() != found.keys():
        missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
        differ = f"{_some('missing', missing)}, {_some('unexpected', more)}"
        raise UserError(f"the shards are not those of a {type(model).__name__}: {differ}")
    for name, value in expected.items():
        if value.shape != found[name].shape:
            shape = tuple(found[name].shape)
            by_config = f"but by its config.json it is {tuple(value.shape)}: is that of another model?"
            raise UserError(f"{name} has the shape {shape}, {by_config}")
    for name, other in tied.items():
        for shard in shards:
            if name in shard and not torch.equal(local_part(shard[name]), local_part(shard[other])):
                raise UserError(f"config.json ties {name} to {other} (tie_word_embeddings), but their values differ")


def _some(what: str, names: Collection[str]) -> str:
    first = ", ".join(sorted(names)[:3])
    return f"{len(names)} {what}" + (f" ({first}{', ...' if len(names) > 3 else ''})" if names else "")
