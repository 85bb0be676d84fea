from pathlib import Path

from pacs.metrics import ENTRIES
from pacs.metrics.document import page

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_page_is_what_the_registry_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m pacs.metrics > docs/metrics.md`"


def test_the_page_has_a_heading_for_every_entry() -> None:
    lines = page().splitlines()
    assert [entry.name for entry in ENTRIES if lines.count(f"### `{entry.name}`") != 1] == []


def test_no_line_runs_into_markup() -> None:
    """No field breaks its list item, and every code span that is opened is closed."""
    for line in page().splitlines():
        assert line.count("`") % 2 == 0, line
