"""What a run reads is the same when it goes on, whatever the settings say: else the file is named."""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from pacs.base.files import file_sha256
from pacs.base.paths import config_dir
from pacs.base.run_folder import RunFolder
from pacs.checkpoints import folder as checkpoints
from pacs.checkpoints.integrity import SMALL_BYTES
from pacs.integration.checks.run import ConfigError
from pacs.integration.launch import launcher
from pacs.integration.launch.input_hashes import read_inputs, write_inputs


@pytest.fixture(scope="module")
def composed() -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic"])


@pytest.fixture
def config(composed: DictConfig, tmp_path: Path) -> DictConfig:
    """Of a run with a file, a list and a folder of data, a model's folder and a reward function of its own."""
    config = copy.deepcopy(composed)
    for name in ("one.parquet", "two.parquet", "test.parquet", "parts/0.parquet", "parts/more/1.parquet", "reward.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "model").mkdir()
    (tmp_path / "model/tokenizer.json").write_text("{}")
    (tmp_path / "model/model.safetensors").write_bytes(bytes(SMALL_BYTES + 99))
    config.run.dir = str(tmp_path / "run")
    config.data.train_files = [str(tmp_path / name) for name in ("one.parquet", "two.parquet", "parts")]
    config.data.val_files = str(tmp_path / "test.parquet")
    config.actor_rollout_ref.model.path = str(tmp_path / "model")
    config.reward.custom_reward_function.path = str(tmp_path / "reward.py")
    folder = checkpoints.step_folder(tmp_path / "run/checkpoints", 3)
    folder.mkdir(parents=True)
    OmegaConf.save(config, folder / checkpoints.CONFIG, resolve=True)
    write_inputs(config, folder)
    checkpoints.seal(folder, step=3, ranks=1)
    return config


def rewrite(file: Path, at: int = 0) -> None:
    """One byte of it, with the same size."""
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def test_the_same_files_are_gone_on_with(config: DictConfig, tmp_path: Path) -> None:
    inputs = read_inputs(config)
    assert [path for path, _ in inputs["data.train_files"]] == list(config.data.train_files)
    one = tmp_path / "one.parquet"
    assert dict(inputs["data.train_files"])[str(one)] == {"": file_sha256(one)}
    assert set(dict(inputs["data.train_files"])[str(tmp_path / "parts")]) == {"0.parquet", "more/1.parquet"}
    launcher.check_folder(config)
    shutil.copy2(tmp_path / "one.parquet", tmp_path / "copy.parquet")
    (tmp_path / "copy.parquet").rename(tmp_path / "one.parquet")
    launcher.check_folder(config)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("data.train_files", "one.parquet"),
        ("data.train_files", "two.parquet"),
        ("data.train_files", "parts/more/1.parquet"),
        ("data.val_files", "test.parquet"),
        ("reward.custom_reward_function.path", "reward.py"),
        ("actor_rollout_ref.model.path", "model/tokenizer.json"),
    ],
)
def test_a_file_rewritten_at_the_same_path_is_refused_by_name_unless_accepted(
    config: DictConfig, tmp_path: Path, key: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite(tmp_path / name)
    for start in (launcher.check_folder, launcher.train):
        with pytest.raises(ConfigError) as refused:
            start(config)
        assert f"{key}: {tmp_path / name} holds something else (sha256 " in str(refused.value)
        assert "run.resume.accept_changes=true" in str(refused.value)
    config.run.resume.accept_changes = True
    launcher.check_folder(config)
    assert f"changed, as accepted: {key}: {tmp_path / name} holds something else" in capsys.readouterr().out


def test_of_a_models_weights_the_size_and_the_end_are_looked_at(config: DictConfig, tmp_path: Path) -> None:
    rewrite(tmp_path / "model/model.safetensors", at=-1)
    with pytest.raises(ConfigError, match=r"model\.safetensors holds something else"):
        launcher.check_folder(config)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "parts/2.parquet").touch(), "2.parquet was not there"),
        (lambda folder: (folder / "parts/0.parquet").unlink(), "0.parquet is gone"),
        (lambda folder: (folder / "model/chat_template.jinja").touch(), "chat_template.jinja was not there"),
        (lambda folder: (folder / "model/README.md").touch(), None),
        (lambda folder: (folder / "model/.cache").mkdir(), None),
    ],
)
def test_files_that_come_and_go_in_a_folder(
    config: DictConfig, tmp_path: Path, change: Callable[[Path], None], said: str | None
) -> None:
    change(tmp_path)
    if said is None:
        launcher.check_folder(config)
    else:
        with pytest.raises(ConfigError, match=said):
            launcher.check_folder(config)


def test_a_link_that_leads_elsewhere_by_now(config: DictConfig, tmp_path: Path) -> None:
    (tmp_path / "one.parquet").rename(tmp_path / "old.parquet")
    (tmp_path / "new.parquet").write_text("other content")
    (tmp_path / "one.parquet").symlink_to(tmp_path / "old.parquet")
    launcher.check_folder(config)
    (tmp_path / "one.parquet").unlink()
    (tmp_path / "one.parquet").symlink_to(tmp_path / "new.parquet")
    with pytest.raises(ConfigError, match=r"one\.parquet holds something else"):
        launcher.check_folder(config)


def test_other_validation_files_are_a_setting_that_does_not_count(config: DictConfig, tmp_path: Path) -> None:
    config.data.val_files = str(tmp_path / "two.parquet")
    launcher.check_folder(config)


@pytest.mark.parametrize("content", ["[]", "{", '{"data.train_files": 3}', '{"data.train_files": [["a", 3]]}'])
def test_a_note_that_is_none_is_refused(config: DictConfig, tmp_path: Path, content: str) -> None:
    folder = checkpoints.step_folder(tmp_path / "run/checkpoints", 3)
    if "[[" in content:
        content = json.dumps({"data.train_files": [[str(tmp_path / "one.parquet"), 3]]})
    (folder / RunFolder.INPUTS).write_text(content)
    checkpoints.seal(folder, step=3, ranks=1)
    with pytest.raises(ConfigError, match="what its run had read cannot be compared"):
        launcher.check_folder(config)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda run: (run / "metrics.jsonl").mkdir(), "metrics.jsonl is no file"),
        (lambda run: (run / "state.json").mkdir(), "state.json is no file"),
        (lambda run: (run / "run.json").symlink_to("nowhere"), "run.json is no file"),
        (lambda run: (run / "samples").touch(), "samples is no folder"),
        (lambda run: (run / "tensorboard").touch(), "tensorboard is no folder"),
    ],
)
def test_what_is_in_the_way_in_the_runs_folder_is_named(
    config: DictConfig, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(tmp_path / "run")
    for start in (launcher.check_folder, launcher.train):
        with pytest.raises(ConfigError, match=said):
            start(config)


def test_damaged_lines_of_the_metrics_are_named(
    config: DictConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = tmp_path / "run/metrics.jsonl"
    metrics.write_bytes(b'{"step": 1}\n\xff{"step": 2}\n{"step": 3}\n{"st')
    launcher.check_folder(config)
    printed = capsys.readouterr().out
    assert f"{metrics}:2 is damaged" in printed
    assert f"{metrics}:4" not in printed


def test_a_damaged_config_of_a_run_without_checkpoints_is_refused(config: DictConfig, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "run/checkpoints")
    (tmp_path / "run/metrics.jsonl").write_text('{"step": 3}\n')
    (tmp_path / "run/config.yaml").write_bytes(bytes(99))
    with pytest.raises(ConfigError, match=r"config\.yaml is not the config\.yaml of a run.*\n.*resume_mode=disable"):
        launcher.check_folder(config)


def test_so_are_a_teachers(config: DictConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named from here, and by processes elsewhere absolutely."""
    teacher = shutil.copytree(tmp_path / "model", tmp_path / "teacher")
    monkeypatch.chdir(tmp_path)
    OmegaConf.update(config, "method.teacher", "teacher", force_add=True)
    before = read_inputs(config)["method.teacher"]
    rewrite(teacher / "model.safetensors", SMALL_BYTES + 98)
    assert read_inputs(config)["method.teacher"] != before
    launcher._name_inputs_absolutely(config)
    assert config.method.teacher == str(teacher)
    OmegaConf.update(config, "method.teacher", "Qwen/Qwen3-8B")
    launcher._name_inputs_absolutely(config)
    assert config.method.teacher == "Qwen/Qwen3-8B"
