"""Whether verl's fused head gives what a model's own forward pass gives after its decoder: tried, on random numbers.

The fused head takes the decoder's hidden states h to log-probabilities by log softmax(h W^T / temperature), W being
the weight of `lm_head`: whatever else a model does there (a bias, a scale, soft capping, another layer) it leaves out
without a word. Both are run here on the model's own class, with a decoder that answers random hidden states.
"""

import contextlib
import copy
import io
from typing import Any
from unittest import mock

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast
from verl.models.transformers.monkey_patch import patch_forward_with_backends
from verl.utils.experimental import torch_functional

#: The vocabulary is cut down to this: the head's weight is made on the CPU.
VOCABULARY = 64
TOKENS = 32
#: Standard deviation of the logits, as wide as a trained model's, so that soft capping shows.
LOGITS = 5.0
#: Nats; both are calculated in float32.
TOLERANCE = 1e-3


class _Outputs(BaseModelOutputWithPast):
    """A decoder's; whatever else a family's has is None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("_"):
            raise AttributeError(name)


def fused_head_problem(model_class: type[PreTrainedModel], config: PreTrainedConfig) -> str | None:
    """What the fused head would leave out, as the rest of a sentence on the model; None if nothing.

    None, too, where the class needs more of a decoder than hidden states: the probe in the worker knows.

    Args:
        model_class: of the library's own code, which is executed.
        config: with the run's overrides.
    """
    model = _without_weights(model_class, config)
    if not isinstance(getattr(model, "model", None), nn.Module) or not hasattr(model, "lm_head"):
        return (
            "has its decoder or its head elsewhere than in `model` and `lm_head`, where alone verl's fused head looks "
            "for them"
        )
    if not isinstance(getattr(model.lm_head, "weight", None), torch.Tensor):
        return f"has a head ({type(model.lm_head).__name__}) that is more than the one matrix that the fused head reads"
    generator = torch.Generator().manual_seed(0)
    _fill_head(model, generator)
    hidden_states = torch.randn(1, TOKENS, model.lm_head.weight.shape[1], generator=generator)
    for decoder in {model.model, model.get_decoder()} - {None, model}:
        decoder.forward = lambda *args, **kwargs: _Outputs(last_hidden_state=hidden_states)
    tokens = torch.randint(VOCABULARY, (1, TOKENS), generator=generator)
    with torch.no_grad():
        try:
            logits = model(input_ids=tokens, use_cache=False).logits
        except (AttributeError, TypeError, KeyError, NotImplementedError):
            return None
        with contextlib.redirect_stdout(io.StringIO()):
            patch_forward_with_backends(model, use_fused_kernels=True, fused_kernels_backend="torch")
        # Where flash-attn is installed, verl's head has its Triton kernel for the cross-entropy, which knows no CPU.
        with mock.patch.object(torch_functional, "_FLASH_ATTN_CROSS_ENTROPY_AVAILABLE", False):
            fused = model(input_ids=tokens, use_cache=False, return_dict=True, temperature=1.0).log_probs
    expected = logits.log_softmax(-1).gather(-1, tokens.roll(-1, dims=-1)[..., None])[..., 0]
    difference = float((expected - fused.detach()).abs().max())
    if difference <= TOLERANCE:
        return None
    named = f" ({', '.join(found)})" if (found := _settings_of_logits(model, config)) else ""
    return (
        f"does something to its hidden states or logits between decoder and loss{named}, which the fused head leaves "
        f"out: log-probabilities differ by up to {difference:.2g} nats on random hidden states"
    )


def _without_weights(model_class: type[PreTrainedModel], config: PreTrainedConfig) -> Any:
    """The model with a small vocabulary, on the meta device."""
    config = copy.deepcopy(config)
    text = config.get_text_config()
    text.vocab_size = VOCABULARY
    # Within the vocabulary, and numbers: some configs take no None.
    text.pad_token_id = text.bos_token_id = text.eos_token_id = 0
    # A class of its own: verl puts the fused forward pass into the model's class, for the whole process.
    own_class: Any = type(model_class.__name__, (model_class,), {"__module__": model_class.__module__})
    with torch.device("meta"):
        return own_class._from_config(config, attn_implementation="eager").eval()


def _fill_head(model: Any, generator: torch.Generator) -> None:
    """Give all but the decoder random weights in float32."""
    for child in model.children():
        if child is not model.model:
            child.to_empty(device="cpu").float().requires_grad_(False)
            for parameter in child.parameters():
                parameter.normal_(0, LOGITS / parameter.shape[-1] ** 0.5, generator=generator)


def _settings_of_logits(model: Any, config: PreTrainedConfig) -> list[str]:
    """What is likely meant: settings of another value than nothing whose names speak of the head, and its bias."""
    words = ("final_logit", "logits_scal", "logit_scale", "logits_soft", "lm_head", "dim_model_base")
    text = config.get_text_config().to_dict()
    found = [
        f"{key}={value}" for key, value in text.items() if value not in (None, False) and any(w in key for w in words)
    ]
    return [*found, *(["a bias of lm_head"] if getattr(model.lm_head, "bias", None) is not None else [])]
