import argparse
import os
from pathlib import Path

import pytest

from pacs.report.command import add_parser


def run_command(*words: object) -> int:
    parser = argparse.ArgumentParser(prog="pacs")
    add_parser(parser.add_subparsers(required=True))
    args = parser.parse_args(["report", *map(str, words)])
    return args.handler(args)


def test_a_report_is_written_and_named(make_run, tmp_path, capsys):
    out = tmp_path / "out"
    assert run_command(make_run("a"), make_run("b"), "--out", out) == 0
    assert capsys.readouterr().out.splitlines() == [str(out / "index.html"), str(out / "overview.png")]
    assert all(Path(line).stat().st_size > 1000 for line in (out / "index.html", out / "overview.png"))


def assert_one_line_error(capsys, *needles: str) -> None:
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("pacs report: ")
    assert [needle for needle in needles if needle not in line] == []
    assert captured.out == ""


def test_a_missing_folder(tmp_path, capsys):
    assert run_command(tmp_path / "nowhere", "--out", tmp_path / "out") == 2
    assert_one_line_error(capsys, "nowhere does not exist", "metrics.jsonl")


def test_a_folder_that_is_no_run(tmp_path, capsys):
    assert run_command(tmp_path, "--out", tmp_path / "out") == 2
    assert_one_line_error(capsys, "has no metrics.jsonl", "expected the folder of a training run")


def test_a_broken_line(make_run, tmp_path, capsys):
    folder = make_run()
    metrics = folder / "metrics.jsonl"
    metrics.write_text("{broken\n" + metrics.read_text())
    assert run_command(folder, "--out", tmp_path / "out") == 2
    assert_one_line_error(capsys, "metrics.jsonl:1")


def test_an_output_that_is_a_file(make_run, tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    assert run_command(make_run(), "--out", tmp_path / "out") == 2
    assert_one_line_error(capsys, os.fspath(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("words", [[], ["run"], ["--out", "out"]])
def test_missing_arguments_end_with_2(words, capsys):
    with pytest.raises(SystemExit) as caught:
        run_command(*words)
    assert caught.value.code == 2
    assert "usage: pacs report" in capsys.readouterr().err


def test_help_teaches_what_is_written(capsys):
    with pytest.raises(SystemExit) as caught:
        run_command("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert [word for word in ("index.html", "overview.png", "examples:", "--out DIR") if word not in text] == []
