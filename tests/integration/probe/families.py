"""Tiny random models of many families of the library of models, as a run would find them on disk."""

from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from tests.integration.worker.worker_case import VOCABULARY

#: What most families call the parts of a transformer; each takes those that its config has.
COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "shared_expert_intermediate_size": 32,
}
MAMBA2 = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 8}
DELTA_NET = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 2,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "layer_types": ["linear_attention", "full_attention"],
}
#: Model type -> what its config needs beside that. Values are those of published models where the head depends on them.
FAMILIES: dict[str, dict[str, Any]] = {
    "qwen2": {},
    "qwen2_moe": {},
    "qwen3": {},
    "qwen3_moe": {},
    "llama": {},
    "mistral": {},
    "mixtral": {},
    "gemma": {},
    "gemma3_text": {"layer_types": ["sliding_attention", "full_attention"]},
    "phi3": {},
    "olmo2": {},
    "olmo3": {"layer_types": ["sliding_attention", "full_attention"]},
    "olmoe": {},
    "smollm3": {},
    "glm4": {},
    "ernie4_5": {},
    "exaone4": {"layer_types": ["sliding_attention", "full_attention"]},
    "seed_oss": {},
    "starcoder2": {"residual_dropout": 0.0, "embedding_dropout": 0.0},
    "stablelm": {},
    "minimax_m2": {},
    "persimmon": {"num_key_value_heads": 2},
    "gemma2": {"layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 16},
    "granite": {"logits_scaling": 8.0},
    "granitemoe": {"logits_scaling": 6.0},
    "cohere": {"logit_scale": 0.0625},
    "cohere2": {"logit_scale": 0.0625, "layer_types": ["sliding_attention", "full_attention"]},
    "phi": {"num_key_value_heads": 2},
    "nanochat": {},
    "qwen3_next": DELTA_NET,
    "qwen3_5_text": DELTA_NET,
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"num_heads": 4, "head_dim": 16, "state_size": 8, "n_groups": 1, "chunk_size": 8},
    "falcon_h1": {**MAMBA2, "mamba_d_ssm": 64, "lm_head_multiplier": 0.04},
    "bamba": {**MAMBA2, "attn_layer_indices": [1]},
    "granitemoehybrid": {**MAMBA2, "layer_types": ["mamba", "attention"], "logits_scaling": 6.0},
    "jamba": {"mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2, "attn_layer_offset": 1},
    "recurrent_gemma": {"lru_width": 32, "block_types": ["recurrent", "attention"]},
    "minimax": {"layer_types": ["linear_attention", "full_attention"]},
    "gpt2": {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
    "gpt_neox": {},
    "bloom": {"hidden_dropout": 0.0, "attention_dropout": 0.0, "n_head": 2},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32, "dropout": 0.0},
    "afmoe": {"layer_types": ["sliding_attention", "full_attention"]},
}
#: The families that take no other.
EAGER = ("bloom", "recurrent_gemma", "mamba2")


def attention_of(family: str) -> str:
    return "eager" if family in EAGER else "sdpa"


def tiny_config(family: str) -> PreTrainedConfig:
    config_class = CONFIG_MAPPING[family]
    default = config_class()
    common = {key: value for key, value in COMMON.items() if hasattr(default, key)}
    return config_class(**common | FAMILIES[family])


def tiny_model(family: str) -> PreTrainedModel:
    """Of so wide a range of weights that log-probabilities differ by nats, in float32."""
    torch.manual_seed(0)
    config = tiny_config(family)
    model = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]._from_config(config, attn_implementation=attention_of(family))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data.normal_(0, 0.15)
        else:
            parameter.data.add_(torch.randn_like(parameter) * 0.1)
    return model.float()


def write_model(family: str, folder: Path) -> Path:
    """Config and weights in `folder`/`family`, unless they are there."""
    if not (folder / family / "model.safetensors").exists():
        tiny_model(family).save_pretrained(folder / family)
    return folder / family
