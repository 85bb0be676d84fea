"""Rates on disk, what a problem is known by, and what is said of them, against brute force."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from pacs.base.errors import UserError
from pacs.data.rates import Rate, Rates, problem_key, rates_file, read_rates, summary, write_rates

MESSAGES = [{"role": "user", "content": "What is 1+1?"}]


def rates(**changes: Any) -> Rates:
    problems = [Rate(f"{i:032d}", str(i), right, 16) for i, right in enumerate((0, 0, 3, 4, 8, 11, 15, 16))]
    values = {
        "data_sha256": "cd" * 32, "model": "tiny", "model_sha256": "ab" * 32, "sampling": {"temperature": 1.0},
        "verifiers": {"math": {}}, "made_by": {"pacs": "0", "git_commit": None}, "problems": problems,
    }  # fmt: skip
    return Rates(**values | changes)


def test_they_lie_beside_the_data_a_problem_a_line() -> None:
    assert rates_file(Path("data/x/train.parquet")) == Path("data/x/train.rates.jsonl")
    assert rates_file(Path("my.data")) == Path("my.data.rates.jsonl")


def test_what_was_written_is_read(tmp_path: Path) -> None:
    write_rates(tmp_path / "train.rates.jsonl", rates())
    assert read_rates(tmp_path / "train.rates.jsonl") == rates()
    about, *lines = map(json.loads, (tmp_path / "train.rates.jsonl").read_text().splitlines())
    assert (about["model_sha256"], about["data_sha256"], len(lines)) == ("ab" * 32, "cd" * 32, 8)
    assert lines[2] == {"key": f"{2:032d}", "id": "2", "correct": 3, "samples": 16}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file"),
        ("", "is not what `pacs data rate` writes"),
        ("{}\n", "is not what `pacs data rate` writes"),
        ("nothing\n", "line 1 is damaged"),
        ("HEAD{}\n", "is not what `pacs data rate` writes"),
        ('HEAD{"key": "a", "id": "1", "correct": 17, "samples": 16}\n', "solved more often than it was sampled"),
        ('HEAD{"key": "a", "id": "1", "correct": "1", "samples": 16}\n', "is not what `pacs data rate` writes"),
    ],
)
def test_another_file_is_refused(text: str | None, said: str, tmp_path: Path) -> None:
    file = tmp_path / "train.rates.jsonl"
    if text is not None:
        write_rates(file, rates(problems=[]))
        file.write_text(text.replace("HEAD", file.read_text()))
    with pytest.raises(UserError, match=said):
        read_rates(file)


def test_a_problem_is_known_by_what_is_asked_and_the_right_answer() -> None:
    key = problem_key(MESSAGES, "2")
    assert problem_key([{"content": "What is 1+1?", "role": "user", "name": None}], 2) == key
    others = [
        (MESSAGES, "3"), ([{"role": "system", "content": "What is 1+1?"}], "2"), ([*MESSAGES, *MESSAGES], "2"),
        (MESSAGES, None), ([{"role": "user", "content": None}], "2"),
    ]  # fmt: skip
    assert len({key, *(problem_key(messages, truth) for messages, truth in others)}) == 6


def test_the_summary_counts_every_problem_once() -> None:
    said = summary(rates().problems)
    assert said.startswith(
        "8 problems, pass rate 0.445 in the mean: never right 25.0%, up to 1/4 25.0%, up to 1/2 12.5%"
    )
    assert "up to 3/4 12.5%, above 12.5%, always right 12.5%." in said


@pytest.mark.parametrize("samples", [8, 10])
def test_the_mixed_groups_are_those_of_all_choices(samples: int) -> None:
    problems = [Rate(str(right), str(right), right, samples) for right in range(samples + 1)]
    mixed = [
        0 < sum(choice) < 8
        for each in problems
        for choice in itertools.combinations([1] * each.correct + [0] * (samples - each.correct), 8)
    ]
    assert f"{sum(mixed) / len(mixed):.1%} would be mixed" in summary(problems)
    assert "mixed" not in summary([*problems, Rate("x", "x", 3, 7)])
