"""Weights in many files, and of models whose parameters have other names in a file than in memory."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from pacs.checkpoints.folder import seal
from pacs.evaluation.model import find_model, merge_checkpoint, model_sha256
from pacs.export import folder
from tests.export.conftest import STEP, checkpoint_of, tiny_qwen3
from tests.export.exporting import logits_of, run_command

TOKENS = torch.arange(5, 45).reshape(2, 20)


def test_the_index_of_many_files_covers_every_parameter(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As a model of more than 5 GB has them."""
    monkeypatch.setattr(folder, "WEIGHTS_FILE_SIZE", "300KB")
    assert run_command(run, "--out", tmp_path / "out") == 0
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())["weight_map"]
    found = {}
    for file in (tmp_path / "out").glob("*.safetensors"):
        with safe_open(file, "pt") as weights:
            found |= dict.fromkeys(weights.keys(), file.name)
    assert found == index
    assert len(set(found.values())) > 3
    model = tiny_qwen3("untied")
    assert found.keys() == model.state_dict().keys()
    with torch.no_grad():
        assert torch.equal(logits_of(tmp_path / "out", TOKENS), model(TOKENS).logits)


def test_a_model_that_is_merged_again_is_the_same_model(run: Path, tmp_path: Path):
    """`pacs support` removes what it has merged; more samples are drawn of the same checkpoint later."""
    found = find_model(str(checkpoint_of(run)))
    for name in ("once", "again"):
        merge_checkpoint(found, tmp_path / name)
    assert model_sha256(tmp_path / "once") == model_sha256(tmp_path / "again")


def test_experts_are_written_one_by_one(run: Path, tmp_path: Path):
    """transformers holds a layer's experts in one tensor; files, and vLLM, have each by itself."""
    torch.manual_seed(3)
    config = Qwen3MoeConfig(
        vocab_size=101, hidden_size=64, moe_intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=32, num_experts=4, num_experts_per_tok=2, max_position_embeddings=64,
    )  # fmt: skip
    model = Qwen3MoeForCausalLM(config).eval()
    actor = checkpoint_of(run) / "actor"
    model.config.save_pretrained(actor / "huggingface")
    torch.save(model.state_dict(), actor / "model_world_size_1_rank_0.pt")
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 0
    with safe_open(tmp_path / "out" / "model.safetensors", "pt") as weights:
        names = set(weights.keys())
        one = weights.get_tensor("model.layers.1.mlp.experts.2.up_proj.weight")
    assert "model.layers.1.mlp.experts.gate_up_proj" not in names
    assert torch.equal(one, model.model.layers[1].mlp.experts.gate_up_proj[2, 48:])
    with torch.no_grad():
        assert torch.equal(logits_of(tmp_path / "out", TOKENS), model(TOKENS).logits)
