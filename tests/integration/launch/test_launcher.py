"""What a launcher settles before a run, and of a run that has come to its end."""

import copy
from dataclasses import replace
from importlib import resources
from pathlib import Path
from pkgutil import resolve_name

import pytest
from omegaconf import DictConfig, OmegaConf
from ray._private import services
from transfer_queue.storage.simple_storage import StorageUnitData

from pacs.checkpoints.folder import METRICS, Checkpoint
from pacs.composing import compose_run
from pacs.integration.launch import launcher
from pacs.integration.launch.task_runner import PacsTaskRunner
from pacs.integration.patches.dars_rollouts import DarsRollouts
from pacs.integration.patches.seeded_rollouts import Seeds
from pacs.integration.provenance import write_run_folder
from pacs.runs.read import read_lines
from pacs.runs.state import read_progress, read_state, write_state
from tests.runs.states import state_in


def test_in_a_ray_cluster_what_is_here_has_its_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's workers are in the folder where Ray was started."""
    monkeypatch.chdir(tmp_path)
    reward = "reward.custom_reward_function.path=here.py"
    config, _ = compose_run("ppo", ["recipe=arithmetic", "data.train_files=[here.parquet,gone.parquet]", reward])
    for name in ("here.parquet", "here.py", "pacs"):
        Path(name).touch()
    Path("outputs/arithmetic/model").mkdir(parents=True)
    launcher._name_inputs_absolutely(config)
    assert config.data.train_files == [str(tmp_path / "here.parquet"), "gone.parquet"]
    assert config.reward.custom_reward_function.path == str(tmp_path / "here.py")
    assert config.trainer.project_name == "pacs"  # no setting that names a file
    assert config.actor_rollout_ref.model.path == config.critic.model.path == str(tmp_path / "outputs/arithmetic/model")
    for no_path in ("Qwen/Qwen3-8B", "~nobody-of-this-name/model", "a" * 300):
        OmegaConf.update(config, "actor_rollout_ref.model.path", no_path)
        launcher._name_inputs_absolutely(config)
        assert config.actor_rollout_ref.model.path == no_path


@pytest.mark.parametrize("hardware", ["cpu", "h200x8"])
def test_verl_s_queue_takes_every_row_of_a_validation(hardware: str) -> None:
    """2,000 problems with 64 responses each; a part of the queue has its share of them."""
    config, _ = compose_run("pacs", ["recipe=arithmetic", f"hardware={hardware}"])
    theirs = OmegaConf.load(str(resources.files("transfer_queue") / "config.yaml"))
    storage = OmegaConf.merge(theirs, config.transfer_queue).backend.SimpleStorage
    share = storage.total_storage_size and storage.total_storage_size // storage.num_data_storage_units
    rows = 2000 * 64 // storage.num_data_storage_units
    StorageUnitData(share).put_data({"reward": [0.0] * rows}, list(range(rows)))


@pytest.mark.parametrize(("variable", "address"), [("", None), ("10.0.0.1:6379", "10.0.0.1:6379")])
def test_an_empty_ray_address_is_none_as_for_ray(
    variable: str, address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", variable)
    config, _ = compose_run("pacs", ["recipe=arithmetic"])
    launcher.make_paths_absolute(config)
    assert config.ray_kwargs.ray_init.address == address == services.canonicalize_bootstrap_address(None)


def test_a_run_that_was_cut_off_after_its_last_save_counts_as_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "checkpoints/global_step_20"
    folder.mkdir(parents=True)
    (folder / METRICS).write_text('{"pacs/loss_mean": 0.5}')
    (tmp_path / "metrics.jsonl").write_text('{"step": 19, "pacs/loss_mean": 0.75}\n')
    checkpoint = Checkpoint(folder, step=20, ranks=1, reference=None, size_bytes=1)
    launcher._count_as_finished(tmp_path, checkpoint)
    assert read_state(tmp_path) is None
    failed = state_in(tmp_path, "failed", pid=1, cause="vLLM engine 0 died", exit_status=1)
    write_state(tmp_path, failed)
    launcher._count_as_finished(tmp_path, checkpoint)
    state, progress = read_state(tmp_path), read_progress(tmp_path)
    assert state == replace(failed, state="finished", cause=None, exit_status=0, ended=state and state.ended)
    assert progress is not None
    assert (progress.step, progress.total_steps) == (20, 20)
    lines = read_lines(tmp_path / "metrics.jsonl")
    assert [(line.step, line.values) for line in lines] == [
        (19, {"pacs/loss_mean": 0.75}), (20, {"pacs/loss_mean": 0.5}),
    ]  # fmt: skip
    assert "saved step 20, whose validation may be missing" in capsys.readouterr().out


def test_the_trainer_is_given_what_config_yaml_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the driver changes for Ray does not reach it; the reward manager tells the verifier where answers begin."""
    given: list[DictConfig] = []
    monkeypatch.setattr(PacsTaskRunner.__mro__[1], "run", lambda self, config: given.append(config))
    monkeypatch.setattr("pacs.integration.launch.task_runner.make_temporary_folders", lambda: None)
    config, _ = compose_run("pacs", ["recipe=arithmetic", f"run.dir={tmp_path}", "run.rollouts.seeded=true"])
    write_run_folder(config)
    written = OmegaConf.load(tmp_path / "config.yaml")
    changed = copy.deepcopy(config)
    OmegaConf.update(changed, "ray_kwargs.ray_init.address", "local", force_add=True)
    object.__new__(PacsTaskRunner).run(changed)
    (trainers,) = given
    assert trainers.reward.reward_manager.module.path == "pkg://pacs.integration.reward_manager"
    trainers.reward.reward_manager = written.reward.reward_manager
    assert trainers == written
    manager = written.actor_rollout_ref.rollout.agent.agent_loop_manager_class
    assert resolve_name(manager).__name__ == "Manager"


@pytest.mark.parametrize("seeded", ["true", "false"])
def test_a_second_stage_of_rollouts_has_workers_that_draw_it(seeded: str, tmp_path: Path) -> None:
    dars = ["run.rollouts.dars.schedule=equal", f"run.rollouts.seeded={seeded}"]
    config, _ = compose_run("pacs", ["recipe=arithmetic", f"run.dir={tmp_path}", *dars])
    manager = resolve_name(config.actor_rollout_ref.rollout.agent.agent_loop_manager_class)
    workers = manager(config, llm_client=None).agent_loop_workers_class.__ray_metadata__.modified_class
    assert issubclass(workers, Seeds) == (seeded == "true")
    assert issubclass(workers, DarsRollouts)
