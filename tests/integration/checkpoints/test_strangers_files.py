"""A checkpoint (or evidence) of a stranger, with a pickle that would touch a file: it is refused by name, not run."""

import copy
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from pacs import cli
from pacs.base.paths import config_dir
from pacs.base.run_folder import RunFolder
from pacs.checkpoints import folder as checkpoints
from pacs.checkpoints.torch_file import FORCE, UnsafeFile, only_safe_loads, read_torch_file
from pacs.integration.checkpoints.saving import Saving, random_states, restore_random_states
from pacs.integration.checkpoints.shards import load_checkpoint
from pacs.integration.checks.run import ConfigError
from pacs.integration.launch import launcher
from pacs.integration.trainer.method_trainer import MethodTrainer

KINDS = ("model", "optim", "extra_state")
FILES = [f"actor/{kind}_world_size_1_rank_0.pt" for kind in KINDS] + ["data.pt", "trainer.pt", "reference"]
REFERENCE = "references/step_0-aa/reference_world_size_1_rank_0.pt"


class Touch:
    """Unpickled, it makes a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.file}",)


def poison(file: Path, evil: Path, archive: bool = True) -> None:
    torch.save({"weight": torch.ones(3), "more": Touch(evil)}, file, _use_new_zipfile_serialization=archive)


def touched(file: Path) -> bool:
    """That the pickle is one that works, once nobody else has run it."""
    assert not list(file.parent.glob("evil*"))
    return True


@pytest.fixture(scope="module")
def composed() -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic"])


@pytest.fixture
def config(composed: DictConfig, tmp_path: Path) -> DictConfig:
    config = copy.deepcopy(composed)
    config.run.dir = str(tmp_path / "run")
    return config


@pytest.fixture
def checkpoint(config: DictConfig, tmp_path: Path) -> Path:
    """With all the files that a checkpoint has, as the code that writes them does."""
    folder = checkpoints.step_folder(tmp_path / "run/checkpoints", 4)
    (folder / "actor" / "huggingface").mkdir(parents=True)
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
    states = random_states()
    # As verl's BaseCheckpointManager.get_rng_state and save_checkpoint have them.
    extra = {
        "lr_scheduler": schedule.state_dict(),
        "rng": {"cpu": states["torch"], "numpy": states["numpy"], "random": states["python"]},
    }
    for kind, state in zip(KINDS, (model.state_dict(), optimizer.state_dict(), extra), strict=True):
        torch.save(state, folder / f"actor/{kind}_world_size_1_rank_0.pt")
    torch.save({"_num_yielded": 4, "_sampler_iter_state": {"generator": torch.get_rng_state()}}, folder / "data.pt")
    torch.save(random_states(), folder / "trainer.pt")
    OmegaConf.save(config, folder / "config.yaml", resolve=True)
    for name in (RunFolder.INPUTS, checkpoints.METRICS):
        (folder / name).write_text("{}")
    reference = folder.parent / REFERENCE
    reference.parent.mkdir(parents=True)
    torch.save(model.state_dict(), reference)
    checkpoints.seal(reference.parent, step=0, ranks=1)
    checkpoints.seal(folder, step=4, ranks=1, reference="step_0-aa")
    return folder


def seal_anew(folder: Path) -> None:
    """As a stranger can."""
    checkpoints.seal((folder.parent / REFERENCE).parent, step=0, ranks=1)
    checkpoints.seal(folder, step=4, ranks=1, reference="step_0-aa")


def test_what_a_run_writes_is_read(checkpoint: Path, config: DictConfig, capsys: pytest.CaptureFixture[str]) -> None:
    launcher.check_folder(config)
    assert "going on from step 4" in capsys.readouterr().out
    for file in checkpoint.rglob("*.pt"):
        assert read_torch_file(file).keys() == torch.load(file, weights_only=False).keys()


def test_random_numbers_go_on(tmp_path: Path) -> None:
    torch.save(random_states(), tmp_path / "a.pt")
    drawn = [np.random.rand(), torch.rand(1).item()]
    restore_random_states(read_torch_file(tmp_path / "a.pt"))
    assert [np.random.rand(), torch.rand(1).item()] == drawn


@pytest.mark.parametrize("archive", [True, False], ids=["archive", "legacy"])
@pytest.mark.parametrize("name", FILES)
def test_a_start_refuses_it_before_anything_is_started(
    checkpoint: Path, config: DictConfig, tmp_path: Path, name: str, archive: bool
) -> None:
    file = checkpoint.parent / REFERENCE if name == "reference" else checkpoint / name
    poison(file, tmp_path / "evil", archive)
    seal_anew(checkpoint)
    for start in (launcher.check_folder, launcher.train):
        with pytest.raises(ConfigError) as refused:
            start(config)
        assert f"{file} is refused" in str(refused.value)
        if archive:
            assert "would run code (it names posix.system)" in str(refused.value)
    assert touched(tmp_path / "evil")


def test_verls_own_loads_run_nothing(checkpoint: Path, tmp_path: Path) -> None:
    poison(checkpoint / "data.pt", tmp_path / "evil")
    with only_safe_loads(), pytest.raises(Exception, match=r"GLOBAL posix\.system"):
        torch.load(checkpoint / "data.pt", weights_only=False)
    assert FORCE not in os.environ
    assert touched(tmp_path / "evil")
    torch.load(checkpoint / "data.pt", weights_only=False)
    assert (tmp_path / "evil").exists(), "the pickle is one that works"


@pytest.mark.parametrize("name", ["data.pt", "trainer.pt"])
def test_the_trainer_runs_nothing(
    checkpoint: Path, config: DictConfig, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It loads what the launcher has looked at; a file that was changed since is not run either."""
    poison(checkpoint / name, tmp_path / "evil")
    seal_anew(checkpoint)
    config.trainer.update({"resume_mode": "resume_path", "resume_from_path": str(checkpoint)})
    trainer = object.__new__(MethodTrainer)
    config.trainer.default_local_dir = str(checkpoint.parent)
    trainer.config, trainer.use_critic = config, False
    trainer.saving, trainer.std_filter = Saving(trainer), SimpleNamespace(load=lambda folder: None)
    trainer.actor_rollout_wg = SimpleNamespace(load_checkpoint=lambda **given: None, world_size=1)
    trainer.train_dataloader = SimpleNamespace(load_state_dict=lambda state: None)
    monkeypatch.setattr(MethodTrainer, "load_algorithm_state", lambda self, checkpoint: None)
    with pytest.raises(Exception, match=r"posix\.system"):
        MethodTrainer._load_checkpoint(trainer)
    assert touched(tmp_path / "evil")


def test_dealing_out_anew_runs_nothing(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager: Any = SimpleNamespace(should_load_model=False, should_load_optimizer=False, should_load_extra=True)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 0)
    poison(checkpoint / "actor/extra_state_world_size_1_rank_0.pt", tmp_path / "evil")
    with pytest.raises(UnsafeFile, match=r"extra_state_world_size_1_rank_0\.pt is refused.* posix\.system"):
        load_checkpoint(manager, checkpoint / "actor")
    assert touched(tmp_path / "evil")


def test_inspect_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "step_3.pt"
    poison(file, tmp_path / "evil")
    assert cli.main(["inspect", str(file)]) == 2
    assert f"{file} is refused: to read it would run code (it names posix.system)" in capsys.readouterr().err
    assert touched(tmp_path / "evil")


@pytest.mark.parametrize(
    "content",
    [
        lambda: "[" * 100_000,
        lambda: "a: b\n",
        lambda: "",
        lambda: "\0",
        lambda: "data: 3\n",
        lambda: "data:\n  dataloader_num_workers: ${nowhere}\n",
    ],
)
def test_a_config_that_is_none_is_refused_by_its_name(
    checkpoint: Path, config: DictConfig, content: Callable[[], str]
) -> None:
    (checkpoint / "config.yaml").write_text(content())
    seal_anew(checkpoint)
    with pytest.raises(ConfigError, match=r"global_step_4/config\.yaml is not the config\.yaml of a run"):
        launcher.check_folder(config)
    (checkpoint / "config.yaml").unlink()
    seal_anew(checkpoint)
    with pytest.raises(ConfigError, match=r"global_step_4/config\.yaml is not the config\.yaml of a run"):
        launcher.check_folder(config)
