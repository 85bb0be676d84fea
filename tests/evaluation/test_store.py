"""What is on disk after an end at any moment, and what the next start makes of it."""

import json
from collections import Counter
from pathlib import Path

import pytest

from pacs import cli
from pacs.base.errors import UserError
from pacs.base.files import Appender, read_lines
from pacs.evaluation.folder import (
    GRADES,
    PROBLEMS,
    Store,
    Timing,
    read_grades,
    read_samples,
    read_task,
    read_timing,
    shards,
    task_folder,
    write_timing,
)
from pacs.evaluation.sample import Grade
from tests.evaluation.folders import MODEL, TASK, problems, sample_of, write_evaluation


def drawn(out: Path) -> list[tuple[str, int]]:
    return [(sample.problem, sample.index) for sample in read_samples(out, TASK, MODEL.prefix)]


@pytest.mark.parametrize("removed", range(1, 40))
def test_a_line_torn_anywhere_is_cut_off_and_the_next_one_is_whole(removed: int, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    lines = ['{"n": 1}\n', '{"n": 2, "text": "snow \\u2603 and a line\\nbreak"}\n']
    file.write_text("".join(lines))
    with file.open("r+b") as stream:
        stream.truncate(file.stat().st_size - removed)
    assert [line["n"] for line in read_lines(file, dict, "")] == [1]
    appender = Appender(file)
    appender.write({"n": 3})
    appender.close()
    assert file.read_text() == lines[0] + '{"n": 3}\n'


def test_a_torn_line_longer_than_a_block_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text('{"n": 1}\n{"text": "' + "x" * 200_000)
    Appender(file).close()
    assert file.read_text() == '{"n": 1}\n'
    file.write_text('{"text": "' + "x" * 200_000)
    Appender(file).close()
    assert file.read_text() == ""


@pytest.mark.parametrize("line", ["{", "7", "[]", "null", "\0\0", '{"model": "ab"}', '{"problem": "p0"}'])
def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(line: str, tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    for name in ("generated-0000.jsonl", GRADES):
        file = task_folder(tmp_path, TASK) / name
        whole = file.read_text().splitlines(keepends=True)
        file.write_text("".join([*whole[:1], line + "\n", *whole[1:]]))
        with pytest.raises(UserError, match=f"{name}: line 2 is damaged"):
            read_task(tmp_path, TASK)
        file.write_text("".join(whole))


def test_every_end_leaves_whole_samples_and_the_rest_is_drawn_once(tmp_path: Path) -> None:
    """Cut the file in many places of its last line, and elsewhere; go on each time with what is missing."""
    every = sorted((problem.id, index) for problem in problems() for index in range(4))
    by_id = {problem.id: problem for problem in problems()}
    write_evaluation(tmp_path / "whole")
    whole = (task_folder(tmp_path / "whole", TASK) / "generated-0000.jsonl").read_bytes()
    ends = [0, 1, len(whole) // 2, *range(len(whole) - 150, len(whole) + 1, 6), len(whole)]
    for end in ends:
        out = tmp_path / str(end)
        write_evaluation(out, keep=0)
        (shard := task_folder(out, TASK) / "generated-0000.jsonl").write_bytes(whole[:end])
        store = Store(out, TASK, MODEL.prefix)
        assert len(store.sampled) == whole[:end].count(b"\n")
        for key in every:
            if key not in store.sampled:
                store.add(sample_of(by_id[key[0]], key[1]))
        store.close()
        assert sorted(drawn(out)) == every
        assert shard.read_bytes()[: whole[:end].rfind(b"\n") + 1] == whole[: whole[:end].rfind(b"\n") + 1]


def test_samples_are_spread_over_files_of_a_number_of_lines(tmp_path: Path) -> None:
    write_evaluation(tmp_path, keep=0)
    for start in range(3):  # opened anew in the middle of a file, and at its end
        store = Store(tmp_path, TASK, MODEL.prefix, shard_lines=4)
        for index in range(4 * start, 4 * start + 4 if start < 2 else 11):
            store.add(sample_of(problems()[0], index))
        store.close()
    files = shards(task_folder(tmp_path, TASK))
    assert [file.name for file in files] == [f"generated-000{n}.jsonl" for n in range(3)]
    assert [len(file.read_text().splitlines()) for file in files] == [4, 4, 3]
    assert drawn(tmp_path) == [("p0", index) for index in range(11)]


def test_a_grade_without_its_sample_is_forgotten(tmp_path: Path) -> None:
    """After a power cut; the sample that is drawn in its place may be another."""
    samples = write_evaluation(tmp_path)
    shard = task_folder(tmp_path, TASK) / "generated-0000.jsonl"
    lines = shard.read_text().splitlines(keepends=True)
    shard.write_text("".join(lines[:-2]))
    store = Store(tmp_path, TASK, MODEL.prefix)
    store.close()
    assert (
        store.graded == {(sample.problem, sample.index) for sample in samples[:-2]} == set(read_grades(tmp_path, TASK))
    )


def test_samples_without_a_grade_are_found(tmp_path: Path) -> None:
    samples = write_evaluation(tmp_path, graded=False)
    store = Store(tmp_path, TASK, MODEL.prefix)
    assert list(store.ungraded()) == samples
    store.add_grade(Grade(samples[0].problem, samples[0].index, 1.0, "correct", "0"))
    assert list(store.ungraded()) == samples[1:]
    store.close()


def test_a_task_is_read_in_order_whatever_the_order_of_its_lines(tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    task = read_task(tmp_path, TASK)
    assert task.problems == problems()
    assert list(task.samples) == ["p0", "p1", "p2"]
    for problem in problems():
        found = task.samples[problem.id]
        assert [graded.sample for graded in found] == [sample_of(problem, index) for index in range(4)]
        assert [graded.status for graded in found] == ["correct", "wrong", "correct", "no_answer"]
        assert Counter(graded.score for graded in found) == {1.0: 2, 0.0: 2}


def test_an_unfinished_task_is_not_read(tmp_path: Path) -> None:
    write_evaluation(tmp_path, keep=7)
    with pytest.raises(UserError, match="7 of 12"):
        read_task(tmp_path, TASK)
    with pytest.raises(UserError, match="has no task other; it has sums"):
        read_task(tmp_path, "other")


@pytest.mark.parametrize(
    ("change", "message"),
    [({"model": "ffffffffffff"}, "another model"), ({}, "twice")],
    ids=["another model's", "repeated"],
)
def test_foreign_and_repeated_samples_are_refused(change: dict[str, str], message: str, tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    shard = task_folder(tmp_path, TASK) / "generated-0000.jsonl"
    line = json.loads(shard.read_text().splitlines()[0])
    with shard.open("a") as stream:
        stream.write(json.dumps(line | change) + "\n")
    with pytest.raises(UserError, match=message):
        read_task(tmp_path, TASK)


@pytest.mark.parametrize("lines", [0, 1, 2])
def test_problems_that_are_missing_are_an_error_that_says_what_to_do(
    lines: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy that was broken off: samples of a problem that nobody knows would follow."""
    write_evaluation(tmp_path)
    file = task_folder(tmp_path, TASK) / PROBLEMS
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]) + '{"id": "p')
    with pytest.raises(UserError, match=rf"problems.jsonl has {lines} of 3 problems: remove the file, and the same"):
        read_task(tmp_path, TASK)
    for command in ("show", "grade"):
        assert cli.main(["evaluate", command, str(tmp_path)]) == 2
        assert f"has {lines} of 3 problems" in capsys.readouterr().err


def test_times_that_are_damaged_are_not_known(tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    write_timing(tmp_path, TASK, Timing(2.0, 10))
    assert read_timing(tmp_path, TASK) == Timing(2.0, 10)
    for damaged in ('{"seconds": 2', '{"seconds": 2.0, "tokens": 10, "of_a_later_version": 1}'):
        (task_folder(tmp_path, TASK) / "timing.json").write_text(damaged)
        assert read_timing(tmp_path, TASK) == Timing()


def test_grades_are_whole_lines_too(tmp_path: Path) -> None:
    write_evaluation(tmp_path)
    grades = task_folder(tmp_path, TASK) / GRADES
    grades.write_text(grades.read_text()[:-5])
    assert len(read_grades(tmp_path, TASK)) == 11
    store = Store(tmp_path, TASK, MODEL.prefix)
    assert len(list(store.ungraded())) == 1
    store.close()
