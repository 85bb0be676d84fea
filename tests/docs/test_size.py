"""How much there is to read, and how wide it is."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))
COLUMNS = 100
#: What is no prose: headings, pictures, tables, and code that is indented.
OTHERS = re.compile(r"#|!|    |.*(^|[^\\`])\|")
#: What has no place to end a line at: the mark of an item, and code.
UNBROKEN = re.compile(r"^\s*([-*]|\d+\.) |`[^`]*`")


def too_wide(text: str) -> Iterator[str]:
    """Lines of prose that could end before the last column; not of what programs have written between comments."""
    fenced = written = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif line.startswith("<!--"):
            written = not line.lower().startswith("<!-- end")
        elif not (fenced or written or OTHERS.match(line)) and " " in UNBROKEN.sub("", line).strip():
            yield from [line] * (len(line) > COLUMNS)


def test_the_readme_and_the_pages_are_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    assert len(PAGES) <= 14
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in PAGES) <= 35_000


def test_lines_of_prose_end_at_100_columns() -> None:
    files = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert {file.name: found for file in files if (found := [*too_wide(file.read_text(encoding="utf-8"))])} == {}


def test_a_wide_line_is_seen() -> None:
    wide = "word " * 21 + "word"
    others = f"- `{wide}`\n\n```\n{wide}\n```\n\na | {wide}\n---|---\n\n# {wide}\n\n<!-- x -->\n{wide}\n<!-- end -->\n"
    assert [*too_wide(f"{wide}\n\n{others}\n- item {wide}\n")] == [wide, f"- item {wide}"]
