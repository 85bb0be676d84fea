"""Metrics that the docs name are in the registry, as are those that the code writes; docs/metrics.md has them all."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

from pacs.metrics.registry import ENTRIES, find
from tests.docs.pages import PAGES, ROOT, Page, read, strings

ROOTS = "|".join(sorted({re.escape(entry.name.split("/")[0]) for entry in ENTRIES}))

#: From a worker to its trainer, which keeps it to itself.
NOT_LOGGED = {"pacs/gradient/skipped_in_a_row"}


def unknown_metrics(page: Page) -> list[str]:
    """Words that begin as a metric does, and are neither one nor a path."""
    named = [word for word in page.words if re.fullmatch(rf"(?:{ROOTS})/[\w*@/-]+", word)]
    return [name for name in named if find(name) is None and not (ROOT / name).exists()]


def test_metrics_named_in_the_docs_are_known() -> None:
    assert {page.name: unknown for page in PAGES if (unknown := unknown_metrics(page))} == {}


def test_the_checker_sees_what_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`pacs/loss_mean`, `pacs/loss`, `pacs/algorithm/`, `pacs/algorithms`, `actor/entropy`, `actor/entropie`\n"
    )
    assert unknown_metrics(read(page)) == ["pacs/loss", "pacs/algorithms", "actor/entropie"]


def test_metrics_of_the_code_are_known() -> None:
    """The strings of the code that begin as a metric of ours does; what is filled in may be anything."""
    written = {text for text in strings() if re.fullmatch(r"pacs/[\w…@/-]+", text)} - NOT_LOGGED
    assert len(written) > 40
    families = {text: re.sub("…|/$", "*", text) for text in written if find(text) is None}
    assert [text for text, glob in families.items() if not any(fnmatchcase(e.name, glob) for e in ENTRIES)] == []
