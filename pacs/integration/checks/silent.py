"""What gives wrong log-probabilities and gradients without a word: known of a model's class and its config."""

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from omegaconf import DictConfig
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel, masking_utils

from pacs.integration.checks.fused_head import fused_head_problem
from pacs.integration.checks.positions import chunk_problems, position_problems
from pacs.integration.checks.wording import spell
from pacs.verl_keys.config import attention as attention_of

ATTENTION = "@model.override_config.attn_implementation"
#: Kinds of layers (`layer_types`) in which a token gets something of all earlier ones other than by attention to them.
RECURRENT_LAYERS = {
    "linear_attention", "conv", "mamba", "hybrid", "recurrent", "compressed_sparse_attention",
    "heavily_compressed_attention",
}  # fmt: skip
#: Model types whose layers verl replaces by its own that are told where each packed sequence begins.
PACKED_BY_VERL = ("qwen3_5", "qwen3_5_moe")
#: Model types that add a mask of their own to the one that transformers makes for eager attention, and leaves out for
#: others where nothing is padded: every token then attends to later ones (transformers 5.10.4).
CAUSAL_IF_EAGER = ("doge", "glm_moe_dsa")


def silent_problems(built: PreTrainedModel, settings: PreTrainedConfig, config: DictConfig) -> Iterator[str]:
    """Clauses that go on from the model's name, with the mend.

    Args:
        built: the model, without memory.
        settings: its config, with the run's overrides.
        config: of the run.
    """
    return (spell(problem, config) for problem in _problems(built, settings, config))


def _problems(built: PreTrainedModel, settings: PreTrainedConfig, config: DictConfig) -> Iterator[str]:
    model, attention = config.actor_rollout_ref.model, attention_of(config)
    if model.use_remove_padding and (why := _why_not_packed(built, settings, attention)):
        yield f"cannot be trained on packed sequences: {why}. Set @model.use_remove_padding=false."
    if model.use_fused_kernels and (left_out := fused_head_problem(type(built), settings)):
        yield f"{left_out}. Set @model.use_fused_kernels=false."
    yield from (*position_problems(settings, config), *chunk_problems(settings, config))
    if settings.model_type in CAUSAL_IF_EAGER and attention != "eager":
        yield (
            f"attends to later tokens with attn_implementation={attention} where no row is padded: transformers makes "
            f"no mask then. Set {ATTENTION}=eager (with + before it where the key is not there yet)."
        )
    if attention == "sdpa" and (cap := getattr(settings.get_text_config(), "attn_logit_softcapping", None)):
        caps = f"caps the logits of its attention (attn_logit_softcapping={cap})"
        yield f"{caps}, which attn_implementation=sdpa leaves out without a word. Set {ATTENTION}=eager."
    if rates := _random_rates(built, settings):
        mend = " ".join(f"+@model.override_config.{key}=0" for key in rates)
        named = ", ".join(f"{key}={rate}" for key, rate in rates.items())
        seen = "an update would see other log-probabilities than those it is scored by"
        yield f"has dropout ({named}), so that {seen}: set {mend}."


def _why_not_packed(built: PreTrainedModel, settings: PreTrainedConfig, attention: str) -> str | None:
    """What leads from one packed sequence into the next; None if nothing that is known."""
    if settings.model_type in PACKED_BY_VERL:
        return None
    decoder = built.get_decoder() or built
    convolutions = {type(module).__name__ for module in decoder.modules() if isinstance(module, nn.Conv1d)}
    layers = RECURRENT_LAYERS & set(getattr(settings.get_text_config(), "layer_types", None) or ())
    if convolutions or layers or built._is_stateful:
        what = ", ".join(sorted(convolutions | layers)) or "a recurrent state"
        return f"its layers carry numbers from one token to the next ({what}), and so from one sequence into the next"
    if "position_ids" not in inspect.signature(type(built).forward).parameters:
        return "its forward pass takes no position_ids, by which alone attention knows where a packed sequence begins"
    if not attention.startswith("flash") and _masks_without_positions(built):
        return (
            f"with attn_implementation={attention} its attention gets a mask that is made without position_ids, by "
            "which alone it knows where a packed sequence begins"
        )
    return None


class _MaskMade(Exception):
    """The forward pass has come to attention's mask."""


def _masks_without_positions(built: PreTrainedModel) -> bool:
    """Whether the forward pass makes its first mask without `position_ids`; False, too, where it makes none.

    With flash attention there is no mask: layers are told positions, or the probe in the worker finds it.
    """
    given: list[bool] = []

    def make_mask(*_: Any, position_ids: torch.Tensor | None = None, **__: Any) -> None:
        given.append(position_ids is not None)
        raise _MaskMade

    decoder = built.get_decoder() or built
    tokens = torch.zeros(1, 2, dtype=torch.long, device="meta")
    with contextlib.ExitStack() as stack:
        for module in {sys.modules[type(each).__module__] for each in (built, decoder)}:
            for name, value in vars(module).copy().items():
                if name.startswith("create_") and getattr(masking_utils, name, None) is value:
                    stack.enter_context(mock.patch.object(module, name, make_mask))
        # What cannot be done without memory comes after the masks.
        stack.enter_context(contextlib.suppress(_MaskMade, AttributeError, TypeError, KeyError, RuntimeError))
        decoder(input_ids=tokens, position_ids=tokens, use_cache=False)
    return given == [False]


def _random_rates(built: PreTrainedModel, settings: PreTrainedConfig) -> dict[str, float]:
    """Settings of the model that make its layers drop or jitter numbers in training."""

    def random(name: str) -> bool:
        return "drop" in name or "jitter" in name

    rates = {
        value
        for module in built.modules()
        for name, value in {**vars(module), **({"dropout": module.p} if isinstance(module, nn.Dropout) else {})}.items()
        if random(name) and isinstance(value, float) and value > 0
    }
    text, unused = settings.get_text_config().to_dict(), ("classifier", "summary", "head")
    set_here = {key: value for key, value in text.items() if random(key) and not key.startswith(unused)}
    return {key: value for key, value in set_here.items() if isinstance(value, float) and value in rates}
