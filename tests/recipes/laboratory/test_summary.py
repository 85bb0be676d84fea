"""Tables of documents: their cells beside the records, where they go, and that those that are kept are of today."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from pacs.base.errors import UserError
from recipes.laboratory import summary
from recipes.laboratory.compared import Comparison
from recipes.laboratory.digests import ROOT
from recipes.laboratory.plan import Run, jobs
from recipes.laboratory.records import Records
from tests.recipes.laboratory.cells import T2, cell, finals, heads, row
from tests.recipes.laboratory.made import QUESTION, ask, recorded, records_of

Made = Callable[..., Comparison]


@pytest.fixture
def table(made: Made, tmp_path: Path) -> Callable[..., str]:
    """The table of a question whose runs are all recorded, or as `record` has them."""

    def of(arms: list[str], text: str = QUESTION, record: Callable[[Run], dict[str, Any]] = recorded) -> str:
        question = made(record, text).question
        return summary.summary(question, arms, Records(tmp_path / "results"))

    return of


def test_where_arms_ended(table: Callable[..., str]) -> None:
    found = table(["never", "grpo"])
    assert heads(found) == ["pass@1 (countdown, 3 seeds)", "pass@8 (countdown)"]
    for name, method in (("never", "pacs"), ("grpo", "grpo")):
        ones = [fmean(right) / 16 for right in finals(method)]
        half = T2 * stdev(ones) / math.sqrt(3)
        assert cell(found, name, "pass@1 (countdown, 3 seeds)").startswith(f"{fmean(ones):.3f} ± {half:.3f}")
    assert [line.split()[1] for line in table(["grpo"]).splitlines()[2:]] == ["grpo"]


def test_what_is_clearly_another_than_the_baseline_is_marked(table: Callable[..., str]) -> None:
    """By the p-value that the page has, which is of as many comparisons as the page has."""

    def far(run: Run) -> dict[str, Any]:
        record = recorded(run)
        if run.settings.method == "pacs":
            for evaluation in record["result"]["evaluations"]:
                evaluation["right"] = [*[evaluation["samples"]] * 5, evaluation["samples"] - run.settings.seed % 3]
        return record

    assert summary.BETTER not in table(["never", "grpo"])
    found = table(["never", "grpo"], record=far)
    assert cell(found, "never", "pass@1 (countdown, 3 seeds)").endswith(f" {summary.BETTER}")
    assert summary.BETTER not in "".join(row(found, "grpo"))


def test_what_an_arm_is_compared_with_instead_marks_it(table: Callable[..., str]) -> None:
    """The first of them: the baseline, which is the second here, and as far, does not."""

    def far(run: Run) -> dict[str, Any]:
        record = recorded(run)
        for evaluation in record["result"]["evaluations"]:
            low = 0 if run.settings.method == "grpo" else evaluation["samples"] - 2
            evaluation["right"] = [low + (run.settings.seed + each) % 3 for each in range(6)]
        return record

    arm = "  rloo: {method: rloo, compare_with: [never, grpo]}\n"
    column = "pass@1 (countdown, 3 seeds)"
    found = table(["never", "rloo"], QUESTION + arm, far)
    assert [summary.BETTER in cell(found, name, column) for name in ("never", "rloo")] == [True, False]
    found = table(["rloo"], QUESTION + arm.replace("never, grpo", "grpo, never"), far)
    assert cell(found, "rloo", column).endswith(f" {summary.BETTER}")


def test_more_rollouts_are_said(table: Callable[..., str]) -> None:
    def more(run: Run) -> dict[str, Any]:
        record = recorded(run)
        if run.settings.method == "pacs":
            record["result"]["evaluations"][-1]["rollouts"] = 1234 + run.settings.seed
        return record

    found = table(["never", "grpo"], record=more)
    assert [cell(found, name, "rollouts (countdown)") for name in ("never", "grpo")] == ["1,235", "16"]
    assert "rollouts (countdown)" not in heads(table(["grpo"], record=more))


def test_what_is_asked_of_each_seed(table: Callable[..., str]) -> None:
    text = QUESTION.replace("baselines", "bar: {measure: pass@1, at_least: 0.5}\nbaselines")
    found = table(["never", "grpo"], text)
    ones = [fmean(right) / 16 for right in finals("grpo")]
    assert cell(found, "grpo", "pass@1 at least 0.5 (countdown)") == f"{sum(one >= 0.5 for one in ones)} of 3"
    assert cell(found, "grpo", "lowest pass@1 (countdown)") == f"{min(ones):.3f}"


def test_a_task_that_is_not_complete_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(tmp_path / "questions", monkeypatch)
    first = next(iter(jobs(question, "countdown", lambda run: None)))
    found = summary.summary(question, ["grpo"], records_of(tmp_path / "results", recorded(first.run)))
    assert found.splitlines()[0].split() == ["|", "arm", "|"]


def test_it_goes_between_its_marks(made: Made, tmp_path: Path) -> None:
    made()
    records = Records(tmp_path / "results")
    text = "Before.\n\n<!-- laboratory: better grpo -->\n\nold\n\n<!-- end of laboratory -->\n\nAfter.\n"
    found = summary.rewritten(text, records)
    assert found.startswith("Before.\n\n<!-- laboratory: better grpo -->\n\n| arm")
    assert found.endswith("|\n\n<!-- end of laboratory -->\n\nAfter.\n")
    assert "old" not in found
    assert summary.rewritten(found, records) == found
    with pytest.raises(UserError, match=r"better has no arm grop\. Did you mean grpo\?"):
        summary.rewritten(text.replace("better grpo", "better grop"), records)


@pytest.mark.parametrize("document", summary.DOCUMENTS, ids=str)
def test_documents_have_what_the_records_say(document: Path) -> None:
    """`python -m recipes.laboratory report` writes them."""
    text = (ROOT / document).read_text()
    assert len(summary.MARKED.findall(text)) > 0
    assert summary.rewritten(text, Records()) == text


@pytest.mark.parametrize("document", [summary.DOCUMENTS[0], Path("recipes/methods/README.md")], ids=str)
def test_differences_that_documents_quote_are_on_a_page(document: Path) -> None:
    generated = [*(ROOT / "recipes/laboratory/results").glob("*.md"), ROOT / "recipes/methods/measured.md"]
    pages = "".join(file.read_text() for file in generated)
    quoted = re.findall(r"[+−]\d\.\d{3}\s\[[^\]]*\]", (ROOT / document).read_text())
    assert quoted
    assert [each for each in quoted if " ".join(each.split()) not in pages] == []
