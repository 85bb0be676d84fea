import json
from pathlib import Path

import pytest

from pacs import cli

#: Runs with few figures, which are quicker to draw.
FEW = {"pacs": False, "validation": ()}


def run_command(*words: object) -> int:
    return cli.main(["report", *map(str, words)])


def test_a_report_is_written_and_named(make_run, tmp_path, capsys):
    out = tmp_path / "out"
    assert run_command(make_run("a", **FEW), make_run("b", **FEW), "--out", out) == 0
    written = capsys.readouterr().out.splitlines()
    assert written[:3] == [str(out / "index.html"), str(out / "overview.png"), str(out / "pass_rate.png")]
    assert sorted(written) == sorted(map(str, out.iterdir()))
    assert all(Path(line).stat().st_size > 1000 for line in written)


def test_metrics_near_the_limits_of_floats_are_drawn_or_left_out(make_run, tmp_path):
    """Of each metric some values are as large as float32 has them, and some as large as float64."""
    runs = [make_run(name, pacs=False) for name in ("a", "b")]
    for run in runs:
        rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        for number, row in enumerate(rows):
            values = (-3.3e38, 3.3e38, 1e308, -1e308)
            row |= {key: values[number % 4] for key in row if key != "step"}
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run_command(*runs, "--out", tmp_path / "out") == 0
    assert (tmp_path / "out" / "pass_rate.png").stat().st_size > 1000


@pytest.mark.usefixtures("quick_pictures")
def test_each_draws_equal_runs_apart(make_run, tmp_path):
    runs = [make_run(name, **FEW) for name in ("a", "b")]
    pages = []
    for words in ([], ["--each"]):
        assert run_command(*runs, "--out", tmp_path / "out", *words) == 0
        pages.append((tmp_path / "out" / "index.html").read_text(encoding="utf-8"))
    assert ["drawn as one" in page for page in pages] == [True, False]


@pytest.mark.usefixtures("quick_pictures")
def test_runs_of_one_experiment_without_a_common_step(make_run, tmp_path, capsys):
    """One goes on, in a folder of its own, where the other has ended; another was validated at other steps."""
    first, second, third = (make_run(f"part{i}", pacs=False) for i in range(3))
    rows = [json.loads(line) for line in (first / "metrics.jsonl").read_text().splitlines()]
    later = [row | {"step": row["step"] + 100} for row in rows]
    moved = [{key: value for key, value in row.items() if "validation" not in key} for row in rows]
    moved[3] |= {key: value for key, value in rows[0].items() if "validation" in key}
    for run, changed in [(second, later), (third, moved)]:
        (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in changed))
    out = tmp_path / "out"
    assert run_command(first, second, "--out", out) == 2
    assert "part0 and part1 are runs of one experiment without a common step: give --each" in capsys.readouterr().err
    assert not out.exists()
    assert run_command(first, third, "--out", out) == 0
    assert (out / "pass_rate.png").exists()
    assert not (out / "validation.png").exists()
    assert run_command(first, third, "--each", "--out", out) == 0
    assert (out / "validation.png").exists()


@pytest.mark.usefixtures("quick_pictures")
def test_a_broken_line(make_run, tmp_path, caplog):
    folder = make_run()
    metrics = folder / "metrics.jsonl"
    metrics.write_text("{broken\n" + metrics.read_text())
    assert run_command(folder, "--out", tmp_path / "out") == 0
    assert f"{metrics}:1: dropped" in caplog.text


def test_help_teaches_what_is_written(capsys):
    with pytest.raises(SystemExit) as caught:
        run_command("--help")
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert [
        word for word in ("index.html", "overview.png", "examples:", "--out DIR", "--each") if word not in text
    ] == []
