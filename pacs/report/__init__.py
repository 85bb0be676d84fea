"""From run folders to something worth showing: figures, one self-contained HTML page, plain-text tables.

run_groups.py   runs that differ in their seeds -> one `Group`: a mean and a band
panels.py       what is drawn, as data: a `Panel` is one figure, `PANELS` are all
findings.py     what the title of a figure says (validation.py: of that one)
style.py        colours, dashes, titles, legends
draw.py         a panel's data over the training step
figures.py      one figure a panel, and the overview
page.py         groups, pictures, tables -> one HTML page, by page.html
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from pacs.base.errors import UserError
from pacs.base.tables import Cell, Table, format_table
from pacs.report.page import Picture, build_page
from pacs.report.panels import PANELS
from pacs.report.run_groups import AXES, group_runs
from pacs.runs.read import Run, read_run, read_runs

__all__ = ["Cell", "Run", "Table", "UserError", "format_table", "read_run", "read_runs", "write_report"]

PAGE = "index.html"
OVERVIEW = "overview"
#: Not as `pacs evaluate budgets` calls its own, which may be in the same folder.
BUDGETS = "token_budgets"


def write_report(
    runs: Sequence[Path],
    out: Path,
    *,
    tables: Mapping[str, Table] | None = None,
    budgets: Picture | None = None,
    title: str = "",
    each: bool = False,
    over: str = "steps",
) -> list[Path]:
    """Write the page, the overview and a figure of each panel that has data, of one run or of several.

    An earlier report in `out` is replaced as a whole, or left as it is where that fails.

    Args:
        runs: folders of training runs.
        out: the folder to write to.
        tables: caption -> table, to open the page; numbers of an evaluation before and after, say.
        budgets: what models score within budgets of tokens, to end the pictures.
        title: of the page.
        each: draw every run by itself, also those that differ only in their seeds.
        over: what is drawn over: a key of `AXES`.

    Returns:
        The files: `index.html`, `overview.png`, then the figures.

    Raises:
        UserError: a folder that is not a run's or has nothing to draw, or not what it is to be drawn over.
    """
    from pacs.report import figures  # matplotlib is slow to import, and `pacs train --help` passes here

    groups = group_runs(read_runs(runs), each=each, axis=AXES[over])
    panels = figures.panels_of(groups)
    titles = {panel.name: figures.title_of(panel, groups) for panel in panels}
    small_multiples = figures.render_png(figures.overview(groups, panels))
    pictures = {
        OVERVIEW: Picture(
            small_multiples, f"Small multiples over the {AXES[over].label}: " + "; ".join(titles.values())
        )
    }
    for panel in tqdm(panels, desc="drawing", unit=" figures", disable=None, leave=False):
        png = figures.render_png(figures.figure_of(panel, groups))
        pictures[panel.name] = Picture(png, titles[panel.name], panel.quantity, panel.reading, panel.metrics)
    if budgets:
        pictures[BUDGETS] = budgets
    page = build_page(groups, pictures=list(pictures.values()), tables=tables or {}, title=title)
    contents = {PAGE: page.encode()} | {f"{name}.png": picture.png for name, picture in pictures.items()}
    out.mkdir(parents=True, exist_ok=True)
    write_together(out, contents)
    for name in (*(panel.name for panel in PANELS), BUDGETS):
        if name not in pictures:
            (out / f"{name}.png").unlink(missing_ok=True)
    return [out / name for name in contents]


def write_together(out: Path, contents: Mapping[str, bytes]) -> None:
    """All files, or the old ones as they were if there is no room for all."""
    aside = {name: out / f".{name}.{os.getpid()}.tmp" for name in contents}
    try:
        for name, content in contents.items():
            aside[name].write_bytes(content)
        for name, temporary in aside.items():
            temporary.replace(out / name)
    finally:
        for temporary in aside.values():
            temporary.unlink(missing_ok=True)
