"""Prompts with a system message, and what decides what is prepared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import PreTrainedTokenizerFast

from pacs.data.chat_template import Template
from pacs.data.filters import EvaluationSet
from pacs.data.request import plain_request
from pacs.data.stats import read_rows, statistics
from tests.data.conftest import Run, manifest, problems, write_jsonl, write_parquet

SYSTEM = ["--system", "You are a careful mathematician who checks each step of the work twice."]


def test_the_questions_of_a_set_with_a_system_message_are_its_users(tmp_path: Path, run: Run) -> None:
    asked = ["What is 1+1?", "What is 5*7?"]
    rows = [{"problem": question, "answer": "2"} for question in asked]
    file = write_jsonl(tmp_path / "a.jsonl", rows)
    assert run("prepare", file, "--split", "test", "--out", tmp_path / "data" / "a", *SYSTEM)[0] == 0
    train = write_jsonl(tmp_path / "b.jsonl", [*rows, {"problem": SYSTEM[1], "answer": "3"}])
    assert run("prepare", train, "--out", tmp_path / "data" / "b")[0] == 0
    assert manifest(tmp_path / "data" / "b")["dropped"] == {"overlap with a: the same text": 2}
    (kept,) = problems(tmp_path / "data" / "b" / "train.parquet")
    assert kept["prompt"][0]["content"].startswith(SYSTEM[1])


def test_the_length_of_a_prompt_is_that_of_all_its_messages(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(
        tmp_path / "a.jsonl", [{"problem": "x" * 5, "answer": "1"}, {"problem": "y" * 90, "answer": "2"}]
    )
    words = ["--system", "s" * 60, "--instruction", ""]
    assert run("prepare", file, "--out", tmp_path / "out", *words)[0] == 0
    assert manifest(tmp_path / "out")["prompt_length"]["histogram"] == {"64-127": 1, "128-255": 1}


def row(source: str, question: str, gold: str, system: str) -> dict[str, Any]:
    return {
        "data_source": source,
        "prompt": [{"role": "system", "content": system}, {"role": "user", "content": question}],
        "reward_model": {"style": "rule", "ground_truth": gold},
        "extra_info": {"verifier": "math"},
    }


def cells(text: str, name: str) -> list[str]:
    """Of the first line of a table that begins with a name."""
    return next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name).split()


def test_statistics_are_of_every_row_of_each_source(
    tmp_path: Path, model: Path, tokenizer: PreTrainedTokenizerFast
) -> None:
    """More rows than are read at a time; one system message for all, which is no copy of a question."""
    rows = [row("a", "1" * (number + 1), "7", "s" * 40) for number in range(150)] + [row("b", "22", "x+1", "")] * 4
    write_parquet(tmp_path / "rows.parquet", rows)
    for thinking in (True, False):
        said = statistics(read_rows(tmp_path / "rows.parquet"), Template(str(model), thinking))
        header = said.splitlines()[0].split()
        assert dict(zip(header[2:], cells(said, "a "), strict=True)) == {
            "problems": "150", "duplicates": "0", "integer": "150", "expression": "–"
        }  # fmt: skip
        assert cells(said, "b ") == ["4", "3", "–", "4"]
        characters, tokens = (list(map(float, cells(said, f"a: prompt, {what}"))) for what in ("characters", "tokens"))
        lengths = sorted(40 + number + 1 for number in range(150))
        assert characters == pytest.approx(
            [lengths[0], 40 + 38.25, 40 + 75.5, 40 + 112.75, 40 + 1 + 0.95 * 149, lengths[-1]], abs=0.06
        )
        shortest = tokenizer.apply_chat_template(
            rows[0]["prompt"], add_generation_prompt=True, return_dict=False, enable_thinking=thinking
        )
        assert tokens == pytest.approx([length - lengths[0] + len(shortest) for length in characters], abs=0.06)
        assert said.splitlines()[-2:] == ["  150 x 7", "  4 x x+1"]


def test_no_thinking_is_heeded_by_stats(tmp_path: Path, model: Path, run: Run) -> None:
    write_parquet(tmp_path / "rows.parquet", [row("a", "1+1", "2", "")])
    most = {}
    for words in ([], ["--no-thinking"]):
        status, out, _ = run("stats", tmp_path / "rows.parquet", "--model", model, *words)
        assert status == 0
        most[len(words)] = float(cells(out, "a: prompt, tokens")[-1])
    assert most[1] - most[0] == len("<think>\n\n</think>\n\n")


def test_whatever_decides_what_is_prepared_is_among_its_settings(tmp_path: Path) -> None:
    """So that another one is not taken for what is there already."""
    plain = plain_request("math500", tmp_path)
    measured = replace(plain, model="tiny")
    evaluation = EvaluationSet(tmp_path / "aime" / "test.parquet", "ab")
    settings = [
        plain.settings([]),
        measured.settings([]),
        replace(measured, thinking=not measured.thinking).settings([]),
        replace(measured, max_prompt_length=17).settings([]),
        replace(measured, model="other").settings([]),
        replace(plain, instruction="Hm.").settings([]),
        replace(plain, system="Hm.").settings([]),
        replace(plain, system="").settings([]),
        replace(plain, revision="v1").settings([]),
        replace(plain, source=replace(plain.source, verifier="exact_match")).settings([]),
        replace(plain, options={"release": "release_v1"}).settings([]),
        plain.settings([evaluation]),
        plain.settings([replace(evaluation, sha256="cd")]),
    ]
    assert all(one != other for place, one in enumerate(settings) for other in settings[:place])
    # Without a model nothing is measured: what would be makes no difference.
    assert replace(plain, thinking=False, max_prompt_length=17).settings([]) == settings[0]
