"""What a sweep ends in, from its results alone: the table, the plot, and one page of both."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.tables import Table
from pacs.report import write_together
from pacs.report.page import Picture, build_page
from pacs.sweeps.plot import draw, groups_of
from pacs.sweeps.results import read
from pacs.sweeps.table import measure_table, missing_table, reading, results_page
from pacs.verl_keys.metrics import SCORE

TABLE, PLOT, PAGE = "results.md", "results.png", "index.html"


def render(results: Mapping[str, Any]) -> dict[str, bytes]:
    """File -> content: results.md, and where a run has logged a step results.png and index.html."""
    files = {TABLE: results_page(results).encode()}
    if groups := groups_of(results):
        png, said = draw(results, groups)
        picture = Picture(png, said, results["description"], reading(results), (SCORE,))
        page = build_page(groups, pictures=[picture], tables=tables(results), title=title_of(results))
        files |= {PLOT: png, PAGE: page.encode()}
    return files


def title_of(results: Mapping[str, Any]) -> str:
    """Of the page."""
    return f"{results['sweep']}: {results['recipe']}"


def tables(results: Mapping[str, Any]) -> dict[str, Table]:
    """Caption -> table."""
    found = {"At the end of training": measure_table(results)}
    if missing := missing_table(results):
        found["Not finished"] = missing
    return found


def write_rendered(file: Path, out: Path) -> list[Path]:
    """Render a results.json into a folder; what is there already is replaced as a whole.

    Returns:
        The files.

    Raises:
        UserError: the file has no results, or none to draw.
    """
    results = read(file)
    files = render(results)
    if PLOT not in files:
        raise UserError(f"{file}: nothing to draw: no run has logged a step yet")
    out.mkdir(parents=True, exist_ok=True)
    write_together(out, files)
    return [out / name for name in files]
