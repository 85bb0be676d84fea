"""Tiny random models of the families of the library of models, as a run would find them on disk."""

from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from tests.integration.preflight.families_list import FAMILIES
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
    # Less than the rows have, so that what lies across a window or a chunk shows.
    "sliding_window": 8,
    "attention_chunk_size": 8,
}


#: Families that transformers' sdpa is wrong for (`pacs.integration.checks.silent`).
WRONG_WITH_SDPA = ("gemma2", "vaultgemma", "doge", "glm_moe_dsa")


def has_sdpa(family: str) -> bool:
    return bool(MODEL_FOR_CAUSAL_LM_MAPPING[CONFIG_MAPPING[family]]._supports_sdpa)


def attention_of(family: str) -> str:
    return "sdpa" if has_sdpa(family) and family not in WRONG_WITH_SDPA else "eager"


def tiny_config(family: str) -> PreTrainedConfig:
    config_class = CONFIG_MAPPING[family]
    default = config_class()
    derived = {key for key in COMMON if isinstance(getattr(config_class, key, None), property)}
    common = {key: value for key, value in COMMON.items() if hasattr(default, key) and key not in derived}
    return config_class(**common | FAMILIES[family].settings)


def tiny_model(family: str, attention: str | None = None) -> PreTrainedModel:
    """Of so wide a range of weights that log-probabilities differ by nats, in float32."""
    torch.manual_seed(0)
    config = tiny_config(family)
    model = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]._from_config(
        config, attn_implementation=attention or attention_of(family)
    )
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
