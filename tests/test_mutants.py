"""The planted bugs of tests/mutants/ fit the code as it is, and tests/mutants/README.md is of a run on them."""

import ast
import json
import re

import pytest

from tests.mutants.__main__ import RESULTS
from tests.mutants.page import PAGE, page
from tests.mutants.planted import SURVIVED, Mutant, files_of, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_still_fits_and_its_tests_are_there(mutant: Mutant) -> None:
    planted = mutant.planted()
    assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(mutant.text())), "it changes nothing"
    assert mutant.tests
    for test in mutant.tests:
        (text, *_) = [file.read_text(encoding="utf-8") for file in files_of(test)]
        for name in test.split("::")[1:]:
            assert re.search(rf"^def {name}\(", text, flags=re.MULTILINE), f"{test} is not there"
    assert mutant.why.endswith(".")
    assert not mutant.survives or mutant.survives.endswith(".")


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
