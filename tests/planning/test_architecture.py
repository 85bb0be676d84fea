"""The model's shape against transformers' own model of it."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    LlamaConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
)

from pacs.base.errors import UserError
from pacs.planning.architecture import PUBLISHED, Architecture, find_architecture

SMALL = Architecture(96, 160, 3, 6, 2, 32, 211, tie_word_embeddings=False)


#: The classes of transformers' configs by what an architecture says of its family.
CONFIGS = {(True, False): Qwen3Config, (False, True): Qwen2Config, (False, False): LlamaConfig}
LLAMA, QWEN2 = replace(SMALL, head_norms=False), replace(SMALL, head_norms=False, biases=True, head_dim=16)


def qwen3(shape: Architecture) -> PreTrainedConfig:
    """Of the architecture's own family."""
    fields = asdict(shape)
    family = CONFIGS[fields.pop("head_norms"), fields.pop("biases")]
    if family is Qwen2Config:  # it has no such field
        assert fields.pop("head_dim") == shape.hidden_size // shape.num_attention_heads
    return family(**fields, max_position_embeddings=4096, pad_token_id=0)


@pytest.mark.parametrize(
    "shape", [*PUBLISHED.values(), SMALL, LLAMA, QWEN2], ids=[*PUBLISHED, "small", "llama", "qwen2"]
)
def test_parameters_are_those_of_the_real_model(shape: Architecture) -> None:
    with torch.device("meta"):
        policy = AutoModelForCausalLM.from_config(qwen3(shape))
        critic_config = qwen3(shape)
        critic_config.num_labels = 1
        critic = AutoModelForTokenClassification.from_config(critic_config)
    assert shape.parameters == policy.num_parameters()
    assert shape.critic_parameters == sum(weight.numel() for weight in critic.parameters())


def test_published_totals() -> None:
    """Their reports and model cards name the models by these, rounded."""
    billions = {name: round(shape.parameters / 1e9, 1) for name, shape in PUBLISHED.items()}
    bases = {name.removesuffix("-Base"): billions.pop(name) for name in [*billions] if name.endswith("-Base")}
    assert bases == {name: billions[name] for name in bases}
    assert len(bases) == 5
    assert billions == {
        "Qwen/Qwen3-0.6B": 0.6,
        "Qwen/Qwen3-1.7B": 1.7,
        "Qwen/Qwen3-4B": 4.0,
        "Qwen/Qwen3-8B": 8.2,
        "Qwen/Qwen3-14B": 14.8,
        "Qwen/Qwen3-4B-Thinking-2507": 4.0,
        "Qwen/Qwen2.5-Math-7B": 7.6,
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": 1.8,
        "meta-llama/Llama-3.2-1B-Instruct": 1.2,
        "meta-llama/Llama-3.2-3B-Instruct": 3.2,
    }


@pytest.mark.parametrize("shape", [SMALL, LLAMA, QWEN2], ids=["qwen3", "llama", "qwen2"])
def test_operations_are_those_that_torch_counts(shape: Architecture) -> None:
    """Without a mask torch multiplies all pairs of tokens: the context is the whole row."""
    model = AutoModelForCausalLM.from_config(qwen3(shape), attn_implementation="eager")
    tokens = torch.zeros(2, 40, dtype=torch.long)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(input_ids=tokens, use_cache=False)
    # The rotary embedding's frequencies are a product of vectors, too small to be in the formula.
    assert counter.get_total_flops() == pytest.approx(80 * shape.forward_flops_per_token(40), rel=0.01)


def test_a_damaged_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json is not JSON"):
        find_architecture(str(tmp_path))


def test_the_cache_is_as_large_as_a_real_one() -> None:
    model = AutoModelForCausalLM.from_config(qwen3(SMALL), dtype=torch.float32)
    cache = model(input_ids=torch.zeros(1, 7, dtype=torch.long), use_cache=True).past_key_values
    held = sum(part.nbytes for layer in cache.layers for part in (layer.keys, layer.values))
    assert held == 7 * SMALL.kv_bytes_per_token(4)


@pytest.mark.parametrize("shape", [SMALL, LLAMA, QWEN2], ids=["qwen3", "llama", "qwen2"])
def test_a_folder_is_read(shape: Architecture, tmp_path: Path) -> None:
    qwen3(shape).save_pretrained(tmp_path)
    assert find_architecture(str(tmp_path)) == shape


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "gemma3"}, "type gemma3: the plan's formulas are written down for qwen3, qwen2, llama"),
        ({"model_type": "llama", "attention_bias": True}, "type llama with biases"),
        ({"model_type": "llama"}, "lacks hidden_size"),
        ({"model_type": "qwen3", "hidden_size": 8}, "lacks intermediate_size"),
    ],
)
def test_another_config_is_refused(tmp_path: Path, config: dict[str, object], said: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=said):
        find_architecture(str(tmp_path))


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UserError, match="plan with one of these"):
        find_architecture("nobody/nothing")
