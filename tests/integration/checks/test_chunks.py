"""Layers that go through rows in chunks: what transformers' own tiny models do across them, and what is refused."""

import pytest
import torch
from omegaconf import OmegaConf
from transformers import (
    AutoModelForCausalLM,
    BambaConfig,
    Llama4TextConfig,
    NemotronHConfig,
    PreTrainedConfig,
    Zamba2Config,
)

from pacs.integration.checks.silent import chunk_problems

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
CHUNK, LONGEST = 8, 24


def mamba(kind: str, chunk: int) -> PreTrainedConfig:
    if kind == "nemotron_h":
        heads = {"mamba_num_heads": 4, "mamba_head_dim": 16, "ssm_state_size": 8, "n_groups": 1}
        return NemotronHConfig(**SIZES, **heads, hybrid_override_pattern="M*", chunk_size=chunk)
    if kind == "bamba":
        heads = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1}
        return BambaConfig(**SIZES, **heads, attn_layer_indices=[1], mamba_chunk_size=chunk)
    heads = {"mamba_d_state": 8, "n_mamba_heads": 4, "mamba_headdim": 16, "mamba_ngroups": 1, "num_mem_blocks": 1}
    sizes = {key: value for key, value in SIZES.items() if key != "head_dim"}
    return Zamba2Config(
        **sizes,
        **heads,
        layers_block_type=["mamba", "hybrid"],
        attention_hidden_size=64,
        attention_head_dim=32,
        chunk_size=chunk,
    )


def llama4(chunk: int) -> PreTrainedConfig:
    layers = {"layer_types": ["chunked_attention", "full_attention"], "no_rope_layers": [1, 0]}
    experts = {"num_local_experts": 2, "intermediate_size_mlp": 64}
    return Llama4TextConfig(**SIZES, **layers, **experts, attention_chunk_size=chunk)


def model_of(config: PreTrainedConfig) -> torch.nn.Module:
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").float().eval()
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.15) if parameter.dim() > 1 else parameter.data.add_(0.1)
    return model


def said_of(config: PreTrainedConfig, packed: bool, longest: int = LONGEST) -> list[str]:
    run = OmegaConf.create(
        {
            "data": {"max_prompt_length": 8, "max_response_length": longest - 8},
            "trainer": {"device": "cpu"},
            "actor_rollout_ref": {"model": {"use_remove_padding": packed}},
        }
    )
    return list(chunk_problems(config, run))


@pytest.mark.parametrize(
    ("kind", "chunk", "wrong"),
    [
        (kind, chunk, kind != "bamba" and chunk == CHUNK)
        for kind in ("nemotron_h", "zamba2", "bamba")
        for chunk in (CHUNK, LONGEST)
    ],
)
@torch.no_grad()
def test_tokens_after_a_chunk_change_those_before_it(kind: str, chunk: int, wrong: bool) -> None:
    """A causal model gives the first 10 tokens of 24 what it gives 10 alone; and with the mend these do."""
    config = mamba(kind, chunk)
    model, tokens = model_of(config), torch.arange(3, 3 + LONGEST)[None]
    whole, part = (model(each, use_cache=False).logits[0, :10].log_softmax(-1) for each in (tokens, tokens[:, :10]))
    assert ((whole - part).abs().max() > 1e-3) == wrong
    said = said_of(config, packed=False)
    assert len(said) == wrong
    if wrong:
        assert said[0].count(f"override_config.chunk_size={LONGEST}") == 1
        assert said_of(config, packed=False, longest=CHUNK + 1) != []
    assert said_of(mamba(kind, LONGEST), packed=False) == []


@torch.no_grad()
def test_chunks_of_attention_are_counted_over_packed_rows() -> None:
    """Wrong packed, right padded; right packed within a chunk, where the probe's rows are."""
    tokens = torch.arange(3, 3 + 18)[None]
    alone_rows, positions = (tokens[:, :5], tokens[:, 5:]), torch.cat([torch.arange(5), torch.arange(13)])[None]
    for chunk, wrong in ((CHUNK, True), (64, False)):
        model = model_of(llama4(chunk))
        alone = model(alone_rows[1], use_cache=False).logits[0].log_softmax(-1)
        packed = model(tokens, position_ids=positions, use_cache=False).logits[0, 5:].log_softmax(-1)
        assert ((packed - alone).abs().max() > 1e-2) == wrong
        ids, mask = torch.zeros(2, 20, dtype=torch.long), torch.zeros(2, 20, dtype=torch.long)
        ids[0, :13], mask[0, :13], ids[1, :], mask[1, :] = alone_rows[1][0], 1, 7, 1
        padded = model(ids, attention_mask=mask, use_cache=False).logits[0, :13].log_softmax(-1)
        assert (padded - alone).abs().max() < 1e-4
    (said,) = said_of(llama4(8192), packed=True)
    assert said.endswith("Set actor_rollout_ref.model.use_remove_padding=false.")
    assert said_of(llama4(8192), packed=False) == []
