"""`pacs support` as its user has it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pacs import cli
from pacs.evaluation.settings import read_settings
from tests.diversity.folders import Response, Responses, write_folder

RIGHT, WRONG = Response("r", token_entropy=0.5), Response("w", "wrong", "8", token_entropy=0.25)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "base", {"sums": BASE, "aime24": BASE})


BASE: Responses = {"a": [RIGHT, WRONG, WRONG], "b": [WRONG, RIGHT, WRONG], "c": [WRONG] * 3}
TRAINED: Responses = {"a": [RIGHT] * 3, "b": [WRONG] * 3, "c": [WRONG, WRONG, RIGHT]}


def test_json_page_and_picture(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_folder(tmp_path / "pacs", {"sums": TRAINED, "aime24": TRAINED})
    out = tmp_path / "out"
    assert cli.main(["support", f"{base}", f"{model}", "--k", "3", "1", "3", "--out", f"{out}"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-3:] == [f"{out / name}" for name in ("support.json", "support.md", "support.png")]
    sums = json.loads((out / "support.json").read_text())["tasks"]["sums"]
    assert [*sums["k"]] == ["1", "3"]
    three = sums["k"]["3"]["steps"]["pacs"]
    assert three["problems"] == {"kept": ["a"], "gained": ["c"], "lost": ["b"], "neither": []}
    means = {name: value["mean"] for name, value in three["metrics"].items()}
    assert means == {"SRR": 0.5, "NDR": 0.5, "SDS": 0.5, "NSCR": 0.0}
    assert sums["right_of_k"]["problems"] == {"a": [1, 3], "b": [1, 0], "c": [0, 1]}
    assert sums["entropies"]["token_entropy"]["base"]["mean"] == pytest.approx((2 * 1 / 3 + 0.25) / 3)
    page = (out / "support.md").read_text()
    together = [[cell.strip() for cell in line.split("|")] for line in page.partition("## all tasks")[2].splitlines()]
    assert [row[2:6] for row in together if row[1:2] == ["pacs"] and len(row) > 6] == [
        ["2", "2", "2", "0"],
        ["2", "0", "0", "4"],
    ]
    assert "Within 3 samples pacs solves 1 of the 2 problems that base solves, and 1 of the 1 that it does not." in page
    assert "gained (1): c (0 → 1)" in page
    assert "lost (1): b (1 → 0)" in page
    assert "sums: token entropy, nats" in page
    assert (out / "support.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("kept", "gained", "lost", "said"),
    [
        (
            0,
            1,
            0,
            "cannot be told from these problems (NSCR 1.000 [1.000, 1.000]; sign test of gained and lost: p = 1)",
        ),
        (0, 5, 0, "cannot be told from these problems (NSCR 1.000 [1.000, 1.000]"),
        (0, 6, 0, "Its support has grown"),
        (9, 0, 9, "Its support has shrunk"),
        (9, 5, 4, "cannot be told"),
    ],
)
def test_a_few_problems_that_change_one_way_are_no_growth(
    kept: int, gained: int, lost: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every draw of the bootstrap has the sign that all changes have, however few they are."""
    kinds = [(RIGHT, RIGHT)] * kept + [(WRONG, RIGHT)] * gained + [(RIGHT, WRONG)] * lost + [(WRONG, WRONG)] * 12
    before, after = ({str(i): [pair[side]] for i, pair in enumerate(kinds)} for side in (0, 1))
    folders = [write_folder(tmp_path / "before", {"sums": before}), write_folder(tmp_path / "after", {"sums": after})]
    assert cli.main(["support", *map(str, folders), "--out", f"{tmp_path / 'out'}"]) == 0
    assert said in capsys.readouterr().out


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert cli.main(["support", *map(str, words)]) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert captured.out == ""
    assert line.startswith("pacs support: ")
    return line


def test_unequal_numbers_of_samples(base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fewer = {problem: some[:2] for problem, some in TRAINED.items()}
    model = write_folder(tmp_path / "pacs", {"sums": fewer})
    out = tmp_path / "out"
    line = refused(capsys, base, model, "--out", out)
    assert "base has 3 and pacs has 2" in line
    assert "--k 2" in line
    assert "give 2 or less" in refused(capsys, base, model, "--k", 3, "--out", out)
    assert not out.exists()
    assert cli.main(["support", f"{base}", f"{model}", "--k", "2", "--out", f"{out}"]) == 0


def test_what_else_lies_in_the_folder_is_kept(base: Path, tmp_path: Path) -> None:
    model = write_folder(tmp_path / "pacs", {"sums": TRAINED})
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.md").write_text("mine")
    (out / "support.md").write_text("an older one")
    assert cli.main(["support", f"{base}", f"{model}", "--out", f"{out}"]) == 0
    assert (out / "notes.md").read_text() == "mine"
    assert sorted(path.name for path in out.iterdir()) == ["notes.md", "support.json", "support.md", "support.png"]
    assert (out / "support.md").read_text().startswith("# Support: pacs against base")


def test_evaluations_that_were_drawn_otherwise_are_said_so(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The trained model had half of the tokens."""
    short = write_folder(tmp_path / "pacs", {"sums": TRAINED})
    settings = read_settings(short)
    replace(settings, sampling=replace(settings.sampling, max_tokens=4096)).write(short)
    assert cli.main(["support", f"{base}", f"{short}", "--out", f"{tmp_path / 'out'}"]) == 0
    said = "sampling.max_tokens differs: 8192 (base), 4096 (pacs)."
    assert said in capsys.readouterr().out
    assert json.loads((tmp_path / "out" / "support.json").read_text())["settings"]["note"] == said


def test_evaluations_that_were_graded_otherwise_are_said_so(
    base: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lenient = write_folder(tmp_path / "pacs", {"sums": TRAINED}, given={"math": {"accept_unevaluated": True}})
    assert cli.main(["support", f"{base}", f"{lenient}", "--out", f"{tmp_path / 'out'}"]) == 0
    said = "grading: math.accept_unevaluated differs: false (base), true (pacs)."
    assert said in capsys.readouterr().out
    assert said in (tmp_path / "out" / "support.md").read_text()
    assert json.loads((tmp_path / "out" / "support.json").read_text())["settings"]["note"] == said
