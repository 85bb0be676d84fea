"""What a folder may be gone on with."""

from dataclasses import replace
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from pacs.evaluation.settings import Sampling, Settings, joined, read_settings
from tests.evaluation.folders import MODEL, TASK, settings_of


def with_task(settings: Settings, **changes: object) -> Settings:
    return replace(settings, tasks={TASK: replace(settings.tasks[TASK], **changes)})


def test_settings_are_read_as_they_were_written(tmp_path: Path) -> None:
    settings = settings_of(sampling=Sampling(temperature=1.0, thinking=False, dtype="float32"))
    settings.write(tmp_path)
    assert read_settings(tmp_path) == settings


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"tasks": {}, "model": 3, "sampling": {}, "versions": {}}'])
def test_a_folder_without_settings_is_no_evaluation(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "settings.json").write_text(content)
    with pytest.raises(UserError, match=str(tmp_path)):
        read_settings(tmp_path)


def test_the_same_again_changes_nothing() -> None:
    assert joined(settings_of(), settings_of(), Path("out")) == settings_of()


def test_a_moved_model_and_a_moved_data_file_are_the_same() -> None:
    moved = with_task(settings_of(model=replace(MODEL, name="./tiny", folder="/elsewhere")), data="/elsewhere.parquet")
    assert joined(settings_of(), moved, Path("out")).model == MODEL


def test_samples_and_tasks_are_added() -> None:
    more = joined(settings_of(samples=4), settings_of(samples=6), Path("out"))
    assert more.tasks[TASK].samples == 6
    another = replace(settings_of(), tasks={"other": settings_of().tasks[TASK]})
    assert list(joined(settings_of(), another, Path("out")).tasks) == [TASK, "other"]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (settings_of(model=replace(MODEL, sha256="ff" * 32)), "another model .tiny, sha256 abab.*another --out"),
        (settings_of(sampling=Sampling(temperature=1.0)), "temperature 0.6, not 1.0: .*another --out"),
        (settings_of(sampling=Sampling(seed=1, max_tokens=9)), "max_tokens 8192, not 9, seed 0, not 1"),
        (settings_of(sampling=Sampling(token_entropy=True)), "token_entropy False, not True"),
        (with_task(settings_of(), sha256="ee" * 32), "sums was sampled from another data file .*another --out"),
        (settings_of(samples=3), "has 4 samples a problem of sums.* --samples sums=4"),
    ],
    ids=["model", "temperature", "seed", "entropy", "data", "fewer"],
)
def test_what_cannot_be_mixed_is_refused(new: Settings, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        joined(settings_of(), new, Path("out"))
    assert "\n" not in str(refused.value)
