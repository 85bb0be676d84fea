"""From run folders to something worth showing: one figure, one self-contained HTML page, plain-text tables.

read.py     a run folder -> a typed `Run`
plots.py    runs -> one figure of small multiples; `PANELS` says which
page.py     runs, figure, tables -> one HTML page
table.py    a table of cells -> aligned text
command.py  `pacs report`
inspect_command.py  `pacs inspect`, for what a run saved when it stopped for updates that were not finite
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pacs.report.page import build_page
from pacs.report.read import Run, RunError, read_run, read_runs
from pacs.report.table import Cell, Table, format_table

__all__ = ["Cell", "Run", "RunError", "Table", "format_table", "read_run", "read_runs", "write_report"]


def write_report(
    runs: Sequence[Path], out: Path, *, tables: Mapping[str, Table] | None = None, title: str = ""
) -> Path:
    """Write `out/overview.png` and `out/index.html` for one run, or for several laid over each other.

    `tables` (caption -> table) open the page; numbers of an evaluation before and after, say. Each file
    appears complete or not at all. Returns the page's path.
    """
    pass

    loaded = read_runs(runs)
    figure = plots.overview(loaded)
    png = plots.render_png(figure)
    page = build_page(
        loaded,
        png=png,
        alt="Small multiples over the training step: " + "; ".join(plots.panel_titles(figure)),
        tables=tables or {},
        title=title,
    )
    out.mkdir(parents=True, exist_ok=True)
    _write_atomically(out / "overview.png", png)
    _write_atomically(out / "index.html", page.encode())
    return out / "index.html"


def _write_atomically(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
