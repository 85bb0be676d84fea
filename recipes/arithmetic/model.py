"""A Qwen3 of 0.4 million parameters: small enough for 2 cores, and the same architecture as the real recipes'."""

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

# Far more than arithmetic needs, so that the model can also be driven with real problems; RoPE makes it free.
MAX_POSITIONS_TOKENS = 4096


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """Make the model with random weights, float32.

    Args:
        tokenizer: gives the vocabulary size; an id beyond the tokenizer's length could be sampled, never decoded.
        seed: of the initialisation.
    """
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,  # vLLM's CPU attention takes 32 or more
        max_position_embeddings=MAX_POSITIONS_TOKENS,
        tie_word_embeddings=False,  # verl shards tied weights by a longer way
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    # Sampling from the plain softmax: transformers' own default (top_k=50) would sample from another policy.
    model.generation_config.update(
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
    )
    return model
