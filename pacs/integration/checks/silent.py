"""What gives wrong log-probabilities and gradients without a word: known of a model's class and its config.

Among it what depends on a length that the probe's short rows do not reach: a row beside a longer one is another row.
"""

import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any
from unittest import mock

import torch
from omegaconf import DictConfig
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel, masking_utils

from pacs.integration.checks.fused_head import fused_head_problem
from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import attention as attention_of
from pacs.verl_keys.config import has_generative_critic, longest_row

#: Whose torch code (transformers 5.10.4) sums the states of a row's chunks over the wrong axis, so that earlier tokens
#: depend on later chunks; Mamba's own kernels do not.
WRONG_STATES_OF_CHUNKS = ("nemotron_h", "zamba2")


def position_problems(settings: PreTrainedConfig, config: DictConfig) -> Iterator[str]:
    """What the run's lengths do to a model whose RoPE changes with length; clauses that go on from the model's name.

    transformers takes `longrope`'s long factors, or `dynamic`'s stretched frequencies, for all rows of a micro-batch as
    soon as one is longer than the original length, and keeps the latter from then on. vLLM takes one set for all rows,
    by `max_model_len`. Up to that length all of them agree.

    Args:
        settings: the model's config.
        config: of the run.
    """
    text, longest = settings.get_text_config(), longest_row(config)
    critics = " (and of a critic genac.template_tokens and genac.trace_tokens)" if has_generative_critic(config) else ""
    for rope in _ropes(getattr(text, "rope_parameters", None) or {}):
        kind = str(rope.get("rope_type", rope.get("type", "default")))
        if kind not in ("longrope", "su") and "dynamic" not in kind:
            continue
        known = [rope.get("original_max_position_embeddings"), getattr(text, "original_max_position_embeddings", None)]
        original = next((int(length) for length in known if length), int(text.max_position_embeddings))
        if longest > original:
            yield (
                f"encodes positions otherwise (rope_type={kind}) in every micro-batch that has a row of more than "
                f"{original} tokens, shorter rows included, so that rows have other log-probabilities and gradients "
                f"beside a longer one, and in vLLM: the run's rows have up to {longest}. Lower data.max_prompt_length "
                f"and data.max_response_length{critics} to {original} together, or choose another model."
            )
            return


def chunk_problems(settings: PreTrainedConfig, config: DictConfig) -> Iterator[str]:
    """Layers that go through a row in chunks, wrongly from the second chunk on; clauses as of `position_problems`."""
    text, longest = settings.get_text_config(), longest_row(config)
    if config.actor_rollout_ref.model.use_remove_padding and (chunk := getattr(text, "attention_chunk_size", None)):
        yield (
            f"attends in chunks of {chunk} tokens (attention_chunk_size), which transformers counts from the start of "
            f"the micro-batch and not of each packed sequence. Set actor_rollout_ref.model.use_remove_padding=false."
        )
    kernels = config.trainer.device == "cuda" and all(map(find_spec, ("mamba_ssm", "causal_conv1d")))
    if text.model_type in WRONG_STATES_OF_CHUNKS and longest > text.chunk_size and not kernels:
        yield (
            f"goes through its Mamba layers in chunks of {text.chunk_size} tokens, and without the kernels of "
            "mamba_ssm and causal_conv1d transformers lets later chunks change earlier tokens: rows have up to "
            f"{longest}. Set +actor_rollout_ref.model.override_config.chunk_size={longest}, or install both (a GPU's)."
        )


def _ropes(parameters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The RoPE of all layers, or of each kind of layer."""
    inner = [value for value in parameters.values() if isinstance(value, Mapping)]
    return inner or [parameters]


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


@spelled
def silent_problems(config: DictConfig, built: PreTrainedModel, settings: PreTrainedConfig) -> Iterator[str]:
    """Clauses that go on from the model's name, with the mend.

    Args:
        config: of the run.
        built: the model, without memory.
        settings: its config, with the run's overrides.
    """
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
        yield (
            f"has dropout ({named}), so that an update would see other log-probabilities than those it is scored by: "
            f"set {mend}."
        )


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
