"""The page of the stack's policies: what it says is what the records say, and the one that is kept is of today's."""

from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from scipy.stats import ttest_ind

from pacs.base.errors import UserError
from recipes.laboratory import questions
from recipes.laboratory.compared import compare
from recipes.laboratory.records import Records
from recipes.methods import page
from tests.recipes.laboratory.cells import cell

SAMPLES = 256


def record(method: str, seed: int, right: int, **changed: Any) -> dict[str, Any]:
    """Of 96 problems half are right so often, and the others never."""
    seen = {
        "greedy": 0.5,
        "entropy": 0.1,
        "response_tokens_mean": 39.0,
        "right": [right, 0] * 48,
        "samples": SAMPLES,
        "distinct": [1, 0] * 48,
        "right_entropy": None,
    }
    return {
        "task": "arithmetic_mixed",
        "method": method,
        "seed": seed,
        "commit": "abc",
        "start": Records().newest_start["arithmetic_mixed", 0],
        "lr": 1e-4,
        "tokens": 400_000 + seed,
        "evaluation": seen,
    } | changed


@pytest.fixture(scope="module")
def laboratory() -> Records:
    return Records()


def table_of(text: str, title: str) -> str:
    """The lines of the table below a heading."""
    part = text.split(f"{title}\n")[1].split("\n#")[0]
    return "\n".join(line for line in part.splitlines() if line.startswith("|"))


def test_differences(laboratory: Records) -> None:
    rights = {"grpo": (150, 160, 170), "pacs": (180, 190, 212)}
    measured = [record(name, seed, right) for name, three in rights.items() for seed, right in enumerate(three)]
    text = page.page(measured, laboratory)
    ones = {name: [right / SAMPLES / 2 for right in three] for name, three in rights.items()}
    ended = table_of(text, "## arithmetic_mixed")
    assert cell(ended, "pacs", "pass@1").startswith(f"{fmean(ones['pacs']):.3f} ± ")
    assert cell(ended, "pacs", "pass@256") == "0.500"
    assert (cell(ended, "pacs", "seeds"), cell(ended, "grpo", "thousand tokens")) == ("3", "400.0 ± 0.0")

    arms = {arm.name: arm for arm in compare(questions.read("methods"), "arithmetic_mixed", laboratory).arms}
    theirs = list(arms["pacs_authors"].finals["pass@1"].values())
    test = ttest_ind(ones["pacs"], theirs, equal_var=False)
    found = cell(table_of(text, "### Against the laboratory: arithmetic_mixed"), "pacs", "pass@1: stack less it")
    interval = test.confidence_interval(0.95)
    numbers = (fmean(ones["pacs"]) - fmean(theirs), interval.low, interval.high)
    assert found == "{:+.3f} [{:+.3f}, {:+.3f}]".format(*numbers).replace("-", "−")

    beside = table_of(text, "### Against grpo: arithmetic_mixed")
    assert cell(beside, "pacs", "pass@1").startswith(f"{fmean(ones['pacs']) - fmean(ones['grpo']):+.3f} [")
    there = fmean(theirs) - fmean(arms["grpo"].finals["pass@1"].values())
    assert cell(beside, "pacs", "pass@1, in the laboratory").startswith(f"{there:+.3f} [".replace("-", "−"))
    # Three measures of one pair of methods: Holm's smallest p is three times its own (greedy is alike: p is 1).
    p = ttest_ind(ones["pacs"], ones["grpo"], equal_var=False).pvalue
    assert float(cell(beside, "pacs", "pass@1: p (Holm)")) == pytest.approx(min(1, 3 * p), abs=1e-4)
    assert "another start" not in text
    assert "Another learning rate" not in text


def test_what_is_not_comparable_is_said(laboratory: Records) -> None:
    measured = [record("grpo", 0, 150, start="0" * 16), record("grpo", 1, 150), record("rloo", 0, 150, lr=2e-4)]
    text = page.page(measured, laboratory)
    assert "1 of 3 runs of the stack began at another start than the laboratory's" in text
    assert "Another learning rate than the laboratory's: rloo." in text


def test_a_method_that_the_laboratory_has_not_stands_in_the_first_table_alone(laboratory: Records) -> None:
    text = page.page([record("raft", 0, 150), record("grpo", 0, 150)], laboratory)
    assert cell(table_of(text, "## arithmetic_mixed"), "raft", "seeds") == "1"
    assert "| raft" not in text.split("### Against the laboratory")[1]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "measured.jsonl").write_text('{"task": "countdown"}\n')
    with pytest.raises(UserError, match=r"line 1 is damaged .*: remove it, and measure that run again"):
        page.read(tmp_path / "measured.jsonl")


def test_the_page_that_is_kept_is_what_the_records_say(laboratory: Records) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(page.read(), laboratory), (
        "run `python -m recipes.methods`"
    )
