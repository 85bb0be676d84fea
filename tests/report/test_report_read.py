import json
import logging
import math
from pathlib import Path

import numpy as np
import pytest

from pacs.base.errors import UserError
from pacs.report import read_run, read_runs


def write_lines(folder: Path, *lines: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    content = [line.encode() if isinstance(line, str) else line for line in lines]
    (folder / "metrics.jsonl").write_bytes(b"\n".join(content))
    (folder / "config.yaml").write_text("{}")
    (folder / "run.json").write_text("{}")
    return folder


def record(step: int, **values: float) -> str:
    return json.dumps({"step": step} | values)


def test_a_run_is_read(make_run):
    run = read_run(make_run("my-run", steps=3, resets=[2]))
    assert run.name == "my-run"
    assert list(run.steps) == [0, 1, 2, 3]
    assert run.series("response_length/mean") == ((1, 2, 3), (15.0, 16.0, 17.0))
    assert run.series("pacs/validation/arithmetic/pass@8") == ((0, 3), (0.25, 0.5))
    assert run.series("pacs/reference/reset_count") == ((2,), (1.0,))
    assert run.series("no/such/metric") == ((), ())
    assert run.config["actor_rollout_ref"]["actor"]["optim"]["lr"] == 1e-6
    assert run.info["git_commit"] == "c0ffee"


def test_keys_match_a_glob(make_run):
    keys = ["val-core/b/reward/mean@8", "val-core/org/a/reward/mean@1"]
    run = read_run(make_run(validation=[*keys, "val-core/b/reward/best@8/mean"]))
    assert run.keys("val-core/*/mean@*") == keys


def test_values_that_are_not_finite_or_no_numbers_are_no_points(tmp_path):
    lines = [
        '{"step": 1, "a": NaN, "b": "text", "c": null}',
        '{"step": 2, "a": Infinity, "b": [1], "d": true}',
    ]
    run = read_run(write_lines(tmp_path / "run", *lines, record(3, a=5)))
    assert run.series("a") == ((3,), (5.0,))
    assert math.isnan(run.steps[1]["a"])
    assert run.series("d") == ((2,), (1.0,))
    assert run.keys() == ["a", "d"]


def test_values_beyond_float32_are_no_points(tmp_path):
    """A run calculates in float32, and sums of such values overflow in float64 too."""
    largest = float(np.finfo(np.float32).max)
    values = {"a": 1e308, "b": -1e308, "c": 0.99 * largest, "d": -0.99 * largest}
    run = read_run(write_lines(tmp_path / "run", record(1, **values)))
    assert run.keys() == ["c", "d"]
    assert run.series("a") == ((), ())
    assert run.series("c") == ((1,), (0.99 * largest,))


@pytest.mark.parametrize("broken", ['{"step": 3, "a": 0.', b'{"step": 3, "a\xc3', b"\x00\x00\x00"])
def test_the_broken_last_line_of_a_killed_run_is_dropped_with_a_warning(tmp_path, caplog, broken):
    with caplog.at_level(logging.WARNING):
        run = read_run(write_lines(tmp_path / "run", record(1, a=1), record(2, a=2), broken))
    assert list(run.steps) == [1, 2]
    assert [message for message in caplog.messages if "metrics.jsonl:3" in message and "dropped" in message]


def test_blank_lines_at_the_end_do_not_hide_the_last_line(tmp_path):
    run = read_run(write_lines(tmp_path / "run", record(1, a=1), '{"step": 2', "", ""))
    assert list(run.steps) == [1]


def test_a_complete_last_line_without_newline_counts(tmp_path, caplog):
    run = read_run(write_lines(tmp_path / "run", record(1, a=1), record(2, a=2)))
    assert list(run.steps) == [1, 2]
    assert not caplog.messages


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 2, "a"',
        b"\x00" * 99,
        b'{"step": 2, "a\xff": 1}',
        "[" * 100_000,
        '{"step": 2, "a": 1' + "0" * 400 + "}",
        '{"a": 1}',
        '{"step": "2"}',
        '{"step": -1}',
        '{"step": true}',
        "[1]",
        "7",
    ],
    ids=repr,
)
def test_a_damaged_line_is_dropped_with_a_warning_that_names_it(tmp_path, caplog, line):
    folder = write_lines(tmp_path / "run", record(1, a=1), line, record(3, a=3))
    with caplog.at_level(logging.WARNING):
        assert read_run(folder).series("a") == ((1, 3), (1.0, 3.0))
    assert [message for message in caplog.messages if "metrics.jsonl:2: dropped" in message]


def test_of_a_step_that_occurs_twice_the_later_line_wins_key_by_key(tmp_path):
    run = read_run(write_lines(tmp_path / "run", record(1, a=1, b=1), record(1, a=2, c=3), record(2, a=4)))
    assert run.steps == {1: {"a": 2.0, "b": 1.0, "c": 3.0}, 2: {"a": 4.0}}


def test_a_resumed_run_discards_the_steps_of_the_attempt_it_replaces(tmp_path):
    steps = [1, 2, 3, 4, 5, 2, 3]
    lines = [record(step, attempt=float(index >= 5)) for index, step in enumerate(steps)]
    run = read_run(write_lines(tmp_path / "run", *lines))
    assert run.series("attempt") == ((1, 2, 3), (0.0, 1.0, 1.0))


def test_a_folder_that_is_no_run_says_what_one_is(tmp_path, make_run):
    run = make_run("outer/inner")
    expected = r"metrics\.jsonl, config\.yaml and run\.json"
    with pytest.raises(UserError, match=rf"nowhere does not exist: .*{expected}"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(UserError, match=rf"has no metrics\.jsonl: .*{expected}; .*inner is one"):
        read_run(run.parent)
    with pytest.raises(UserError, match=rf"is not a folder: .*{expected}"):
        read_run(run / "metrics.jsonl")


@pytest.mark.parametrize("lines", [[""], ['{"step": 1, "a']])
def test_a_run_without_a_complete_step_says_so(tmp_path, lines):
    with pytest.raises(UserError, match="no complete line yet"):
        read_run(write_lines(tmp_path / "run", *lines))


def test_missing_settings_are_a_warning_and_leave_the_run_readable(make_run, caplog):
    run = read_run(make_run(config=None, info=None))
    assert run.config == {}
    assert run.info == {}
    assert ["config.yaml" in caplog.messages[0], "run.json" in caplog.messages[1]] == [True, True]


@pytest.mark.parametrize("config", ["a: [1", "- 1\n- 2", "a: 1\na: 2", "a: ${b"])
def test_a_broken_config_is_an_error_of_one_line_that_names_the_file(make_run, config):
    with pytest.raises(UserError, match=r"config\.yaml") as caught:
        read_run(make_run(config=config))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("info", ['{"a"', "[1]"])
def test_broken_run_info_is_an_error_that_names_the_file(make_run, info):
    folder = make_run()
    (folder / "run.json").write_text(info)
    with pytest.raises(UserError, match=r"run\.json"):
        read_run(folder)


def test_runs_of_the_same_name_are_told_apart_by_their_path(make_run):
    folders = [make_run("a/seed0/run"), make_run("b/seed0/run"), make_run("b/seed1/run"), make_run("other")]
    assert [run.name for run in read_runs(folders)] == ["a/seed0/run", "b/seed0/run", "seed1/run", "other"]


def test_the_same_run_twice_is_an_error(make_run):
    folder = make_run()
    with pytest.raises(UserError, match="given twice"):
        read_runs([folder, folder.parent / "." / folder.name])


def test_no_run_is_an_error():
    with pytest.raises(UserError, match="no run folder"):
        read_runs([])


def test_a_validation_again_at_the_step_of_a_resume_adds_to_its_line(tmp_path):
    """Step 3 was abandoned; of step 2 the later line wins, key by key."""
    lines = [record(1, a=1), record(2, a=2, b=2), record(3, a=3), record(2, b=5), record(4, a=4)]
    run = read_run(write_lines(tmp_path / "run", *lines))
    assert run.steps == {1: {"a": 1}, 2: {"a": 2, "b": 5}, 4: {"a": 4}}
