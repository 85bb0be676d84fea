"""Paging through samples."""

import re
from pathlib import Path

import pytest

from pacs import cli
from tests.evaluation.folders import write_evaluation


def shown(capsys: pytest.CaptureFixture[str], *words: object) -> list[tuple[str, int, str]]:
    """Problem, index and status of what is printed."""
    assert cli.main(["evaluate", "show", *map(str, words)]) == 0
    heads = re.findall(r"^--- sums (\w+), sample (\d+), ([\w ]+), ", capsys.readouterr().out, flags=re.MULTILINE)
    return [(problem, int(index), status) for problem, index, status in heads]


def test_the_first_ones_with_all_that_belongs_to_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write_evaluation(tmp_path)[0]
    assert cli.main(["evaluate", "show", str(tmp_path), "-n", "1"]) == 0
    out = capsys.readouterr().out
    number = first.problem[1:]
    assert f"[user]\n{number}+{number}\n--- response\n{first.response}\n--- gold: {2 * int(number)}\n" in out
    assert out.count("--- sums") == 1


def test_right_wrong_status_and_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = write_evaluation(tmp_path)
    status = {0: "correct", 1: "wrong", 2: "correct", 3: "no_answer"}
    everything = [(sample.problem, sample.index, status[sample.index]) for sample in samples]
    assert shown(capsys, tmp_path) == everything[:3]
    assert shown(capsys, tmp_path, "-n", 100) == everything
    assert shown(capsys, tmp_path, "-n", 100, "--right") == [each for each in everything if each[2] == "correct"]
    assert shown(capsys, tmp_path, "-n", 100, "--wrong") == [each for each in everything if each[2] != "correct"]
    assert shown(capsys, tmp_path, "-n", 100, "--status", "wrong") == [
        each for each in everything if each[2] == "wrong"
    ]
    assert shown(capsys, tmp_path, "-n", 100, "--problem", "p1") == [each for each in everything if each[0] == "p1"]
    assert shown(capsys, tmp_path, "--task", "sums", "--status", "timeout") == []


def test_what_is_unfinished_and_not_graded_is_shown_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_evaluation(tmp_path, keep=5, graded=False)
    assert [status for _, _, status in shown(capsys, tmp_path, "-n", 100)] == ["not graded yet"] * 5
    assert shown(capsys, tmp_path, "--wrong") == []
