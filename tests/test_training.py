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
from pacs.integration.start.run_folder import write_run_folder


@pytest.fixture
def inputs(inputs: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """With a run's folder."""
    return [*inputs, f"pacs.run_dir={tmp_path_factory.mktemp('inputs') / 'run'}"]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], of: list[str] | None = None) -> str:
    """The complaint with which `pacs train` ends before it starts anything; `of` gets what it printed before."""
    assert cli.main(["train", *arguments]) == 2
    said = capsys.readouterr()
    if of is not None:
        of.append(said.out)
    return said.err


def test_dry_run_prints_the_run_and_starts_nothing(inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--dry-run", *inputs, "pacs.beta=2.0"]) == 0
    printed = capsys.readouterr().out
    assert "pacs.beta=2.0" in printed
    assert len(printed.splitlines()) < 20
    assert "The config is sound, and what it needs is here." in printed
    run_dir = next(argument for argument in inputs if argument.startswith("pacs.run_dir=")).split("=")[1]
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
        (["pacs.update.strategy=cached"], "update strategy cached: pacs.update.strategy=cached"),
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
    assert "default_local_dir: ${pacs.run_dir}/checkpoints" in capsys.readouterr().out


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
    assert f"pacs.run_dir={run_dir}: a run is training in this folder" in said


def test_the_recorded_command_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["pacs train", "--config-name", "grpo", "data.train_files=[a b]"])
    write_run_folder(OmegaConf.create({"pacs": {"run_dir": str(tmp_path)}}))
    command = shlex.join(json.loads((tmp_path / "run.json").read_text())["command"])
    assert command == "pacs train --config-name grpo 'data.train_files=[a b]'"


def test_help_names_the_recipes(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["train", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "recipe=" in printed
    assert "arithmetic" in printed
    assert "sweep=" not in printed


@pytest.mark.parametrize(
    ("overrides", "setting", "mend"),
    [
        (["actor_rollout_ref.rollout.n=1"], "actor_rollout_ref.rollout.n=1", "at least 2"),
        (["actor_rollout_ref.rollout.n=2", "pacs.estimator=grpo"], "actor_rollout_ref.rollout.n=2", "at least 3"),
        (["pacs.method=pasc"], "pacs.method=pasc", "did you mean pacs"),
        (["pacs.reference.reset_every=0"], "pacs.reference.reset_every=0", "null for never"),
        (
            ["+reward.custom_reward_function.reward_kwargs.code.timeout=3"],
            "reward.custom_reward_function.reward_kwargs.code",
            "unexpected keyword argument 'timeout'",
        ),
        (["+reward.custom_reward_function.reward_kwargs.maths={}"], "reward_kwargs.maths", "There are math,"),
        (["pacs.estimator=rlo"], "pacs.estimator=rlo", "did you mean rloo"),
        (["pacs.beta=-1"], "pacs.beta=-1", "greater than 0: the paper uses 1.0"),
        (["pacs.beta=strong"], "pacs.beta=strong", "number"),
        (["pacs.estimater=rloo"], "pacs.estimater", "Did you mean pacs.estimator"),
        (
            ["actor_rollout_ref.rolout.n=4"],
            "actor_rollout_ref.rolout",
            "Did you mean actor_rollout_ref.rollout",
        ),
        (["recipe=arithmetics"], "recipe=arithmetics", "Did you mean arithmetic?"),
        (["data.train_files=nowhere.parquet"], "data.train_files=nowhere.parquet", "Prepare the data"),
        (
            ["actor_rollout_ref.model.path=./nowhere"],
            "actor_rollout_ref.model.path=./nowhere",
            "no such folder",
        ),
        (["data.train_batch_size=128"], "data.train_batch_size=128", "lower the batch size"),
        (
            ["trainer.n_gpus_per_node=3"],
            "actor_rollout_ref.actor.ppo_mini_batch_size=32",
            "use a multiple of 3",
        ),
        (
            [
                "actor_rollout_ref.actor.use_dynamic_bsz=false",
                "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=12",
            ],
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=12",
            "must divide the 256 responses",
        ),
        (
            ["actor_rollout_ref.actor.ppo_max_token_len_per_gpu=100"],
            "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=100",
            "raise it to at least 128",
        ),
        (
            ["pacs.update.strategy=grouped", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=1000"],
            "pacs.update.strategy=grouped, but a group has up to 1024 tokens",
            "pacs.update.strategy=auto",
        ),
        (
            [
                "pacs.update.strategy=grouped",
                "actor_rollout_ref.actor.use_dynamic_bsz=false",
                "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4",
            ],
            "ppo_micro_batch_size_per_gpu=4 responses are not a multiple of rollout.n=8",
            "pacs.update.strategy=auto",
        ),
        (
            [
                "pacs.update.strategy=grouped",
                "trainer.n_gpus_per_node=2",
                "actor_rollout_ref.actor.ppo_mini_batch_size=1",
            ],
            "ppo_mini_batch_size=1 prompts cannot be dealt out to 2 data-parallel ranks in whole groups",
            "pacs.update.strategy=auto",
        ),
        (["pacs.update.strategy=cache"], "pacs.update.strategy=cache", "did you mean cached"),
        (["pacs.reference.warmup_steps=20"], "pacs.reference.warmup_steps=20", "fewer warm-up steps"),
        (
            ["pacs.reference.reset_at_saturation=80"],
            "pacs.reference.reset_at_saturation=80",
            "less than or equal to 1: a share of the rows",
        ),
        (
            ["actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=3"],
            "=3 does not divide the 1",
            "n_gpus",
        ),
        (["actor_rollout_ref.ref.fsdp_config.fsdp_size=4"], "actor_rollout_ref.ref.fsdp_config.fsdp_size=4", "leave"),
        (
            ["++actor_rollout_ref.ref.fsdp_config.mixed_precision.param_dtype=bf16"],
            "actor_rollout_ref.ref.fsdp_config.mixed_precision",
            "follows the actor's",
        ),
        (["actor_rollout_ref.ref.strategy=fsdp"], "actor_rollout_ref.ref.strategy=fsdp", "leave it out"),
        (["actor_rollout_ref.ref.log_prob_use_dynamic_bsz=false"], "ref.log_prob_use_dynamic_bsz", "leave it out"),
        (["actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=false"], "rollout.log_prob_use_dynamic_bsz", "leave"),
        (["actor_rollout_ref.actor.optim.clip_grad=null"], "actor_rollout_ref.actor.optim.clip_grad=null", "use inf"),
        (["actor_rollout_ref.actor.ppo_epochs=0"], "actor_rollout_ref.actor.ppo_epochs=0", "at least 1"),
        (["actor_rollout_ref.actor.ppo_mini_batch_size=0"], "ppo_mini_batch_size=0", "at least 1"),
        (["data.gen_batch_size=48"], "data.gen_batch_size=48", "leave it out"),
        (["trainer.critic_warmup=10"], "trainer.critic_warmup=10", "set it to 0"),
        (["critic.enable=true"], "critic.enable=true", "set it to false"),
        (["algorithm.rollout_correction.rollout_is=token"], "algorithm.rollout_correction", "to null"),
        (["+trainer.v1.sync.parameter_sync_step=2"], "trainer.v1.sync.parameter_sync_step", "set it to 1"),
        (["pacs.update=null"], "pacs.update=None", "must be a mapping"),
        (
            ["algorithm.filter_groups.enable=true", "algorithm.filter_groups.metric=null"],
            "algorithm.filter_groups.metric",
            "score",
        ),
        (
            [
                "actor_rollout_ref.actor.use_dynamic_bsz=false",
                "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=512",
                "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=100",
            ],
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=100",
            "must divide the 256 responses",
        ),
        (["actor_rollout_ref.actor.ppo_mini_batch_size=48"], "data.train_batch_size=64", "not a multiple"),
        (["actor_rollout_ref.actor.use_kl_loss=true"], "use_kl_loss", "set both to false"),
        (["actor_rollout_ref.actor.entropy_coeff=0.01"], "actor_rollout_ref.actor.entropy_coeff=0.01", "set it to 0"),
        (["actor_rollout_ref.actor.shuffle=true"], "actor_rollout_ref.actor.shuffle=true", "set it to false"),
        (["actor_rollout_ref.model.lora_rank=8"], "lora_rank", "lora_rank=0"),
        (["actor_rollout_ref.actor.strategy=fsdp"], "actor_rollout_ref.actor.strategy=fsdp", "fsdp2"),
        (["trainer.device=cuda"], "trainer.n_gpus_per_node=1", "hardware=cpu"),
        (["trainer.device=tpu"], "trainer.device=tpu", "use cpu or cuda"),
        (["pacs.run_dir=/proc/nowhere"], "pacs.run_dir=/proc/nowhere", "choose another"),
        (["trainer.v1.trainer_mode=gpro"], "trainer.v1.trainer_mode=gpro", "Did you mean grpo?"),
        (["trainer.v1.trainer_mode=grpo"], "pacs.beta is of the algorithm PACS", "--config-name pacs"),
        (["trainer.n_gpus_per_node=0"], "trainer.n_gpus_per_node=0", "at least 1"),
        (["trainer.nnodes=2"], "trainer.nnodes=2", "ray_kwargs.ray_init.address"),
        (
            ["data.max_response_length=50000", "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=65536"],
            "data.max_response_length=50000 make 50016 tokens",
            "longer context",
        ),
        (["logging=swanlab"], "trainer.logger has swanlab", "pip install swanlab"),
        (
            ["--config-name=ppo", "critic.ppo_infer_max_token_len_per_gpu=64"],
            "critic.ppo_infer_max_token_len_per_gpu=64",
            "raise it to at least 128",
        ),
        (["--config-name=ppo", "critic.ppo_mini_batch_size=0"], "critic.ppo_mini_batch_size=0", "leave it out"),
        (["--config-name=ppo", "critic.strategy=fsdp"], "critic.strategy=fsdp", "fsdp2"),
        (["--config-name=ppo", "critic.optim.clip_grad=null"], "critic.optim.clip_grad=null", "use inf"),
        (["--config-name=ppo", "critic.enable=false"], "algorithm.adv_estimator=gae", "critic.enable=true"),
        (
            [
                "--config-name=ppo",
                "actor_rollout_ref.actor.use_dynamic_bsz=false",
                "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8",
            ],
            "actor_rollout_ref.actor.use_dynamic_bsz=false",
            "set it to true",
        ),
        (["--config-name=grpo", "actor_rollout_ref.rollout.n=1"], "actor_rollout_ref.rollout.n=1", "at least 2"),
        (["actor_rollout_ref.actor.fsdp_config.fsdp_size=0"], "fsdp_size=0", "use -1 for all of them"),
        (["actor_rollout_ref.rollout.max_num_seqs=0"], "rollout.max_num_seqs=0", "at least 1"),
        (["--dry-run", "pacs.run_dir=/proc/nowhere"], "pacs.run_dir=/proc/nowhere", "choose another"),
        (["--dry-run", "data.train_files=nowhere.parquet"], "data.train_files=nowhere.parquet", "Prepare the data"),
        (["ray_kwargs.ray_init.address=127.0.0.1:9"], "ray_kwargs.ray_init.address=127.0.0.1:9", "start Ray"),
        (
            ["--dry-run", "ray_kwargs.ray_init.address=nowhere"],
            "ray_kwargs.ray_init.address=nowhere",
            "give it as HOST:PORT",
        ),
        (["reward.custom_reward_function.path=/no.py"], "reward.custom_reward_function.path=/no.py", "no such file"),
        (["reward.custom_reward_function.path=pkg://no.such"], "path=pkg://no.such", "no such module"),
        (["reward.custom_reward_function.name=compute_scores"], "name=compute_scores", "Did you mean compute_score?"),
        (["--dryrun"], "--dryrun", "Did you mean --dry-run?"),
        (["--shell-completion"], "--shell-completion", "pacs train --help"),
        (["data.seed"], "data.seed", "Write data.seed=VALUE"),
        (["--multirun", "data.seed=0,1"], "--multirun: all of its runs", "pacs sweep NAME key=value,value"),
        (["data.seed=0,1"], "data.seed=0,1", "pacs sweep NAME data.seed=0,1"),
        (["--config-name=gprpo"], "--config-name gprpo: there are ", "Did you mean grpo?"),
        (["--config-name=grpo", "pacs.beta=2"], "pacs.beta", "no key"),
        (["--config-name=grpo", "+pacs.beta=2"], "pacs.beta is of the algorithm PACS", "leave it out"),
        (["--config-name=rloo", "data.train_batch_size=48"], "data.train_batch_size=48", "not a multiple"),
        (
            ["--config-name=dr_grpo", "actor_rollout_ref.actor.loss_scale_factor=null"],
            "actor_rollout_ref.actor.loss_scale_factor=null",
            "set a constant",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_input_names_the_setting_and_the_mend(
    inputs: list[str], overrides: list[str], setting: str, mend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    complaint = refused([*inputs, *overrides], capsys)
    assert setting in complaint
    assert mend in complaint


def test_a_secret_is_not_repeated_in_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    assert "hush-9" not in refused(["recipe=arithmetic", "trainer.wandb_api_key=hush-9,hush-9"], capsys)


def test_a_disk_that_fails_a_run_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 2 would say that nothing was begun."""

    def full(arguments: list[str]) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pacs.commands.train.main", full)
    with pytest.raises(OSError, match="No space left"):
        cli.main(["train"])
