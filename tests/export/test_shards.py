"""Checkpoints that verl's FSDP2 has sharded, exported and loaded with transformers: the trainer's model, exactly."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from pacs.checkpoints.folder import seal
from tests.export.conftest import EMBEDDINGS, RANKS, STEP, checkpoint_of
from tests.export.exporting import assert_refused, logits_of, run_command

pytestmark = pytest.mark.slow
Sharded = Callable[[int, str], Path]


@pytest.mark.parametrize("embeddings", EMBEDDINGS)
@pytest.mark.parametrize("ranks", [rank if rank == 3 else pytest.param(rank, marks=pytest.mark.long) for rank in RANKS])
def test_float32_is_the_trainers_model_bit_for_bit(sharded: Sharded, ranks: int, embeddings: str, tmp_path: Path):
    run = sharded(ranks, embeddings)
    truth = torch.load(run / "truth.pt")
    assert run_command(run, "--out", tmp_path / "out") == 0
    written = load_file(tmp_path / "out" / "model.safetensors")
    assert written.keys() == truth["weights"].keys() - ({"lm_head.weight"} if embeddings == "tied" else set())
    assert [name for name, value in written.items() if not torch.equal(value, truth["weights"][name])] == []
    assert torch.equal(logits_of(tmp_path / "out", truth["tokens"]), truth["logits"])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("embeddings", EMBEDDINGS)
def test_16_bits_are_the_trainers_model_as_torch_casts_it(
    sharded: Sharded, embeddings: str, dtype: torch.dtype, tmp_path: Path
):
    run = sharded(3, embeddings)
    truth = torch.load(run / "truth.pt")
    assert run_command(run, "--out", tmp_path / "out", "--dtype", str(dtype).removeprefix("torch.")) == 0
    config = AutoConfig.from_pretrained(tmp_path / "out")
    assert config.dtype == dtype
    model = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation="sdpa")
    model.load_state_dict(truth["weights"])  # casts
    with torch.no_grad():
        expected = model(truth["tokens"]).logits
    assert torch.equal(logits_of(tmp_path / "out", truth["tokens"]), expected)
    assert expected.dtype == dtype


def test_the_cases_are_uneven_and_have_an_empty_part(sharded: Sharded):
    """Otherwise the tests above would say less than their names."""
    shapes = []
    for rank in range(3):
        file = checkpoint_of(sharded(3, "tied")) / "actor" / f"model_world_size_3_rank_{rank}.pt"
        state = torch.load(file, weights_only=False)
        parts = [state[f"model.{name}.weight"].to_local() for name in ("embed_tokens", "layers.0.self_attn.q_norm")]
        shapes.append([len(part) for part in parts])
    assert shapes == [[34, 2], [34, 2], [33, 0]]


def as_if_from_a_gpu(shard: Path) -> None:
    """Rewrite the names of the devices in a file's pickle, which is all that tells a GPU's from a CPU's."""
    reader = torch._C.PyTorchFileReader(str(shard))
    records = {name: reader.get_record(name) for name in reader.get_all_records()}
    del reader
    cpu, gpu = b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"
    assert cpu in records["data.pkl"]
    records["data.pkl"] = records["data.pkl"].replace(cpu, gpu)
    writer = torch._C.PyTorchFileWriter(str(shard))
    for name, content in records.items():
        if name == "data.pkl" or name.startswith("data/"):
            writer.write_record(name, content, len(content))
    writer.write_end_of_file()


@pytest.mark.skipif(torch.cuda.is_available(), reason="where there is a GPU, torch could load it there")
def test_a_gpus_checkpoint_needs_no_gpu(sharded: Sharded, tmp_path: Path):
    run = shutil.copytree(sharded(3, "untied"), tmp_path / "run")
    shards = sorted((checkpoint_of(run) / "actor").glob("model_world_size_3_rank_*.pt"))
    assert len(shards) == 3
    for shard in shards:
        as_if_from_a_gpu(shard)
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(shards[0], weights_only=False)
    seal(checkpoint_of(run), step=STEP, ranks=3)
    assert run_command(run, "--out", tmp_path / "out") == 0
    truth = torch.load(run / "truth.pt")
    assert torch.equal(logits_of(tmp_path / "out", truth["tokens"]), truth["logits"])


def test_tokenizer_and_generation_config_come_along(sharded: Sharded, tmp_path: Path):
    run = sharded(3, "untied")
    assert run_command(checkpoint_of(run), "--out", tmp_path / "out") == 0
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    messages = [{"role": "user", "content": "27+45"}]
    assert tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) == (
        "<|user|>27+45<|im_end|><|assistant|>"
    )
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "out")
    assert (model.generation_config.top_k, model.generation_config.eos_token_id) == (0, tokenizer.eos_token_id)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        "README.md", "SHA256SUMS", "chat_template.jinja", "config.json", "generation_config.json", "model.safetensors",
        "reward.yaml", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip


def test_a_missing_rank_is_refused(sharded: Sharded, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Even where the checkpoint's marker does not miss it."""
    run = shutil.copytree(sharded(3, "tied"), tmp_path / "run")
    (checkpoint_of(run) / "actor" / "model_world_size_3_rank_1.pt").unlink()
    seal(checkpoint_of(run), step=STEP, ranks=3)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "lacks model_world_size_3_rank_1.pt", "all 3 ranks")


def test_shards_of_two_checkpoints_are_refused(sharded: Sharded, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A rank of two in place of a rank of three."""
    run = shutil.copytree(sharded(3, "tied"), tmp_path / "run")
    other = checkpoint_of(sharded(2, "tied")) / "actor" / "model_world_size_2_rank_1.pt"
    shutil.copy(other, checkpoint_of(run) / "actor" / "model_world_size_3_rank_1.pt")
    seal(checkpoint_of(run), step=STEP, ranks=3)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "embed_tokens.weight should have the shape (101, 128)", "(117, 128)")


def test_a_wrong_number_of_ranks_is_refused(sharded: Sharded, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """One rank's part of two is not taken for the whole."""
    run = shutil.copytree(sharded(2, "tied"), tmp_path / "run")
    actor = checkpoint_of(run) / "actor"
    (actor / "model_world_size_2_rank_0.pt").rename(actor / "model_world_size_1_rank_0.pt")
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "lies on 2 ranks", "with 1 parts")
