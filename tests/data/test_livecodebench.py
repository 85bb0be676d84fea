"""LiveCodeBench's rows: its prompt word for word, its tests decoded, and nothing executed on the way."""

import base64
import json
import os
import pickle
import zlib
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from pacs.data.livecodebench import RELEASES, LiveCodeBench
from pacs.data.problem import Dropped, prompt
from tests.data.repositories import coding_row, encode_tests

READ = LiveCodeBench((date(2024, 7, 1), date(2025, 1, 1)))


def test_a_program_that_reads_standard_input() -> None:
    system, user = prompt(READ(coding_row("a", "2024-07-01"), "0"), "")
    assert system == {
        "role": "system",
        "content": "You are an expert Python programmer. You will be given a question (problem specification) and will "
        "generate a correct Python program that matches the specification and passes all tests.",
    }
    assert user["role"] == "user"
    assert prompt(READ(coding_row("a", "2024-07-01"), "0"), "", system="") == [user]
    assert user["content"] == (
        "### Question:\nAdd one, a.\n\n### Format: Read the inputs from stdin solve the problem and write the answer "
        "to stdout (do not directly test on the sample inputs). Enclose your code within delimiters as follows. Ensure "
        "that when the python program runs, it reads the inputs, runs the algorithm and writes output to STDOUT.\n"
        "```python\n# YOUR CODE HERE\n```\n\n### Answer: (use the provided format with backticks)\n\n"
    )


def test_a_function() -> None:
    problem = READ(coding_row("b", "2024-12-31", function="addOne", difficulty="hard"), "0")
    assert problem.content == (
        "### Question:\nAdd one, b.\n\n### Format: You will use the following starter code to write the solution to "
        "the problem and enclose your code within delimiters.\n```python\nclass Solution:\n"
        "    def addOne(self, x):\n        \n```\n\n### Answer: (use the provided format with backticks)\n\n"
    )
    assert json.loads(problem.gold) == {"fn_name": "addOne", "inputs": ["0", "1", "2"], "outputs": ["1", "2", "3"]}
    assert (problem.id, problem.difficulty) == ("b", 3.0)


def test_private_tests_may_be_plain_json() -> None:
    tests = [{"input": "5\n", "output": "6\n", "testtype": "stdin"}]
    problem = READ(coding_row("c", "2024-08-01", private_test_cases=json.dumps(tests)), "0")
    assert json.loads(problem.gold) == {"fn_name": None, "inputs": ["0", "5\n"], "outputs": ["1", "6\n"]}


@pytest.mark.parametrize("form", [str, datetime.fromisoformat])
@pytest.mark.parametrize(
    ("day", "inside"), [("2024-06-30", 0), ("2024-07-01", 1), ("2025-01-01", 1), ("2025-01-02", 0)]
)
def test_both_ends_of_the_window_are_in_it(day: str, inside: bool, form: Any) -> None:
    row = coding_row("d", day)
    row["contest_date"] = form(f"{day}T23:59:00")
    if inside:
        assert READ(row, "0").id == "d"
    else:
        with pytest.raises(Dropped, match="outside the dates"):
            READ(row, "0")


class Attack:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.file),)


def test_a_pickle_that_calls_something_is_not_run(tmp_path: Path) -> None:
    attack = pickle.dumps(Attack(tmp_path / "hacked"))
    row = coding_row("e", "2024-08-01", private_test_cases=base64.b64encode(zlib.compress(attack)).decode())
    with pytest.raises(Dropped, match="unreadable tests"):
        READ(row, "0")
    assert list(tmp_path.iterdir()) == []
    pickle.loads(attack)  # it does something
    assert [path.name for path in tmp_path.iterdir()] == ["hacked"]


@pytest.mark.parametrize(
    "changed",
    [
        {"private_test_cases": "no base64"},
        {"private_test_cases": base64.b64encode(b"no zlib").decode()},
        {"private_test_cases": base64.b64encode(zlib.compress(b"no pickle")).decode()},
        {"private_test_cases": None},
        {"public_test_cases": '[{"input": "1"}]'},
        {"public_test_cases": "{"},
        {"metadata": "[]"},
        {"private_test_cases": base64.b64encode(zlib.compress(b"")).decode()},
        {"private_test_cases": base64.b64encode(zlib.compress(b".")).decode()},
        {"private_test_cases": "[" * 200_000},
        {"private_test_cases": base64.b64encode(zlib.compress(pickle.dumps("[" * 200_000))).decode()},
        {"public_test_cases": "[" * 200_000},
        {"metadata": "[" * 200_000},
    ],
    ids=lambda changed: str(changed)[:60],
)
def test_tests_that_cannot_be_read(changed: dict[str, Any]) -> None:
    with pytest.raises(Dropped, match="unreadable tests"):
        READ(coding_row("f", "2024-08-01", **changed), "0")


def test_no_tests_no_date_and_no_question() -> None:
    with pytest.raises(Dropped, match="empty answer"):
        READ(coding_row("g", "2024-08-01", public_test_cases="[]", private_test_cases=encode_tests([])), "0")
    with pytest.raises(Dropped, match="unreadable date"):
        READ(coding_row("i", "soon"), "0")
    with pytest.raises(Dropped, match="empty question"):
        READ(coding_row("h", "2024-08-01", question_content=" "), "0")


def test_each_release_has_the_files_of_those_before() -> None:
    assert RELEASES["release_v1"] == ("test.jsonl",)
    assert RELEASES["release_v6"] == ("test.jsonl", *(f"test{i}.jsonl" for i in range(2, 7)))
    names = list(RELEASES)
    for i, name in enumerate(names[1:], start=1):
        assert RELEASES[name][:-1] == RELEASES[names[i - 1]]
