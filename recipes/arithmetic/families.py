"""The recipe's model in other families than Qwen3's, of the same sizes: a run must not hang on one of them."""

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from recipes.arithmetic.model import build_model

#: The first one is that of `model.py`.
FAMILIES = {"qwen3": None, "llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}
#: What of Qwen3's config the others have, too.
SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings", "tie_word_embeddings", "eos_token_id", "pad_token_id",
)  # fmt: skip


def build_of_family(family: str, tokenizer: PreTrainedTokenizerFast, seed: int) -> PreTrainedModel:
    """Make the model with random weights, float32.

    Args:
        family: one of `FAMILIES`.
        tokenizer: gives the vocabulary size.
        seed: of the initialisation.
    """
    qwen3 = build_model(tokenizer, seed)
    classes = FAMILIES[family]
    if classes is None:
        return qwen3
    config_class, model_class = classes
    config = config_class(**{name: getattr(qwen3.config, name) for name in SIZES}, dtype="float32")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = model_class(config)
    assert qwen3.generation_config is not None
    model.generation_config = qwen3.generation_config
    return model
