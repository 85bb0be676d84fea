"""The recipe's model in other families than Qwen3's, of the same sizes: a run must not hang on one of them."""

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
)

from recipes.arithmetic.model import MAX_POSITIONS_TOKENS, build_model
from recipes.arithmetic.tokenizer import build_tokenizer

#: The first one is that of `model.py`.
FAMILIES = {"qwen3": None, "llama": (LlamaConfig, LlamaForCausalLM), "qwen2": (Qwen2Config, Qwen2ForCausalLM)}
#: What of Qwen3's config the others have, too.
SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings", "tie_word_embeddings", "eos_token_id", "pad_token_id",
)  # fmt: skip


def tokenizer_of_family(family: str) -> PreTrainedTokenizerFast:
    """The recipe's tokenizer, for a Qwen2 in the one class that transformers loads for all of these.

    That class is byte-level (findings/transformers_auto_tokenizer_rebuilds_qwen2.sh): a space and a newline are other
    symbols there, under the same numbers, and what is not ASCII is left out.
    """
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    if family != "qwen2":
        return tokenizer
    spelt = {" ": "Ġ", "\n": "Ċ"}
    return Qwen2Tokenizer(
        vocab={spelt.get(token, token): number for token, number in tokenizer.get_vocab().items()},
        merges=[],
        **{name: str(token) for name, token in tokenizer.special_tokens_map.items()},
        extra_special_tokens=tokenizer.extra_special_tokens,
        chat_template=tokenizer.chat_template,
        clean_up_tokenization_spaces=False,
        padding_side=tokenizer.padding_side,
        model_max_length=tokenizer.model_max_length,
    )


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
