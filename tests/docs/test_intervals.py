"""The intervals that documents quote stand on a page that is generated from records."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: A difference with its interval, as in +0.002 [−0.007, +0.011].
QUOTED = re.compile(r"[+−]\d\.\d{3} \[[+−]\d\.\d{3}, [+−]\d\.\d{3}\]")
PAGES = [*sorted(ROOT.glob("recipes/laboratory/results/*.md")), ROOT / "recipes/methods/measured.md"]


def turned(text: str) -> str:
    """The same the other way round, as where a page has A less B and the text B less A."""
    mean, low, high = re.findall(r"[+−]\d\.\d{3}", text.translate(str.maketrans("+−", "−+")))
    return f"{mean} [{high}, {low}]"


def test_quoted_intervals_are_on_a_page() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    for document in ("docs/choosing.md", "recipes/methods/README.md"):
        quoted = QUOTED.findall((ROOT / document).read_text(encoding="utf-8"))
        assert quoted, f"nothing is checked of {document}"
        assert [text for text in quoted if text not in pages and turned(text) not in pages] == [], document
