"""What depends on a length that the probe's short rows do not reach: a row beside a longer one is another row."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from omegaconf import DictConfig
from transformers import PreTrainedConfig

from pacs.verl_keys.config import longest_row

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
                f"and data.max_response_length to {original} together, or choose another model."
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
