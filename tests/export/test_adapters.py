"""LoRA's adapters in a checkpoint, exported: the logits of peft's live model, which is an independent source."""

import json
import re
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file

from pacs.checkpoints.folder import seal
from tests.export.conftest import STEP, checkpoint_of, tiny_qwen3
from tests.export.exporting import assert_refused, logits_of, run_command

TOKENS = torch.arange(5, 65).reshape(3, 20)


def adapted(alpha: int = 12, **target: object) -> PeftModel:
    model = get_peft_model(
        tiny_qwen3("untied"), LoraConfig(r=4, lora_alpha=alpha, **{"target_modules": "all-linear", **target})
    )
    generator = torch.Generator().manual_seed(3)
    for name, value in model.named_parameters():
        if "lora_" in name:
            value.data = 0.2 * torch.randn(value.shape, generator=generator)
    return model.eval()


def write(run: Path, model: PeftModel, **meta: object) -> None:
    """As verl saves it."""
    actor = checkpoint_of(run) / "actor"
    torch.save(model.state_dict(), actor / "model_world_size_1_rank_0.pt")
    (actor / "lora_train_meta.json").write_text(json.dumps({"r": 4, "lora_alpha": 12, "task_type": "CAUSAL_LM"} | meta))
    seal(checkpoint_of(run), step=STEP, ranks=1)


@pytest.mark.parametrize("target", [{}, {"target_modules": ["q_proj", "down_proj"]}, {"exclude_modules": ["k_proj"]}])
def test_an_export_has_the_logits_of_the_live_policy(run: Path, tmp_path: Path, target: dict[str, object]) -> None:
    model = adapted(**target)
    write(run, model)
    with torch.no_grad():
        live, base = model(TOKENS).logits, tiny_qwen3("untied")(TOKENS).logits
    assert run_command(run, "--out", tmp_path / "out") == 0
    assert (live - base).abs().max() > 1
    torch.testing.assert_close(logits_of(tmp_path / "out", TOKENS), live, rtol=1e-5, atol=5e-5)
    merged = model.merge_and_unload().state_dict()
    written = load_file(tmp_path / "out" / "model.safetensors")
    assert written.keys() == merged.keys()
    for name, value in written.items():
        torch.testing.assert_close(value, merged[name], rtol=1e-6, atol=1e-6)


def test_they_are_added_up_before_they_are_rounded(run: Path, tmp_path: Path) -> None:
    """Each weight is the one in bfloat16 that is nearest to the sum."""
    model = adapted()
    write(run, model)
    merged = model.merge_and_unload().double().state_dict()
    assert run_command(run, "--out", tmp_path / "out", "--dtype", "bfloat16") == 0
    for name, value in load_file(tmp_path / "out" / "model.safetensors").items():
        torch.testing.assert_close(value.double(), merged[name], rtol=2**-8 * 1.01, atol=1e-7)


@pytest.mark.parametrize("damage", ["missing", "{", '{"r": 4}'])
def test_without_alpha_and_rank_it_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    write(run, adapted())
    file = checkpoint_of(run) / "actor" / "lora_train_meta.json"
    file.unlink() if damage == "missing" else file.write_text(damage)
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "lora_train_meta.json cannot be read", "alpha and rank are not known")


def test_half_an_adapter_is_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = adapted()
    write(run, model)
    file = checkpoint_of(run) / "actor" / "model_world_size_1_rank_0.pt"
    state = torch.load(file)
    torch.save({name: value for name, value in state.items() if not re.search(r"0\.self.*q.*lora_B", name)}, file)
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "not those of a Qwen3ForCausalLM", "0 missing, 1 unexpected", "lora_A")


def test_adapters_of_embeddings_are_refused(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(run, adapted(target_modules=["q_proj", "embed_tokens"]))
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "not those of a Qwen3ForCausalLM", "lora_embedding_")
