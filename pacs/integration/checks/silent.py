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

MODEL = "actor_rollout_ref.model"
ATTENTION = f"{MODEL}.override_config.attn_implementation"
#: Kinds of layers (`layer_types`) in which a token gets something of all earlier ones other than by attention to them.
RECURRENT_LAYERS = {
    "linear_attention",
    "conv",
    "mamba",
    "hybrid",
    "recurrent",
    "compressed_sparse_attention",
    "heavily_compressed_attention",
}
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
    model, attention = config.actor_rollout_ref.model, attention_of(config)
    if model.use_remove_padding and (why := _why_not_packed(built, settings, attention)):
        yield f"cannot be trained on packed sequences: {why}. Set {MODEL}.use_remove_padding=false."
    if model.use_fused_kernels and (left_out := fused_head_problem(type(built), settings)):
        yield f"{left_out}. Set {MODEL}.use_fused_kernels=false."
    yield from (*position_problems(settings, config), *chunk_problems(settings, config))
    if settings.model_type in CAUSAL_IF_EAGER and attention != "eager":
        yield (
            f"attends to later tokens with attn_implementation={attention} where no row is padded: transformers makes "
            f"no mask then. Set {ATTENTION}=eager (with + before it where the key is not there yet)."
        )
    if attention == "sdpa" and (cap := getattr(settings.get_text_config(), "attn_logit_softcapping", None)):
        yield (
            f"caps the logits of its attention (attn_logit_softcapping={cap}), which attn_implementation=sdpa leaves "
            f"out without a word. Set {ATTENTION}=eager."
        )
    if rates := _random_rates(built, settings):
        mend = " ".join(f"+{MODEL}.override_config.{key}=0" for key in rates)
        yield (
            f"has dropout ({', '.join(f'{key}={rate}' for key, rate in rates.items())}), so that an update would see "
            f"other log-probabilities than those it is scored by: set {mend}."
        )


def attention_of(config: DictConfig) -> str:
    """The run's, as verl loads the model."""
    overrides = config.actor_rollout_ref.model.get("override_config") or {}
    return str(overrides.get("attn_implementation", "flash_attention_2"))


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
        try:
            decoder(input_ids=tokens, position_ids=tokens, use_cache=False)
        except _MaskMade:
            pass
        except (AttributeError, TypeError, KeyError, NotImplementedError, RuntimeError):
            # What cannot be done without memory comes after the masks.
            pass
    return given == [False]


def _random_rates(built: PreTrainedModel, settings: PreTrainedConfig) -> dict[str, float]:
    """Settings of the model that make its layers drop or jitter numbers in training."""

    def random(name: str) -> bool:
        return "drop" in name or "jitter" in name

    rates = {
        value
        for module in built.modules()
        for name, value in [*vars(module).items(), *([("dropout", module.p)] if isinstance(module, nn.Dropout) else [])]
        if random(name) and isinstance(value, float) and value > 0
    }
    text = settings.get_text_config().to_dict()
    unused = ("classifier", "summary", "head")
    return {
        key: value
        for key, value in text.items()
        if random(key) and isinstance(value, float) and value in rates and not key.startswith(unused)
    }
