"""What is known of the training run whose checkpoint is evaluated."""

from pathlib import Path

import pytest

from pacs.base.errors import UserError
from pacs.checkpoints.folder import Checkpoint
from pacs.checkpoints.source import Source
from pacs.evaluation.model import Model


@pytest.fixture
def model(tmp_path: Path) -> Model:
    config = {"trainer": {"v1": {"trainer_mode": "grpo"}}, "data": {"seed": 3}}
    checkpoint = Checkpoint(tmp_path / "checkpoints" / "global_step_5", 5, 1, None, 0)
    return Model("run", tmp_path, Source(checkpoint, tmp_path, config, []))


def test_a_run_that_has_noted_no_commit(model: Model) -> None:
    assert model.trained_by == {"algorithm": "grpo", "seed": 3, "step": 5, "git_commit": None}


def test_a_damaged_file_is_named(model: Model, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"git_commit": "c0f')
    with pytest.raises(UserError, match=r"run\.json cannot be read \(.*\): repair it, or remove it"):
        _ = model.trained_by
