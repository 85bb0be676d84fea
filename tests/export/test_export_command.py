"""What `pacs export` takes, says and refuses."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForTokenClassification

from pacs.base.errors import UserError
from pacs.checkpoints.folder import seal
from pacs.export.folder import verify
from pacs.export.model import empty_model
from tests.export.conftest import STEP, checkpoint_of, tiny_qwen3
from tests.export.exporting import assert_refused, run_command

Capture = pytest.CaptureFixture[str]


def change_state(run: Path, change) -> None:
    file = checkpoint_of(run) / "actor" / "model_world_size_1_rank_0.pt"
    state = torch.load(file)
    change(state)
    torch.save(state, file)
    seal(checkpoint_of(run), step=STEP, ranks=1)


def change_model_config(run: Path, **values: object) -> None:
    file = checkpoint_of(run) / "actor" / "huggingface" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))
    seal(checkpoint_of(run), step=STEP, ranks=1)


def test_a_run_is_exported_and_said_to_be(run: Path, tmp_path: Path, capsys: Capture):
    out = tmp_path / "new" / "the out"
    assert run_command(run, "--out", out) == 0
    size = sum(file.stat().st_size for file in out.iterdir())
    assert capsys.readouterr().out.splitlines() == [
        f"checkpoint: {checkpoint_of(run)}",
        "dtype: float32 (what vLLM sampled with in the run)",
        f"wrote {out}: {sum(value.numel() for value in tiny_qwen3('untied').state_dict().values()):,} parameters, "
        f"{size:,} bytes",
        f"load it: vllm serve '{out}' --dtype float32",
    ]
    written, trained = load_file(out / "model.safetensors"), tiny_qwen3("untied").state_dict()
    assert written.keys() == trained.keys()
    assert all(torch.equal(written[name], trained[name]) for name in trained)
    modes = {oct(path.stat().st_mode & 0o777) for path in out.iterdir()}
    assert modes == {oct((run / "checkpoints" / f"global_step_{STEP}" / "config.yaml").stat().st_mode & 0o777)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "run"]


def test_the_newest_complete_checkpoint_is_taken(run: Path, tmp_path: Path, capsys: Capture):
    (run / "checkpoints" / "global_step_12").mkdir()
    older = run / "checkpoints" / "global_step_2"
    older.mkdir()
    seal(older, step=2, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 0
    passed_over, taken = capsys.readouterr().out.splitlines()[:2]
    assert passed_over.startswith("passed over: ")
    assert "global_step_12: no complete.json" in passed_over
    assert taken == f"checkpoint: {checkpoint_of(run)}"


@pytest.mark.parametrize(
    ("sampled", "asked", "written"),
    [
        ("bfloat16", None, "bfloat16"),
        ("half", None, "float16"),
        ("float32", None, "float32"),
        ("float32", "bfloat16", "bfloat16"),
        ("auto", "float32", "float32"),
        (None, None, "bfloat16"),
    ],
)
def test_the_dtype(run: Path, tmp_path: Path, capsys: Capture, sampled: str | None, asked: str | None, written: str):
    change_rollout_dtype(run, sampled)
    assert run_command(checkpoint_of(run), "--out", tmp_path / "out", *(["--dtype", asked] if asked else [])) == 0
    assert AutoConfig.from_pretrained(tmp_path / "out").dtype == getattr(torch, written)
    assert {str(value.dtype) for value in load_file(tmp_path / "out" / "model.safetensors").values()} == {
        f"torch.{written}"
    }
    said = capsys.readouterr().out
    assert f"dtype: {written} (" in said
    assert ("does not say actor_rollout_ref.rollout.dtype; --dtype chooses" in said) == (sampled is None)


def change_rollout_dtype(run: Path, dtype: str | None) -> None:
    file = checkpoint_of(run) / "config.yaml"
    if dtype is None:
        file.unlink()
    else:
        config = OmegaConf.load(file)
        OmegaConf.update(config, "actor_rollout_ref.rollout.dtype", dtype)
        OmegaConf.save(config, file)
    seal(checkpoint_of(run), step=STEP, ranks=1)


def test_a_dtype_that_vllm_would_have_chosen_itself(run: Path, tmp_path: Path, capsys: Capture):
    change_rollout_dtype(run, "auto")
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "actor_rollout_ref.rollout.dtype of the run is auto", "--dtype bfloat16")


def test_weights_that_verl_has_saved_beside_the_config_are_not_taken(run: Path, tmp_path: Path):
    huggingface = checkpoint_of(run) / "actor" / "huggingface"
    other = {name: torch.zeros_like(value) for name, value in tiny_qwen3("untied").state_dict().items()}
    for name in ("model-00001-of-00002.safetensors", "model.safetensors"):
        save_file(other, huggingface / name)
    (huggingface / "model.safetensors.index.json").write_text("{}")
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 0
    assert [file.name for file in (tmp_path / "out").glob("*.safetensors*")] == ["model.safetensors"]
    written = load_file(tmp_path / "out" / "model.safetensors")
    assert torch.equal(written["lm_head.weight"], tiny_qwen3("untied").lm_head.weight)


def test_without_a_generation_config_none_is_made_up(run: Path, tmp_path: Path):
    (checkpoint_of(run) / "actor" / "huggingface" / "generation_config.json").unlink()
    seal(checkpoint_of(run), step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 0
    assert not (tmp_path / "out" / "generation_config.json").exists()


def test_a_truncated_shard_is_refused(run: Path, tmp_path: Path, capsys: Capture):
    shard = checkpoint_of(run) / "actor" / "model_world_size_1_rank_0.pt"
    os.truncate(shard, shard.stat().st_size - 1)
    assert run_command(checkpoint_of(run), "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "actor/model_world_size_1_rank_0.pt has ", " bytes instead of ")


def test_a_run_whose_checkpoints_are_all_broken(run: Path, tmp_path: Path, capsys: Capture):
    (checkpoint_of(run) / "complete.json").unlink()
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "has no complete checkpoint", f"global_step_{STEP}: no complete.json")


def test_a_run_without_checkpoints(tmp_path: Path, capsys: Capture):
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    assert run_command(tmp_path / "run", "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, f"{tmp_path / 'run' / 'checkpoints'} has no complete checkpoint")


def test_adapters_are_refused(run: Path, tmp_path: Path, capsys: Capture):
    change_state(run, lambda state: state.update({"base_model.lora_A.weight": torch.zeros(2, 2)}))
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "not those of a Qwen3ForCausalLM", "1 unexpected (base_model.lora_A.weight)")


def test_a_missing_parameter_is_refused(run: Path, tmp_path: Path, capsys: Capture):
    change_state(run, lambda state: state.pop("model.norm.weight"))
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "1 missing (model.norm.weight), 0 unexpected")


def test_a_config_of_another_shape_is_refused(run: Path, tmp_path: Path, capsys: Capture):
    change_model_config(run, vocab_size=99)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(
        capsys, tmp_path, "embed_tokens.weight has the shape (101, 128)", "(99, 128): is that of another model?"
    )


def test_embeddings_that_should_be_tied_and_differ_are_refused(run: Path, tmp_path: Path, capsys: Capture):
    change_model_config(run, tie_word_embeddings=True)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "config.json ties lm_head.weight to model.embed_tokens.weight")


def test_a_model_that_transformers_does_not_know_is_refused(run: Path, tmp_path: Path, capsys: Capture):
    change_model_config(run, model_type="nobody_knows")
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "actor/huggingface: ", "nobody_knows")


def test_a_full_disk_is_seen_before_anything_is_written(run: Path, tmp_path: Path, capsys: Capture):
    change_model_config(run, vocab_size=10**13)
    assert run_command(run, "--out", tmp_path / "out") == 2
    needed = 2 * 10**13 * 128 * 4
    assert_refused(capsys, tmp_path, f"needs {needed:,}"[:12], "are available: make room")


def test_values_beyond_the_dtype_are_refused_and_leave_nothing(run: Path, tmp_path: Path, capsys: Capture):
    change_state(run, lambda state: state["model.norm.weight"].fill_(1e5))
    assert run_command(run, "--out", tmp_path / "out", "--dtype", "float16") == 2
    assert_refused(capsys, tmp_path, "model.norm.weight has values that are not finite in float16")
    assert run_command(run, "--out", tmp_path / "out", "--dtype", "bfloat16") == 0


def test_an_error_while_writing_leaves_nothing(run: Path, tmp_path: Path, capsys: Capture):
    """After the weights: a tokenizer's file that cannot be copied."""
    (checkpoint_of(run) / "actor" / "huggingface" / "dangling").symlink_to("nowhere")
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "dangling")


def test_a_disk_that_takes_no_more_leaves_nothing(run: Path, tmp_path: Path, capsys: Capture):
    """As far as a test can fill one: files of this process may have a megabyte, and the weights have 1.7."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        status = run_command(run, "--out", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 2
    assert_refused(capsys, tmp_path, "the weights cannot be written", "File too large")


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ("missing", UserError, "up_proj"),
        ("shape", UserError, "mismatched_keys.*model.norm.weight"),
        ("unexpected", UserError, "unexpected_keys.*more"),
        ("dtype", UserError, "torch.bfloat16"),
        ("truncated", SafetensorError, "incomplete"),
    ],
)
def test_the_last_check_sees_what_transformers_would_not_load(
    run: Path, tmp_path: Path, change: str, error: type[Exception], words: str
):
    assert run_command(run, "--out", tmp_path / "out") == 0
    model = empty_model(tmp_path / "out", torch.float32)
    verify(tmp_path / "out", model)
    weights = tmp_path / "out" / "model.safetensors"
    state = load_file(weights)
    if change == "missing":
        del state["model.layers.1.mlp.up_proj.weight"]
    elif change == "shape":
        state["model.norm.weight"] = torch.ones(127)
    elif change == "unexpected":
        state["more"] = torch.ones(1)
    elif change == "dtype":
        config = tmp_path / "out" / "config.json"
        config.write_text(config.read_text().replace('"float32"', '"bfloat16"'))
    save_file(state, weights, metadata={"format": "pt"})
    if change == "truncated":
        os.truncate(weights, weights.stat().st_size - 1)
    with pytest.raises(error, match=words):
        verify(tmp_path / "out", model)


def test_help_teaches_what_is_taken(capsys: Capture):
    with pytest.raises(SystemExit) as caught:
        run_command("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert [word for word in ("global_step_N", "bfloat16", "examples:", "--out DIR") if word not in text] == []


def test_the_critic_of_a_run_of_genac_is_exported(run: Path, tmp_path: Path, capsys: Capture):
    checkpoint = checkpoint_of(run)
    config = OmegaConf.load(checkpoint / "config.yaml")
    config.genac = {"critic": {"model": {"path": "some/critic"}}}
    OmegaConf.save(config, checkpoint / "config.yaml")
    shutil.copytree(checkpoint / "actor", checkpoint / "critic")
    file = checkpoint / "critic" / "model_world_size_1_rank_0.pt"
    shards = {name: value + 1 for name, value in torch.load(file).items()}
    torch.save(shards, file)
    seal(checkpoint, step=STEP, ranks=1)
    out = tmp_path / "out"
    assert run_command(run, "--part", "critic", "--out", out) == 0
    written = load_file(out / "model.safetensors")
    assert all(torch.equal(written[name], shards[name]) for name in written)
    card = (out / "README.md").read_text()
    assert "The critic, which scores partial responses, of a training run" in card
    assert "base_model: some/critic" in card


def test_the_value_head_of_a_run_of_ppo_is_exported(run: Path, tmp_path: Path, capsys: Capture):
    """Its values are those of the critic's weights; the config that verl saves says nothing of a head."""
    checkpoint = checkpoint_of(run)
    shutil.copytree(checkpoint / "actor", checkpoint / "critic")
    config = AutoConfig.from_pretrained(checkpoint / "critic/huggingface", num_labels=1)
    torch.manual_seed(0)
    critic = AutoModelForTokenClassification.from_config(config).eval()
    torch.save(critic.state_dict(), checkpoint / "critic/model_world_size_1_rank_0.pt")
    seal(checkpoint, step=STEP, ranks=1)
    out = tmp_path / "out"
    assert run_command(run, "--part", "critic", "--out", out, "--dtype", "float32") == 0
    assert "--value-head" in capsys.readouterr().out
    exported = AutoModelForTokenClassification.from_pretrained(out).eval()
    assert exported.config.architectures[0].endswith("ForTokenClassification")
    assert exported.config.num_labels == 1
    tokens = torch.tensor([[1, 2, 3, 4]])
    assert torch.equal(exported(tokens).logits, critic(tokens).logits)
    assert exported(tokens).logits.shape == (1, 4, 1)


def test_a_run_without_a_critic_has_none_to_export(run: Path, tmp_path: Path, capsys: Capture):
    assert run_command(run, "--part", "critic", "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, "--part critic", "as runs of PPO, VC-PPO and GenAC have")


def test_a_link_to_nothing_is_no_place_to_write(run: Path, tmp_path: Path, capsys: Capture):
    (tmp_path / "mine").symlink_to(tmp_path / "nowhere")
    assert run_command(run, "--out", tmp_path / "mine") == 2
    assert_refused(capsys, tmp_path, "mine exists already: give another --out")


#: `pacs export`, which takes its time to read the folder again.
SLOW = """
import sys, time
from pacs import cli
from pacs.export import folder

folder.verify = lambda *args, **kwargs: time.sleep(300)
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_signal_leaves_nothing(run: Path, tmp_path: Path):
    words = ["export", str(run), "--out", str(tmp_path / "out")]
    with subprocess.Popen([sys.executable, "-c", SLOW, *words], stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob(".out-*/model.safetensors")):
            assert process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "pacs export: interrupted" in error
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
