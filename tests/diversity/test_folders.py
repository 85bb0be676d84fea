"""Evaluations to lay beside each other, and those that cannot be."""

from pathlib import Path

import pytest

from pacs.base.errors import UserError
from pacs.base.files import told_apart
from pacs.diversity.folders import read_tasks
from tests.diversity.folders import Response, write_folder

ONE = {"a": [Response("x")] * 2, "b": [Response("y")] * 2}


def test_tasks_in_common(tmp_path: Path) -> None:
    first = write_folder(tmp_path / "first", {"sums": ONE, "aime24": ONE})
    second = write_folder(tmp_path / "second", {"aime24": ONE, "amc23": ONE})
    (task, (one, two)), *others = read_tasks([first, second], None).items()
    assert (task, others) == ("aime24", [])
    assert [graded.sample.response for graded in one.samples["b"]] == ["y", "y"]
    assert one == two
    assert [*read_tasks([first], None)] == ["sums", "aime24"]
    assert [*read_tasks([first], ["aime24", "aime24"])] == ["aime24"]


def refusal(folders: list[Path], tasks: list[str] | None = None) -> str:
    with pytest.raises(UserError) as caught:
        read_tasks(folders, tasks)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_refused(tmp_path: Path) -> None:
    first = write_folder(tmp_path / "first", {"sums": ONE, "aime24": ONE})
    other = write_folder(tmp_path / "other", {"amc23": ONE})
    fewer = write_folder(tmp_path / "fewer", {"sums": {"a": ONE["a"], "c": ONE["a"]}})
    assert "give a folder of `pacs evaluate`" in refusal([tmp_path])
    assert "there is aime24" in refusal([first], ["aime25"])
    assert "there is sums, aime24" in refusal([first], ["gpqa"])
    assert "no task in common" in refusal([first, other])
    message = refusal([first, fewer])
    assert f"only {first} has b; only {fewer} has c" in message
    assert "evaluate both on one data file" in message


def test_another_right_answer_under_the_same_name(tmp_path: Path) -> None:
    first = write_folder(tmp_path / "first", {"sums": ONE})
    second = write_folder(tmp_path / "second", {"sums": ONE})
    problems = second / "samples" / "sums" / "problems.jsonl"
    problems.write_text(problems.read_text().replace('"ground_truth": "7"', '"ground_truth": "8"', 1))
    assert "(of another right answer a)" in refusal([first, second])


def test_labels_tell_folders_apart(tmp_path: Path) -> None:
    assert told_apart([Path("runs/a"), Path("runs/b")]) == ["a", "b"]
    assert told_apart([tmp_path / "x" / "eval", tmp_path / "y" / "eval"]) == ["x/eval", "y/eval"]
    with pytest.raises(UserError, match="given twice"):
        told_apart([tmp_path, tmp_path / "z" / ".."])
