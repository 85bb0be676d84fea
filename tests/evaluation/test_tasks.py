"""What --tasks, --samples and --k ask for."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pacs.base.errors import UserError
from pacs.data.sources import SOURCES
from pacs.evaluation.tasks import NAMES, Task, load_problems, parse_tasks, prepare_missing
from tests.data.conftest import write_parquet

DATA = Path("data")


def parsed(given: str, samples: Sequence[str] = (), ks: Sequence[str] = ()) -> list[Task]:
    return parse_tasks(given, DATA, samples, ks)


def test_the_known_tasks_are_the_evaluation_sources() -> None:
    assert set(NAMES) == {source.name for source in SOURCES if not source.training}
    assert {"math500", "amc23", "aime24", "aime25", "beyondaime", "gsm8k_test", "gpqa_diamond", "livecodebench"} <= set(
        NAMES
    )


def test_the_defaults_are_what_the_paper_implies() -> None:
    assert parsed("math500") == [Task("math500", DATA / "math500/test.parquet", 128, (1, 4, 8, 16, 32, 64))]


def test_a_file_of_ones_own() -> None:
    tasks = parsed("mine=some/file.parquet, aime24", samples=["16"])
    assert [(task.name, task.file) for task in tasks] == [
        ("mine", Path("some/file.parquet")),
        ("aime24", DATA / "aime24/test.parquet"),
    ]


def test_numbers_for_all_and_for_one() -> None:
    tasks = parsed("math500,aime24", samples=["32", "math500=6"], ks=["1,8", "math500=6,2,2"])
    assert [(task.samples, task.ks) for task in tasks] == [(6, (2, 6)), (32, (1, 8))]


def test_default_ks_end_at_the_number_of_samples() -> None:
    assert parsed("math500", samples=["9"])[0].ks == (1, 4, 8)
    assert parsed("math500", samples=["1"])[0].ks == (1,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: parsed("math5000"), "no such task. Did you mean math500"),
        (lambda: parsed("AIME_24"), "Did you mean aime24"),
        (lambda: parsed("deepscaler"), "no such task. There are math500"),
        (lambda: parsed("math500,,aime24"), "no such task"),
        (lambda: parsed("math500,math500"), "named twice"),
        (lambda: parsed("a/b=file"), "NAME=FILE"),
        (lambda: parsed("mine="), "NAME=FILE"),
        (lambda: parsed("..=file"), "NAME=FILE"),
        (lambda: parsed("math500", ks=["1,129"]), "--k 129 of math500 .* has 128: raise --samples math500=129"),
        (lambda: parsed("math500", samples=["8"], ks=["16"]), "--k 16 of math500"),
        (lambda: parsed("math500", samples=["aime24=8"]), "aime24 is not among --tasks math500"),
        (lambda: parsed("math500", samples=["0"]), "whole numbers above 0"),
        (lambda: parsed("math500", samples=["many"]), "whole numbers above 0"),
        (lambda: parsed("math500", samples=["4,8"]), "give one number"),
        (lambda: parsed("math500", ks=["math500="]), "whole numbers above 0"),
    ],
)
def test_what_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": [{"role": "user", "content": [{"type": "text", "text": "1+1?"}]}]}, "its prompt's content"),
        ({"reward_model": {"ground_truth": ["2"]}}, "list<element: string> in its reward_model's ground_truth"),
        ({"images": [{"path": "a.png"}]}, "has a column images"),
    ],
)
def test_what_is_no_text_is_refused(changed: dict[str, Any], said: str, tmp_path: Path) -> None:
    """It would be sampled or graded as Python prints it, and a picture would not be shown."""
    row = {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": "1+1?"}],
        "reward_model": {"ground_truth": "2"},
        "extra_info": {"index": 0},
    }
    assert [problem.ground_truth for problem in load_problems(write_parquet(tmp_path / "good.parquet", [row]))] == ["2"]
    with pytest.raises(UserError, match=re.escape(said)):
        load_problems(write_parquet(tmp_path / "bad.parquet", [row | changed]))


def test_a_file_that_is_not_there_is_not_prepared(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        prepare_missing(parse_tasks(f"mine={tmp_path / 'none.parquet'}", tmp_path, [], []), tmp_path)
