"""The time that a task's generation has taken, and what the bar counts."""

from pathlib import Path

import pytest

from pacs.evaluation import sampling as progress
from pacs.evaluation.folder import Timing, read_timing, task_folder, write_timing
from pacs.evaluation.sample import Grade
from pacs.evaluation.sampling import Clock, Progress, Work
from pacs.evaluation.settings import TaskSettings
from tests.evaluation.folders import TASK, problems, settings_of, write_evaluation


class Time:
    """The clock on the wall, as a test says it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)


def clock_of(out: Path, *tasks: str) -> Clock:
    for task in tasks:
        task_folder(out, task).mkdir(parents=True, exist_ok=True)
    return Clock(out, list(tasks))


def test_a_task_has_the_share_of_the_time_that_its_tokens_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    clock = clock_of(tmp_path, "a", "b")
    clock.start()
    time.now += 8
    clock.tick()  # nothing has come yet: this time is that of what comes next
    for task, tokens in (("a", 100), ("b", 100), ("a", 200)):
        clock.sampled(task, tokens)
    time.now += 4
    clock.tick()
    clock.sampled("b", 50)
    time.now += 3
    clock.tick()
    clock.write()
    assert read_timing(tmp_path, "a") == Timing(12 * 3 / 4, 300)
    assert read_timing(tmp_path, "b") == Timing(12 / 4 + 3, 150)


def test_the_times_of_earlier_starts_are_added_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    task_folder(tmp_path, "a").mkdir(parents=True)
    write_timing(tmp_path, "a", Timing(5.0, 70))
    clock = clock_of(tmp_path, "a")
    clock.start()
    clock.sampled("a", 30)
    time.now += 2
    clock.tick()
    clock.write()
    assert read_timing(tmp_path, "a") == Timing(7.0, 100)


def test_the_bar_has_what_was_there_before_and_all_that_there_will_be(tmp_path: Path) -> None:
    """Five of three problems' four samples, of which the even ones are right, and another task of two by three."""
    drawn = write_evaluation(tmp_path, samples=4, keep=5)
    settings = settings_of(samples=4)
    other = TaskSettings(data="/data/other.parquet", sha256="ef" * 32, problems=2, samples=3, ks=(1,))
    settings.tasks["other"] = other  # type: ignore[index]
    task_folder(tmp_path, "other").mkdir(parents=True)
    with Work(tmp_path, settings, {TASK: problems(), "other": problems()[:2]}, {}) as work:
        work._start_progress()
        shown = work._progress
        assert shown is not None
        assert (shown._bar.total, shown._bar.n) == (3 * 4 + 2 * 3, 5)
        assert (shown._right, shown._graded) == (sum(sample.index % 2 == 0 for sample in drawn), 5)


def test_the_share_that_is_right_is_of_the_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    shown = Progress(total=100, done=20, right=3, graded=4)
    time.now += 10
    for tokens in (300, 200, 100):
        shown.sampled(tokens)
    shown.graded(Grade("p", 0, 0.0, "wrong", ""))
    assert shown._bar.postfix == "60 tokens/s, 60.0% right"
    shown.close()
