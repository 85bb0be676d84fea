"""Which checkpoint a start goes on from, and what it refuses before Ray starts."""

import fcntl
import os
import re
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from pacs.base.locks import LOCK
from pacs.base.paths import config_dir
from pacs.base.run_folder import RunFolder
from pacs.checkpoints import folder as checkpoints
from pacs.integration.checks.run import ConfigError
from pacs.integration.launch import folder_lock, launcher
from pacs.integration.launch.resume import choose_checkpoint
from pacs.runs.state import Ending, write_state
from tests.runs.states import state_in


def composed(run_dir: Path, *overrides: str) -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic", f"run.dir={run_dir}", *overrides])


def saved(run_dir: Path, step: int, *overrides: str, ranks: int = 1, sections: bool = True) -> Path:
    """A complete checkpoint, as far as choosing it goes."""
    folder = checkpoints.step_folder(run_dir / "checkpoints", step)
    folder.mkdir(parents=True)
    OmegaConf.save(composed(run_dir, *overrides), folder / checkpoints.CONFIG, resolve=True)
    if not sections:
        as_before_the_sections(folder / checkpoints.CONFIG)
    (folder / RunFolder.INPUTS).write_text("{}")
    checkpoints.seal(folder, step=step, ranks=ranks)
    return folder


def as_before_the_sections(file: Path) -> None:
    """The same config as the version before wrote it: method and run are one section, `pacs`."""
    config = OmegaConf.to_container(OmegaConf.load(file))
    assert isinstance(config, dict)
    run, method = config.pop("run"), config.pop("method")
    for later in ("critic", "reward", "rlpr", "turns", "balance_rewards"):
        del run[later]
    for later in ("pool", "vine", "guided"):
        del run["rollouts"][later]
    for later in ("token_weight", "metrics"):
        del method[later]
    config["pacs"] = {"method": method.pop("name"), "run_dir": run.pop("dir")} | method | run
    OmegaConf.save(config, file)


def test_a_checkpoint_of_the_version_before_is_gone_on_with(tmp_path: Path) -> None:
    """Its keys have other names; a setting that has changed is said by today's."""
    saved(tmp_path, 8, "run.faults.skipped_updates=5", sections=False)
    chosen = choose_checkpoint(composed(tmp_path))
    assert chosen is not None
    assert chosen.step == 8
    assert "method.beta: 1.0 in the checkpoint, 2.0 now" in refusal(composed(tmp_path, "method.beta=2.0"))


def refusal(config: DictConfig) -> str:
    with pytest.raises(ConfigError) as refused:
        choose_checkpoint(config)
    return str(refused.value)


def test_a_new_run_has_none(tmp_path: Path) -> None:
    config = composed(tmp_path)
    assert choose_checkpoint(config) is None
    assert config.trainer.resume_mode == "disable"


def test_the_newest_complete_one_is_taken_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (8, 9, 10):
        folder = saved(tmp_path, step)
    (folder / checkpoints.MARKER).unlink()
    config = composed(tmp_path)
    chosen = choose_checkpoint(config)
    assert chosen is not None
    assert chosen.step == 9
    assert config.trainer.resume_mode == "resume_path"
    assert config.trainer.resume_from_path == str(tmp_path / "checkpoints/global_step_9")
    printed = capsys.readouterr().out
    assert f"passed over: {folder}: no complete.json" in printed
    assert "going on from step 9" in printed


def test_what_is_left_of_a_run_is_not_started_over(tmp_path: Path) -> None:
    folder = saved(tmp_path, 3)
    assert "has checkpoints of a former run: choose another run.dir" in refusal(
        composed(tmp_path, "trainer.resume_mode=disable")
    )
    (folder / checkpoints.MARKER).unlink()
    assert "None of the checkpoints" in refusal(composed(tmp_path))
    assert "choose another run.dir" in refusal(composed(tmp_path, "trainer.resume_mode=disable"))


def test_another_algorithm_is_refused_by_its_keys_unless_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path, 3)
    changed = ("method.beta=2.0", "data.train_batch_size=32", "trainer.save_freq=7")
    complaint = refusal(composed(tmp_path, *changed))
    assert "method.beta: 1.0 in the checkpoint, 2.0 now" in complaint
    assert "data.train_batch_size: 64 in the checkpoint, 32 now" in complaint
    assert "save_freq" not in complaint
    assert "run.resume.accept_changes=true" in complaint
    assert choose_checkpoint(composed(tmp_path, *changed, "run.resume.accept_changes=true")) is not None
    assert "changed, as accepted: method.beta: 1.0 in the checkpoint, 2.0 now" in capsys.readouterr().out
    assert choose_checkpoint(composed(tmp_path, "trainer.total_training_steps=99")) is not None


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        ((), ("lora_rank=8",), "actor_rollout_ref.model.lora_rank: 0 in "),
        (("lora_rank=8",), (), "actor_rollout_ref.model.lora_rank: 8 in "),
        (("lora_rank=8",), ("lora_rank=8", "lora_alpha=32"), "actor_rollout_ref.model.lora_alpha: 16 in "),
        (("lora_rank=8",), ("lora_rank=8", "target_modules=[q_proj]"), "target_modules: all-linear in "),
    ],
)
def test_other_adapters_are_refused_also_where_changes_are_accepted(
    tmp_path: Path, then: tuple[str, ...], now: tuple[str, ...], said: str
) -> None:
    before, here = ([f"actor_rollout_ref.model.{each}" for each in side] for side in (then, now))
    saved(tmp_path, 3, *before)
    complaint = refusal(composed(tmp_path, *here, "run.resume.accept_changes=true"))
    assert said in complaint
    assert "set it back, or begin a new run from those weights (`pacs export " in complaint
    assert choose_checkpoint(composed(tmp_path, *before)) is not None


def test_another_number_of_dataloader_workers_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, 3)
    complaint = refusal(composed(tmp_path, "data.dataloader_num_workers=2", "run.resume.accept_changes=true"))
    assert "data.dataloader_num_workers: 0 in " in complaint


def test_a_queue_in_another_number_of_parts_is_refused(tmp_path: Path) -> None:
    """Of partial rollouts alone, whose queue is in the checkpoint."""
    partial, parts = "run.rollouts.partial.ahead=0.5", "transfer_queue.backend.SimpleStorage.num_data_storage_units=3"
    (saved(tmp_path / "partial", 3, partial) / "transfer_queue").mkdir()
    assert f"{parts.partition('=')[0]}: 1 in " in refusal(composed(tmp_path / "partial", partial, parts))
    assert choose_checkpoint(composed(tmp_path / "partial", partial)) is not None
    saved(tmp_path / "waiting", 3)
    assert choose_checkpoint(composed(tmp_path / "waiting", parts)) is not None


def test_verls_loader_does_not_go_on_from_a_pool_and_a_pool_does_from_verls(tmp_path: Path) -> None:
    pool, accepted = "run.rollouts.pool.weights=sqrt", "run.resume.accept_changes=true"
    saved(tmp_path / "pool", 3, pool)
    complaint = refusal(composed(tmp_path / "pool", accepted))
    assert "run.rollouts.pool.weights: sqrt in " in complaint
    assert "set it back, or begin a new run from those weights (`pacs export " in complaint
    assert choose_checkpoint(composed(tmp_path / "pool", pool)) is not None
    assert "run.rollouts.pool.low: 0.0 in the checkpoint, 0.1 now" in refusal(
        composed(tmp_path / "pool", pool, "run.rollouts.pool.low=0.1")
    )
    saved(tmp_path / "none", 3)
    assert "run.rollouts.pool.weights" in refusal(composed(tmp_path / "none", pool))
    assert choose_checkpoint(composed(tmp_path / "none", pool, accepted)) is not None


def test_a_generative_critic_does_not_go_on_from_a_run_without(tmp_path: Path) -> None:
    saved(tmp_path, 3)
    with initialize_config_dir(str(config_dir()), version_base=None):
        given = ["recipe=arithmetic", f"run.dir={tmp_path}", "run.resume.accept_changes=true"]
        config = compose("genac", overrides=given)
    assert "has no critic that writes text (genac)" in refusal(config)
    folder = tmp_path / "checkpoints/global_step_3"
    OmegaConf.save(config, folder / checkpoints.CONFIG, resolve=True)
    checkpoints.seal(folder, step=3, ranks=1)
    assert choose_checkpoint(config) is not None
    assert "genac.template: instructions_first in the checkpoint, not set now" in refusal(composed(tmp_path))


def test_another_number_of_ranks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, 3)
    choose_checkpoint(composed(tmp_path))
    assert "dealt out" not in capsys.readouterr().out
    saved(tmp_path, 4, ranks=8)
    assert choose_checkpoint(composed(tmp_path)) is not None
    said = "pacs: the checkpoint was written on 8 ranks; this run has 1: its shards are dealt out anew"
    assert said in capsys.readouterr().out.splitlines()


def test_a_run_branches_off_another_until_it_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    source, branch = saved(tmp_path / "source", 4), tmp_path / "branch"
    asked = ("trainer.resume_mode=resume_path", f"trainer.resume_from_path={source}")
    chosen = choose_checkpoint(composed(branch, *asked))
    assert chosen is not None
    assert chosen.folder == source
    own = saved(branch, 6)
    chosen = choose_checkpoint(composed(branch, *asked))
    assert chosen is not None
    assert chosen.folder == own

    older = saved(branch, 5)
    again = composed(branch, "trainer.resume_mode=resume_path", f"trainer.resume_from_path={older}")
    assert f"the run has gone on to {own}: remove what is newer" in refusal(again)

    (source / checkpoints.MARKER).unlink()
    assert f"trainer.resume_from_path: {source}: no complete.json" in refusal(composed(tmp_path / "new", *asked))
    assert "trainer.resume_from_path=None" in refusal(composed(tmp_path / "new", "trainer.resume_mode=resume_path"))


def test_a_finished_run_is_not_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved(tmp_path, 20)
    assert launcher.train(composed(tmp_path)) == 0
    printed = capsys.readouterr().out
    assert "nothing to train: the run has reached step 20, and trainer.total_training_steps=20: raise it" in printed
    assert not (tmp_path / "state.json").exists()


def test_a_start_removes_what_a_save_that_was_cut_off_has_left(tmp_path: Path) -> None:
    saved(tmp_path, 20)
    left = tmp_path / "checkpoints" / checkpoints.SAVING / "global_step_20"
    left.mkdir(parents=True)
    launcher.check_folder(composed(tmp_path))
    assert left.exists()
    assert launcher.train(composed(tmp_path)) == 0
    assert not left.parent.exists()


def test_a_folder_in_which_a_run_trains_is_refused(tmp_path: Path) -> None:
    with (tmp_path / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for start in (launcher.train, launcher.check_folder):
            with pytest.raises(ConfigError, match="a run is training in this folder"):
                start(composed(tmp_path))


def test_who_has_the_folder_is_named_while_it_is_still_checking(tmp_path: Path) -> None:
    """Its state.json is not there yet; the one that is, names a process that has ended."""
    write_state(tmp_path, state_in(tmp_path, "failed", pid=1))
    with folder_lock.held(tmp_path), pytest.raises(ConfigError, match=rf"folder \(process {os.getpid()} on .*, since "):
        launcher.check_folder(composed(tmp_path))


def test_looking_at_a_folder_leaves_it_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launcher.check_folder(composed(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    (tmp_path / LOCK).touch()
    saved(tmp_path, 3)
    launcher.check_folder(composed(tmp_path))
    assert "going on from step 3" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"method\.beta: 1\.0 in the checkpoint, 2\.0 now"):
        launcher.check_folder(composed(tmp_path, "method.beta=2.0"))


@pytest.mark.parametrize(
    ("state", "override", "which"),
    [
        ("failed", "method.beta=1.0", None),
        ("failed", "method.beta=2.0", "another run (with another method.beta)"),
        ("finished", "method.beta=1.0", "a finished run"),
    ],
)
def test_a_run_without_checkpoints_is_not_written_over(
    tmp_path: Path, state: Ending, override: str, which: str | None
) -> None:
    """Only one that has trained, and is not this one's own failed start."""
    OmegaConf.save(composed(tmp_path), tmp_path / "config.yaml", resolve=True)
    write_state(tmp_path, state_in(tmp_path, state))
    metrics = tmp_path / "metrics.jsonl"
    metrics.write_text('{"step": 0, "val-core/a/reward/mean@1": 0.5}\n')
    launcher.check_folder(composed(tmp_path, override))
    metrics.write_text('{"step": 7}\n')
    launcher.check_folder(composed(tmp_path, override, "trainer.resume_mode=disable"))
    if which is None:
        launcher.check_folder(composed(tmp_path, override))
        return
    for start in (launcher.train, launcher.check_folder):
        with pytest.raises(ConfigError, match=rf"{re.escape(which)} of 7 steps, without a checkpoint"):
            start(composed(tmp_path, override))


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["run.faults.skipped_updates=0"], "run.faults.skipped_updates=0 must be greater than or equal to 1"),
        (["run.faults.verifier_errors=2"], "run.faults.verifier_errors=2 must be less than or equal to 1: a share"),
        (
            ["run.faults.no_progress_seconds=-1"],
            "run.faults.no_progress_seconds=-1 must be greater than 0: a number of seconds",
        ),
        (["run.resume.accept_changes=maybe"], "run.resume.accept_changes='maybe' must be true or false"),
        (["run.rollouts.seeded=2"], "run.rollouts.seeded=2 must be true or false"),
        (["trainer.resume_mode=always"], "trainer.resume_mode=always: use auto, resume_path or disable"),
        (["trainer.max_critic_ckpt_to_keep=9"], "set trainer.max_actor_ckpt_to_keep alone"),
        (["+trainer.remove_previous_ckpt_in_save=true"], "set trainer.max_actor_ckpt_to_keep alone"),
        (["actor_rollout_ref.actor.checkpoint.save_contents=[model]"], "save_contents lacks ['extra', 'optimizer']"),
        (["actor_rollout_ref.actor.checkpoint.load_contents=[model]"], "load_contents lacks ['extra', 'optimizer']"),
        (["trainer.max_actor_ckpt_to_keep=0"], "trainer.max_actor_ckpt_to_keep=0: use a number of at least 1"),
        (["trainer.max_actor_ckpt_to_keep=-1"], "trainer.max_actor_ckpt_to_keep=-1: use a number of at least 1"),
        (
            ["trainer.del_local_ckpt_after_load=true"],
            "trainer.del_local_ckpt_after_load=true: it deletes what the run goes on from",
        ),
        (["trainer.default_local_dir=elsewhere"], "leave it out; a run's checkpoints are in its folder"),
        (
            ["actor_rollout_ref.actor.checkpoint.async_save=true"],
            "async_save=true: a save is to have ended when it says so",
        ),
        (
            [
                "run.rollouts.seeded=true",
                "+actor_rollout_ref.rollout.agent.agent_loop_manager_class=my.Manager",
            ],
            "leave out actor_rollout_ref.rollout.agent.agent_loop_manager_class=my.Manager",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_wrong_settings_are_refused(tmp_path: Path, overrides: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        launcher.prepare(composed(tmp_path, *overrides))
    assert said in str(refused.value)
