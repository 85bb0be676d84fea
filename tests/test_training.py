"""`pacs train`: what it prints, and wrong input refused before Ray starts, with the setting and the mend."""

import fcntl
import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs import cli
from pacs.integration.provenance import write_run_folder


@pytest.fixture
def inputs(inputs: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """With a run's folder."""
    return [*inputs, f"run.dir={tmp_path_factory.mktemp('inputs') / 'run'}"]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], of: list[str] | None = None) -> str:
    """The complaint with which `pacs train` ends before it starts anything; `of` gets what it printed before."""
    assert cli.main(["train", *arguments]) == 2
    said = capsys.readouterr()
    if of is not None:
        of.append(said.out)
    return said.err


def test_dry_run_prints_the_run_and_starts_nothing(inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--dry-run", *inputs, "method.beta=2.0"]) == 0
    printed = capsys.readouterr().out
    assert "method.beta=2.0" in printed
    assert len(printed.splitlines()) < 20
    assert "The config is sound, and what it needs is here." in printed
    run_dir = next(argument for argument in inputs if argument.startswith("run.dir=")).split("=")[1]
    assert not Path(run_dir).exists()


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        ([], "update strategy grouped: every group, of up to 1024 tokens, fits a micro-batch"),
        (
            ["actor_rollout_ref.actor.ppo_max_token_len_per_gpu=512"],
            "update strategy auto: grouped in steps whose groups all fit 512 tokens",
        ),
        (
            ["trainer.n_gpus_per_node=2", "actor_rollout_ref.actor.ppo_mini_batch_size=1"],
            "update strategy cached: actor_rollout_ref.actor.ppo_mini_batch_size=1 prompts cannot be dealt out",
        ),
        (["method.update.strategy=cached"], "update strategy cached: method.update.strategy=cached"),
    ],
)
def test_dry_run_says_how_the_gradient_will_be_taken(
    inputs: list[str], overrides: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["train", "--dry-run", *inputs, *overrides])
    assert said in capsys.readouterr().out


def test_the_gpu_recipe_is_sound_and_saves_memory(inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(["--dry-run", *inputs[1:], "recipe=qwen3_8b"], capsys, of=(printed := []))
    assert "the config is sound, but on this machine the run would stop" in said
    assert "update strategy grouped: every group, of up to 73728 tokens, fits a micro-batch" in printed[0]
    assert cli.main(["train", "--cfg", "job", *inputs[1:], "recipe=qwen3_8b"]) == 0
    model = OmegaConf.create(capsys.readouterr().out).actor_rollout_ref.model
    assert model.use_remove_padding
    assert model.enable_gradient_checkpointing
    assert model.use_fused_kernels


def test_cfg_job_prints_the_config_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--cfg", "job", "recipe=arithmetic"]) == 0
    assert "default_local_dir: ${run.dir}/checkpoints" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["plan", "doctor"])
def test_options_may_stand_between_overrides(command: str) -> None:
    parsed = cli.parse(*cli.find([command, "recipe=qwen3_8b", "--config-name", "grpo", "trainer.nnodes=2"]))
    assert parsed.config_name == "grpo"
    assert parsed.overrides == ["recipe=qwen3_8b", "trainer.nnodes=2"]
    with pytest.raises(SystemExit):
        cli.parse(*cli.find([command, "recipe=qwen3_8b", "--config-name", "grpo", "--gpus"]))


def test_a_folder_in_use_is_said_by_a_dry_run(inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = Path(inputs[-1].split("=")[1])
    run_dir.mkdir()
    with (run_dir / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = refused(["--dry-run", *inputs], capsys)
    shutil.rmtree(run_dir)
    assert "on this machine the run would stop" in said
    assert f"run.dir={run_dir}: a run is training in this folder" in said


def test_the_recorded_command_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pacs train", "--config-name", "grpo", "data.train_files=[a b]"])
    write_run_folder(OmegaConf.create({"run": {"dir": str(tmp_path)}}))
    command = shlex.join(json.loads((tmp_path / "run.json").read_text())["command"])
    assert command == "pacs train --config-name grpo 'data.train_files=[a b]'"


def test_help_names_the_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "recipe=" in printed
    assert "arithmetic" in printed
    assert "sweep=" not in printed


def test_a_secret_is_not_repeated_in_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hush-9" not in refused(["recipe=arithmetic", "trainer.wandb_api_key=hush-9,hush-9"], capsys)


def test_a_disk_that_fails_a_run_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 2 would say that nothing was begun."""

    def full(arguments: list[str]) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pacs.commands.train.main", full)
    with pytest.raises(OSError, match="No space left"):
        cli.main(["train"])
