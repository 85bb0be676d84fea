"""The verifier of programs, on problems in LiveCodeBench's form and programs that solve them, fail, or cheat."""

import asyncio
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pacs.rewards.code import OUTPUT_BYTES, compute_score, gold_problem, last_code_block, same_json, same_lines
from pacs.rewards.sandbox.limits import Limits
from pacs.rewards.verdict import PREDICTED_CHARS
from tests.rewards.programs import CHEATING, RIGHT, SUM, SUM_PROGRAM, WRONG, problem


def score(program: str, ground_truth: str, **settings: Any) -> dict[str, Any]:
    return compute_score("test", f"So:\n```python\n{program}\n```\nDone.", ground_truth, **settings)


def status(program: str, ground_truth: str, **settings: Any) -> str:
    result = score(program, ground_truth, **settings)
    assert result["score"] == (result["status"] == "correct")
    return str(result["status"])


@pytest.mark.parametrize(("program", "ground_truth"), RIGHT)
def test_right_programs(program: str, ground_truth: str) -> None:
    assert score(program, ground_truth) == {
        "score": 1.0,
        "predicted": f"{program}\n"[:PREDICTED_CHARS],
        "status": "correct",
    }


@pytest.mark.parametrize(("program", "ground_truth"), WRONG)
def test_wrong_programs(program: str, ground_truth: str) -> None:
    assert status(program, ground_truth) == "wrong"


@pytest.mark.parametrize(("program", "ground_truth"), CHEATING.values(), ids=CHEATING)
def test_programs_that_cheat(program: str, ground_truth: str) -> None:
    assert status(program, ground_truth) == "wrong"


@pytest.mark.parametrize("program", ["while True: pass", "import time; time.sleep(1000)", "10**10**9"])
def test_slow_programs(program: str) -> None:
    assert status(program, SUM, test_seconds=1) == "timeout"


def test_a_program_that_is_slow_on_a_later_test() -> None:
    assert (
        status("n = int(input())\nwhile n == 10: pass\nprint(sum(map(int, input().split())))", SUM, test_seconds=1)
        == "timeout"
    )


def test_all_tests_together_have_a_limit() -> None:
    """Each test is within its own."""
    start = time.monotonic()
    ground_truth = problem(None, *[("", "")] * 100)
    assert status("import time; time.sleep(0.5)", ground_truth, total_seconds=2.0) == "timeout"
    assert time.monotonic() - start < 30


def test_the_first_failure_ends_it() -> None:
    ground_truth = problem(None, ("1", "1"), ("2", "1"), ("3", "1"))
    program = "n = input()\nwhile n == '3': pass\nprint(n)"
    assert status(program, ground_truth) == "wrong"


def test_memory_is_limited_by_its_setting() -> None:
    program = "x = bytearray(400 * 2**20)\n" + SUM_PROGRAM
    assert status(program, SUM) == "correct"
    assert status(program, SUM, memory_mib=300) == "wrong"


def test_a_large_test() -> None:
    numbers = list(range(10**6))
    ground_truth = problem(None, (" ".join(map(str, numbers)), "\n".join(map(str, reversed(numbers)))))
    assert status("print(*reversed(input().split()), sep='\\n')", ground_truth) == "correct"


@pytest.mark.parametrize(
    ("response", "code"),
    [
        ("```python\nx\n```", "x\n"),
        ("```\nx\n```", "x\n"),
        ("```Python3\r\nx\r\n```\r\n", "x\r\n"),
        ("``` py\nx\n```", "x\n"),
        ("a\n  ```python  \n  x\n   y\n  ```  \nb", "x\n y\n"),
        ("```python\nx\n```\n```python\ny\n```", "y\n"),
        ("```python\nx\n```\n```\ny\n```", "y\n"),
        ("```python\nx\n```\n```cpp\ny\n```\n```text\nz\n```", "x\n"),
        ("```python\n```", ""),
        ("````python\n```\nx\n````", "```\nx\n"),
        ("```python\nx\n```\n```print(1)```", "x\n"),  # no fence, but code in a line
        ("```python\nx = '''\n```python\n'''\n```", "x = '''\n```python\n'''\n"),
        ("```python\nx", None),
        ("```python\nx\n```\n```python\ny", None),  # cut off: x was not the last word
        ("```cpp\nx\n```", None),
        ("`x`", None),
        ("x", None),
        ("", None),
    ],
)
def test_last_code_block(response: str, code: str | None) -> None:
    assert last_code_block(response) == code


@pytest.mark.parametrize("function", [None, "long"])
def test_an_output_for_which_there_is_no_room_is_an_error(
    function: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """Before the program is run; with more room it is right. The rest of what may be written is padding."""
    text = "x" * (2**18 + 1)
    ground_truth = problem(function, ("1", json.dumps(text) if function else text))
    program = f"def long(x): return {text!r}" if function else f"print({text!r}.ljust(2**21))"
    assert status(program, ground_truth, output_mib=3) == "correct"
    assert status(program, ground_truth, output_mib=2) == "error"
    size = 2**18 + (3 if function else 1)
    assert f"a right output has {size:,} bytes; with code.output_mib=2 it may have 262,144 at most" in caplog.text
    assert gold_problem(ground_truth) is None


def test_tests_that_cannot_be_met_are_told_when_data_are_prepared() -> None:
    most = (Limits.output_mib - 1) * 2**18
    assert gold_problem(problem(None, ("", "x" * most))) is None
    assert "code.output_mib=64" in str(gold_problem(problem(None, ("", "1"), ("", "x" * (most + 1)))))
    assert "the ground truth is not" in str(gold_problem("[]"))


@pytest.mark.parametrize("arguments", ["[1]\n", "", "[1,2", "1 2", "5\n\n6"])
def test_arguments_that_no_function_is_given_are_told_when_data_are_prepared(arguments: str) -> None:
    """No program can be graded by them."""
    ground_truth = problem("same", ("[1]", "[1]"), (arguments, "[1]"))
    assert "is not JSON (" in str(gold_problem(ground_truth))
    assert status("def same(*given): return [1]", ground_truth) == "error"
    assert gold_problem(problem(None, (arguments, "[1]"))) is None


def test_a_longer_output_than_a_right_program_may_write_is_wrong() -> None:
    """Though it ends with white space alone."""
    for size, expected in ((OUTPUT_BYTES + 4, "correct"), (OUTPUT_BYTES + 5, "wrong")):
        assert status(f"print('1'.ljust({size}), end='')", problem(None, ("", "1"))) == expected


def test_what_a_program_may_write_is_limited_by_its_setting() -> None:
    program = "import os\nfor _ in range(3): os.write(1, b' ' * 2**20)\nprint(1)"
    ground_truth = problem(None, ("", "1".ljust(2**19)))
    assert status(program, ground_truth, output_mib=4) == "wrong"  # longer than what is read
    assert status(program.replace("range(3)", "range(2)"), ground_truth, output_mib=4) == "correct"
    over = "import os\ntry:\n    while True: os.write(1, b' ' * 2**20)\nexcept OSError: print(1)"
    assert status(over, problem(None, ("", "")), output_mib=2) == "wrong"


def test_long_and_hostile_texts_are_read_in_linear_time() -> None:
    for part in ("```", "```\n", "``` ", "` ", " ", "\n", "```python\n", "\n ```\n"):
        last_code_block(part * 200_000)
    same_lines("\n" * 10**6, "1")
    same_lines(" " * 10**6 + "1", "\n" * 10**6)


def test_only_the_final_part_counts() -> None:
    right, wrong = f"```python\n{SUM_PROGRAM}\n```\n", "```python\nprint(1)\n```\n"
    for response, expected in (
        (f"<think>{wrong}</think>{right}", "correct"),
        (f"<think>{right}</think>{wrong}", "wrong"),
        (f"<think>{right}</think>", "no_answer"),
        (f"<think>{right}", "no_answer"),
        ("", "no_answer"),
    ):
        assert compute_score("test", response, SUM)["status"] == expected


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("1\n2\n", "1\n2", True),
        ("\n 1 \n 2 \n\n", "1\n2\n", True),
        ("1\r\n2\r\n", "1\n2", True),
        ("1.0 2", "1 2.00", True),
        ("1e3", "1000", True),
        ("-0", "0", True),
        ("100000000000000000001", "100000000000000000000", False),
        ("0.1", "0.10000000001", False),  # no tolerance but the value
        ("1  2", "1 2", True),
        ("a  b", "a b", False),
        ("1 a", "1.0 a", False),  # numbers alone
        ("A", "a", False),
        ("1\n\n2", "1\n2", False),
        ("1 2", "1\n2", False),
        ("1", "1 2", False),
        ("nan", "NaN", False),
        ("sNaN", "1", False),
        ("inf", "Infinity", True),
        ("1e999999", "2", False),
        ("", "\n", True),
        ("", "0", False),
    ],
)
def test_same_lines(output: str, expected: str, same: bool) -> None:
    assert same_lines(output, expected) is same


def test_the_first_or_the_last_lines_alone_are_not_the_output() -> None:
    lines = ["3 4", "yes", "", "0.5", "no"]
    for kept in range(len(lines)):
        assert not same_lines("\n".join(lines[:kept]), "\n".join(lines))
        assert not same_lines("\n".join(lines), "\n".join(lines[:kept]))
        assert not same_lines("\n".join(lines[kept + 1 :]), "\n".join(lines))
    assert same_lines("\n".join(lines), "\n".join(lines))


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("[1,2]", "[1, 2]", True),
        ("1.0", "1", True),
        ("true", "1", True),  # as in Python
        ('"1"', "1", False),
        ("null", "[]", False),
        ("0.30000000000000004", "0.3", False),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ("NaN", "NaN", False),
        ("", "1", False),
        ("1 2", "1", False),
        ("[" * 10**5, "1", False),
        ("9" * 10**5, "1", False),
    ],
)
def test_same_json(output: str, expected: str, same: bool) -> None:
    assert same_json(output, expected) is same


@pytest.mark.parametrize(
    "ground_truth",
    [
        "",
        "42",
        "[]",
        "{}",
        problem(None),
        '{"fn_name": null, "inputs": ["1"], "outputs": []}',
        '{"fn_name": null, "inputs": [1], "outputs": ["1"]}',
        '{"fn_name": null, "inputs": "12", "outputs": "12"}',
        '{"fn_name": 1, "inputs": ["1"], "outputs": ["1"]}',
        '{"fn_name": "f", "inputs": ["1"], "outputs": ["no JSON"]}',
        '{"fn_name": "f", "inputs": ["[1]\\nno JSON"], "outputs": ["1"]}',
        '{"fn_name": "f", "inputs": ["1\\n"], "outputs": ["1"]}',
        '{"fn_name": null, "inputs": ["\\ud800"], "outputs": [""]}',
        '{"fn_name": null, "inputs": 1, "outputs": 1}',
        pytest.param("[" * 200_000, id="nested"),
        pytest.param(json.dumps({"fn_name": "f", "inputs": ["1"], "outputs": ["[" * 200_000]}), id="nested output"),
        None,
    ],
)
def test_a_ground_truth_that_is_no_test_is_an_error(ground_truth: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert status(SUM_PROGRAM, ground_truth) == "error"
    assert "A program of test could not be tested" in caplog.text


def test_a_machine_without_room_for_a_process_is_an_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert status(SUM_PROGRAM, SUM) == "error"
    assert "No such file or directory: '/nowhere/python'" in caplog.text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"test_seconds": 0}, "code.test_seconds=0: use a whole number of at least 1"),
        ({"test_seconds": 1.5}, "code.test_seconds=1.5"),
        ({"total_seconds": 0}, "code.total_seconds=0: use a number above 0"),
        ({"memory_mib": 1}, "code.memory_mib=1: use a whole number of at least 256"),
        ({"output_mib": 1}, "code.output_mib=1: use a whole number of at least 2"),
    ],
)
def test_limits_that_are_none(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        status(SUM_PROGRAM, SUM, **settings)


def test_from_threads_and_from_a_running_event_loop() -> None:
    """As verl's reward workers call it: hostile programs do no harm to their neighbours."""
    programs = {
        SUM_PROGRAM: "correct",
        "print(1)": "wrong",
        "while True: pass": "timeout",
        "import os\nos.fork()": "wrong",
    }

    async def grade_all() -> list[str]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(4) as threads:
            calls = (
                loop.run_in_executor(threads, lambda code=code: status(code, SUM, test_seconds=1))
                for code in [*programs] * 3
            )
            return list(await asyncio.gather(*calls))

    assert asyncio.run(grade_all()) == [*programs.values()] * 3


BIG = "7" * 5001


@pytest.mark.parametrize(
    ("program", "given", "expected", "name", "status"),
    [
        ("print(int(input()))", BIG, BIG, None, "correct"),
        ("print(int(input()) + 1)", BIG, BIG, None, "wrong"),
        ("def f(a): return a + 1", BIG, f"{BIG[:-1]}8", "f", "correct"),
        ("def f(a): return a + 2", BIG, f"{BIG[:-1]}8", "f", "wrong"),
        ("print(10**49_999)", "", "1" + "0" * 49_999, None, "correct"),
        ("print(10**50_000)", "", "1" + "0" * 50_000, None, "wrong"),  # as in LiveCodeBench's runner
    ],
)
def test_numbers_of_thousands_of_digits(program: str, given: str, expected: str, name: str | None, status: str) -> None:
    gold = json.dumps({"fn_name": name, "inputs": [given], "outputs": [expected]})
    assert gold_problem(gold) is None
    assert compute_score("test", f"```python\n{program}\n```", gold)["status"] == status


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("0.3333333", "0.3333334", True),
        ("0.3333", "0.3333334", False),
        ("1000000.5", "1000000.9", True),  # of its size
        ("0.0000001", "0", True),
        ("3", "4", False),
        ("1000000", "1000001", False),  # whole numbers are exact
        ("1000000.0", "1000000.5", True),
        ("0.5 7", "0.5000001 7", True),
        ("0.5 7", "0.5000001 8", False),
        ("0.5", "0.5 0.5", False),
        ("nan", "0.5", False),
        ("inf", "1e400", False),
        ("-inf", "inf", False),
        ("0.5 a", "0.5000001 a", False),
    ],
)
def test_a_tolerance_of_floats(output: str, expected: str, same: bool) -> None:
    assert same_lines(output, expected, 1e-6) is same
    assert same_lines(f"1\n{output}", f"1\n{expected}", 1e-6) is same
    assert not same_lines(output, expected)


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("[0.3333333, [1]]", "[0.3333334, [1]]", True),
        ("[0.3333333, [1]]", "[0.3333334, [2]]", False),
        ('{"a": 1.0000001}', '{"a": 1}', True),
        ('{"a": 1.0000001}', '{"b": 1}', False),
        ("[1000000]", "[1000001]", False),
        ("[0.5]", "[0.5, 0.5]", False),
        ("NaN", "1.0", False),
        ("true", "1.0000001", False),
        ("1.0000001", "null", False),
    ],
)
def test_a_tolerance_of_results(output: str, expected: str, same: bool) -> None:
    assert same_json(output, expected, 1e-6) is same
    assert not same_json(output, expected)


def test_the_tolerance_is_a_setting() -> None:
    gold = json.dumps({"fn_name": None, "inputs": [""], "outputs": ["0.333333"]})
    response = "```python\nprint(1 / 3)\n```"
    assert compute_score("test", response, gold)["status"] == "wrong"
    assert compute_score("test", response, gold, float_tolerance=1e-6)["status"] == "correct"
    for wrong in (-0.1, 1.0, float("nan")):
        with pytest.raises(ValueError, match=r"code.float_tolerance=.*: use a number from 0 to below 1"):
            compute_score("test", response, gold, float_tolerance=wrong)
