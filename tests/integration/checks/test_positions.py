"""RoPE that depends on the longest row of a micro-batch: what transformers' own models do, and what is refused."""

from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Phi3Config, PreTrainedConfig

from pacs.integration.checks.silent import position_problems

ORIGINAL, HALF = 16, 8
SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": 10000.0, **more}


FACTORS = {"short_factor": [1.0] * HALF, "long_factor": [4.0] * HALF}
LONGROPE = rope("longrope", original_max_position_embeddings=ORIGINAL, **FACTORS)
YARN = rope("yarn", factor=4.0, original_max_position_embeddings=ORIGINAL)
LLAMA3 = YARN | {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
BY_LAYER = {"sliding_attention": rope("default"), "full_attention": LONGROPE}
#: Name -> class, its RoPE, other settings, and whether a row depends on a longer one beside it.
MODELS: dict[str, tuple[type[PreTrainedConfig], Any, dict[str, Any], bool]] = {
    "longrope": (Phi3Config, LONGROPE, {"original_max_position_embeddings": ORIGINAL}, True),
    "dynamic": (LlamaConfig, rope("dynamic", factor=4.0), {"max_position_embeddings": ORIGINAL}, True),
    "by kind of layer": (
        Gemma3TextConfig, BY_LAYER, {"head_dim": 16, "sliding_window": 8, "layer_types": list(BY_LAYER)}, True,
    ),
    "yarn": (LlamaConfig, YARN, {}, False),
    "llama3": (LlamaConfig, LLAMA3, {}, False),
    "linear": (LlamaConfig, rope("linear", factor=4.0), {}, False),
    "default": (LlamaConfig, rope("default"), {}, False),
}  # fmt: skip


def config_of(name: str) -> PreTrainedConfig:
    kind, parameters, more, _ = MODELS[name]
    return kind(**SIZES | {"max_position_embeddings": 64, "rope_parameters": parameters} | more)


def said_of(config: PreTrainedConfig, prompt: int, response: int) -> list[str]:
    run = OmegaConf.create({"data": {"max_prompt_length": prompt, "max_response_length": response}})
    return list(position_problems(config, run))


@pytest.mark.parametrize("name", MODELS)
def test_what_a_longer_row_changes_is_refused(name: str) -> None:
    """By the library's own logits and gradients: a row of 10 tokens alone, and beside one of 24 or of 16."""
    config, depends = config_of(name), MODELS[name][-1]
    row = torch.randint(3, 64, (1, 10), generator=torch.Generator().manual_seed(0))

    def of_row(longest: int) -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").double().eval()
        tokens = torch.randint(3, 64, (2, longest), generator=torch.Generator().manual_seed(3))
        mask = torch.ones_like(tokens)
        tokens[0, :10], mask[0, 10:] = row[0], 0
        logits = (model(tokens, attention_mask=mask) if longest > 10 else model(row)).logits[0, :10]
        logits.log_softmax(dim=-1)[:, 5].sum().backward()
        gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        return logits.detach(), gradient

    alone, beside, within = of_row(10), of_row(24), of_row(ORIGINAL)
    for mine, there, here in zip(alone, beside, within, strict=True):
        assert (mine - here).norm() < 2e-6 * mine.norm()
        assert ((mine - there).norm() > 2e-5 * mine.norm()) == depends
    said = said_of(config, 10, 14)
    assert len(said) == depends
    if depends:
        assert "(rope_type=" in said[0]
        assert f"Lower data.max_prompt_length and data.max_response_length to {ORIGINAL} together" in said[0]
    assert said_of(config, 8, ORIGINAL - 8) == []
    assert len(said_of(config, 8, ORIGINAL - 7)) == depends


def test_a_model_within_a_model_is_looked_at() -> None:
    """As of models of image and text."""
    inner = config_of("longrope")

    class Outer(PreTrainedConfig):
        def get_text_config(self, *arguments: Any, **options: Any) -> PreTrainedConfig:
            return inner

    assert len(said_of(Outer(), 10, 14)) == 1


def test_phis_published_numbers_are_refused_where_the_run_crosses_them() -> None:
    """Phi-4-mini's config.json as it is published: 131,072 positions, 4,096 before the factors change."""
    config = Phi3Config(
        max_position_embeddings=131072, original_max_position_embeddings=4096, hidden_size=3072, num_attention_heads=24,
        rope_parameters=rope(
            "longrope", short_factor=[1.0] * 48, long_factor=[2.0] * 48, partial_rotary_factor=0.75,
            original_max_position_embeddings=4096,
        ),
    )  # fmt: skip
    assert said_of(config, 1024, 3072) == []
    (said,) = said_of(config, 1024, 8192)
    assert "more than 4096 tokens" in said
    assert "the run's rows have up to 9216" in said
