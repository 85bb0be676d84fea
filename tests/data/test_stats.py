"""`pacs data stats`, `show` and `list`."""

import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.data.sources import SOURCES
from pacs.data.stats import kind_of
from tests.data.conftest import Run, problems, write_jsonl, write_parquet
from tests.data.repositories import REPOSITORIES


def cells(line: str) -> list[str]:
    return [cell for cell in line.split("  ") if cell]


def table(text: str, corner: str) -> dict[str, dict[str, str]]:
    """A printed table: row -> column -> cell."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(corner) and lines[i + 1].startswith("--"))
    names = [name.strip() for name in cells(lines[start])]
    rows = {}
    for line in lines[start + 2 :]:
        if not line:
            break
        values = [value.strip() for value in cells(line)]
        rows[values[0]] = dict(zip(names[1:] if corner.strip() else names, values[1:], strict=True))
    return rows


def test_numbers_are_those_of_the_rows(tmp_path: Path, model: Path, run: Run) -> None:
    golds = ["1", "2", "2", "\\frac{1}{2}", "0.5", "x+1", "\\text{Monday}"]
    rows = [{"problem": f"{'x' * i}?", "answer": gold, "level": i} for i, gold in enumerate(golds)]
    file = write_jsonl(tmp_path / "mine.jsonl", [*rows, rows[-1]])
    words = ["--split", "test", "--difficulty-column", "level", "--out", tmp_path / "out"]
    assert run("prepare", file, *words)[0] == 0
    status, out, err = run("stats", tmp_path / "out", "--model", model)
    assert (status, err) == (0, "")
    assert table(out, "data source")["mine"] == {
        "problems": "8", "duplicates": "1", "integer": "3", "text": "2", "fraction": "1", "decimal": "1",
        "expression": "1",
    }  # fmt: skip
    kept = problems(tmp_path / "out" / "test.parquet")
    characters = [len(row["prompt"][0]["content"]) for row in kept]
    spread = table(out, " ")
    shown = {name: float(value) for name, value in spread["mine: prompt, characters"].items()}
    quartiles = statistics.quantiles(characters, n=4, method="inclusive")
    assert shown["min"] == min(characters)
    assert [shown["25%"], shown["median"], shown["75%"]] == pytest.approx(quartiles)
    assert shown["max"] == max(characters)
    # One token a character, one for each role and one for the end of the user's turn.
    tokens = {name: float(value) for name, value in spread["mine: prompt, tokens"].items()}
    assert {name: value - shown[name] for name, value in tokens.items()} == dict.fromkeys(shown, pytest.approx(3.0))
    assert spread["mine: difficulty"]["median"] == "3.500"
    assert out.split("most common answers:\n")[1].splitlines()[:2] == ["  2 x 2", "  2 x \\text{Monday}"]


@pytest.mark.parametrize(
    ("gold", "kind"),
    [
        ("72", "integer"), ("-72", "integer"), ("10{,}000", "integer"), ("11,\\!090", "integer"), ("1,000", "integer"),
        ("0.5", "decimal"), ("-.5", "decimal"), ("1/2", "fraction"), ("\\frac{3}{4}", "fraction"),
        ("-\\dfrac12", "fraction"), ("\\text{Monday}", "text"), ("Monday", "text"), ("no solution", "text"),
        ("x", "expression"), ("\\frac{x}{2}", "expression"), ("(1,2)", "expression"), ("17\\%", "expression"),
        ("1,00", "expression"), ("", "expression"),
    ],
)  # fmt: skip
def test_kinds_of_answers(gold: str, kind: str) -> None:
    assert kind_of(gold, "math") == kind
    assert kind_of(gold, None) == kind
    assert kind_of(gold, "multiple_choice") == "choice"
    assert kind_of(gold, "code") == "tests"
    assert kind_of(gold, "countdown") == "target"


@settings(deadline=None, derandomize=True)
@given(st.text(alphabet="AZaz' -1", max_size=8))
def test_a_text_is_letters_some_of_them_small(gold: str) -> None:
    letters = gold[:1].isalpha() and "1" not in gold
    assert (kind_of(gold, None) == "text") == (letters and any(sign in "az' -" for sign in gold[1:]))


def test_kinds_of_long_answers_are_read_in_linear_time() -> None:
    for part in ("a", "A", "a b ", "1", "1,", "1{,}", "123,", "\\frac", "\\text{", ". ", "\\frac1 "):
        kind_of(part * 200_000 + "!", None)


def test_several_files_of_a_folder_and_of_others(tmp_path: Path, run: Run) -> None:
    row: dict[str, Any] = {
        "data_source": "theirs", "prompt": [{"role": "user", "content": "1+1"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
    }  # fmt: skip
    write_parquet(tmp_path / "a.parquet", [row])
    write_parquet(tmp_path / "b.parquet", [row | {"data_source": "more"}] * 2)
    status, out, _ = run("stats", tmp_path)
    assert status == 0
    assert {name: row["problems"] for name, row in table(out, "data source").items()} == {"theirs": "1", "more": "2"}
    status, out, _ = run("show", tmp_path / "a.parquet")
    assert out == "--- theirs None\n[user]\n1+1\n--- gold: 2\n\n"


def test_show_prints_a_long_gold_in_part(tmp_path: Path, run: Run) -> None:
    repo = "livecodebench/code_generation_lite"
    REPOSITORIES[repo].write(tmp_path / "copy")
    assert run("prepare", repo, "--from", tmp_path / "copy", "--out", tmp_path / "out")[0] == 0
    _, out, _ = run("show", tmp_path / "out", "-n", 1)
    assert out.startswith("--- livecodebench from_test2, difficulty 2.0, verifier code\n[system]\nYou are an expert")
    assert '--- gold: {"fn_name": null, "inputs": ["0", "1", "2"], "outputs": ["1"… (72 characters)' in out


def test_list_has_every_source(run: Run) -> None:
    status, out, _ = run("list")
    assert status == 0
    listed = [cells(line)[0].removesuffix(", test") for line in out.splitlines()[2:]]
    assert listed == [source.repo for source in SOURCES]
    assert all(source.name in out for source in SOURCES)


def test_a_reader_that_stops_ends_it_quietly(tmp_path: Path) -> None:
    rows = [
        {"data_source": "x", "prompt": [{"role": "user", "content": "x" * 10_000}],
         "reward_model": {"style": "rule", "ground_truth": "2"}}
    ] * 100  # fmt: skip
    write_parquet(tmp_path / "long.parquet", rows)
    for words in (["data", "list"], ["data", "show", str(tmp_path / "long.parquet"), "-n", "100"]):
        command = [sys.executable, "-c", "from pacs import cli; raise SystemExit(cli.main())", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.close()
            process.stdout = None
            assert (process.communicate()[1], process.returncode) == ("", 141)


@pytest.mark.parametrize("command", ["show", "stats"])
@pytest.mark.parametrize("prompt", [[], [{"role": "user", "content": None}]], ids=["no message", "no text"])
def test_a_row_without_a_prompt_is_refused(
    prompt: list[dict[str, str | None]], command: str, tmp_path: Path, run: Run
) -> None:
    row = {
        "data_source": "x", "prompt": [{"role": "user", "content": "1+1?"}], "reward_model": {"ground_truth": "2"},
    }  # fmt: skip
    file = write_parquet(tmp_path / "none.parquet", [row, row | {"prompt": prompt}])
    status, _, err = run(command, file)
    assert (status, "has no prompt in row 1" in err) == (2, True)


@pytest.mark.parametrize("command", ["show", "stats"])
def test_a_message_of_parts_is_refused(command: str, tmp_path: Path, run: Run) -> None:
    parts = [{"type": "text", "text": "1+1?"}]
    row = {"data_source": "x", "prompt": [{"role": "user", "content": parts}], "reward_model": {"ground_truth": "2"}}
    file = write_parquet(tmp_path / "parts.parquet", [row | {"extra_info": {"index": 0}}])
    status, _, err = run(command, file)
    assert status == 2
    assert "has a message that is no text in row 0" in err


def test_help_teaches_what_is_taken(run: Run) -> None:
    status, out, _ = run("prepare", "--help")
    assert status == 0
    wanted = (
        "--out",
        "--evaluation",
        "--model",
        "examples:",
        "local files (.json, .jsonl, .parquet, .csv)",
        "13 words",
    )
    assert [word for word in wanted if word not in out] == []
