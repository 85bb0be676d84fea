import re
from pathlib import Path

import pytest

from pacs.metrics.document import tables, written_into
from pacs.metrics.entry import SUFFIXES
from pacs.metrics.registry import ENTRIES

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_what_the_registry_says() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written_into(page), "run `python -m pacs.metrics docs/metrics.md`"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="the page lacks the lines <!-- The tables are written by"):
        written_into("# Metrics\n")


def test_the_page_has_a_row_for_every_entry() -> None:
    cells = [line.split(" | ")[0] for line in tables().splitlines() if line.startswith("`")]
    named = [name for cell in cells for name in re.findall("`([^`]+)`", cell)]
    assert named == [entry.name for entry in ENTRIES]


def test_the_page_says_what_each_suffix_is() -> None:
    before = PAGE.read_text(encoding="utf-8").partition("<!-- The tables")[0]
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in before] == []


def test_no_line_runs_into_markup() -> None:
    """Each row has three cells, and every code span that is opened is closed."""
    for line in tables().splitlines():
        assert line.count("`") % 2 == 0, line
        assert not line.startswith("`") or line.count("|") == 2, line
