"""The planted bugs of tests/mutants/ fit the code as it is, and tests/mutants/README.md is of a run on them."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.__main__ import RESULTS
from tests.mutants.page import PAGE, page
from tests.mutants.planted import MARKERS, SURVIVED, Mutant, files_of, read_mutants

MUTANTS = read_mutants()


def problem_of(mutant: Mutant) -> str | None:
    """Why it is no bug any more."""
    try:
        changed = ast.dump(ast.parse(mutant.planted())) != ast.dump(ast.parse(mutant.text()))
    except ValueError as error:
        return str(error)
    if not changed:
        return f"the planted bug {mutant.name} changes nothing"
    if not mutant.why.endswith(".") or (mutant.survives and not mutant.survives.endswith(".")):
        return f"the planted bug {mutant.name}: write a sentence"
    return None


def test_each_still_fits() -> None:
    assert [problem for mutant in MUTANTS if (problem := problem_of(mutant))] == []


@cache
def named_tests(file: Path) -> dict[str, bool]:
    """The tests of a file: whether all of their cases are of scripts/test.sh's second tier, and none is slow."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    values = (node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.dump(node))
    left_out = any(is_left_out(value) for value in values)
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
    return {node.name: not (left_out or any(map(is_left_out, node.decorator_list))) for node in functions}


def is_left_out(mark: ast.expr) -> bool:
    """Whether a mark, or one of a list of them, leaves a test out where planted bugs are tried; not one of a case's."""
    if isinstance(mark, ast.List | ast.Tuple):
        return any(map(is_left_out, mark.elts))
    return ast.unparse(mark) in {f"pytest.mark.{name}" for name in re.findall(r"not (\w+)", MARKERS)}


def missing_tests(mutant: Mutant, caught_by: str) -> list[str]:
    """Of the tests that are to catch a bug, and of the one that did, those that the second tier has not."""
    missing = []
    for test in (*mutant.tests, *([caught_by] if "::" in caught_by else [])):
        names = test.split("::")[1:]
        tried = [named_tests(file) for file in files_of(test) if file.name.startswith("test_")]
        if not (tried[0].get(names[0]) if names else any(any(each.values()) for each in tried)):
            missing.append(f"{mutant.name}: {test}")
    return missing


def test_the_second_tier_has_the_tests_that_catch_them() -> None:
    """`scripts/test.sh` without `--all`. After a test is renamed or merged: `bash scripts/mutants.sh`."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert [line for mutant in MUTANTS for line in missing_tests(mutant, results[mutant.name]["by"])] == []


def test_a_test_of_another_tier_is_seen() -> None:
    """Of a file's own mark, of a test's, and of one that is not there."""
    about = {"name": "x", "file": "pacs/algorithm/scores.py", "old": "", "new": "", "why": "Nothing."}
    others = (
        "tests/integration/worker/test_worker.py",
        "tests/recipes/test_countdown.py::test_solutions_of_four_numbers_are_those_of_a_brute_force",
        "tests/algorithm/test_scores.py::test_nothing",
    )
    assert len(missing_tests(Mutant(tests=others, **about), "")) == len(others)
    assert missing_tests(Mutant(tests=("tests/algorithm",), **about), "") == []


def test_a_bug_whose_text_is_gone_fails_by_name() -> None:
    about = {"name": "gone", "file": "pacs/algorithm/scores.py", "tests": (), "why": "Nothing."}
    with pytest.raises(ValueError, match="the planted bug gone no longer fits: its old text occurs 0 times"):
        Mutant(old="what was never there", new="", **about).planted()
    with pytest.raises(ValueError, match=r"occurs \d+ times"):
        Mutant(old="groups", new="", **about).planted()


def test_there_is_a_list_over_all_that_decides_what_is_trained() -> None:
    assert len(MUTANTS) >= 60
    files = {mutant.file for mutant in MUTANTS}
    for part in ("algorithm", "integration", "rewards", "metrics", "evaluation"):
        assert any(file.startswith(f"pacs/{part}/") for file in files), part


def test_the_page_is_of_a_run_on_this_list() -> None:
    """After a change of the list: `bash scripts/mutants.sh`. Bugs that survive have a reason, and no others."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert results.keys() == {mutant.name for mutant in MUTANTS}
    assert {name for name, result in results.items() if result["verdict"] == SURVIVED} == {
        mutant.name for mutant in MUTANTS if mutant.survives
    }
    assert PAGE.read_text(encoding="utf-8") == page(MUTANTS, results)
