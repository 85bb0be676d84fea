"""One self-contained HTML page: no script, nothing fetched from anywhere.

page.html says how it looks, this file what it holds. Everything that comes from a run or a caller is escaped.
"""

import base64
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from pacs.base.redaction import redacted, redacted_command
from pacs.base.settings import differing, shown
from pacs.base.tables import Table, column_names, format_cell
from pacs.base.terminal import visible
from pacs.report.run_groups import Group, experiment
from pacs.runs.read import Run


@dataclass(frozen=True)
class Picture:
    """A figure of the page.

    Attributes:
        png: the picture.
        alt: what it says, for those who do not see it.
        quantity: its heading; the overview has none.
        reading: how to read it.
        metrics: the keys that it shows.
    """

    png: bytes
    alt: str
    quantity: str = ""
    reading: str = ""
    metrics: tuple[str, ...] = ()

    @property
    def base64(self) -> str:
        """The picture as text."""
        return base64.b64encode(self.png).decode()


def build_page(
    groups: Sequence[Group], *, pictures: Sequence[Picture], tables: Mapping[str, Table], title: str = ""
) -> str:
    """The page as text: title, runs, the caller's tables (caption -> table), the pictures, what made the runs."""
    runs = [run for group in groups for run in group.runs]
    between, within = _differences(groups)
    return _template().render(
        title=title or _title(groups),
        progress=_progress(runs[0]) if len(runs) == 1 else {group.label: [_progresses(group)] for group in groups},
        bands=any(len(group.runs) > 1 for group in groups),
        tables=[(caption, column_names(table), _cells(table)) for caption, table in tables.items()],
        pictures=pictures,
        groups=[group.label for group in groups],
        compared=[run.name for run in runs] if len(runs) > 1 else [],
        between=between,
        within=within,
        runs=[
            {
                "name": run.name,
                "info": _info(run),
                "settings": {key: [value] for key, value in shown(run.config).items()},
            }
            for run in runs
        ],
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        # Nothing turns round the direction of writing, either.
        finalize=lambda value: value if isinstance(value, Markup) else visible(str(value)),
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html")


def _title(groups: Sequence[Group]) -> str:
    runs = sum(len(group.runs) for group in groups)
    if len(groups) > 1:
        return f"{runs} training runs compared"
    return f"Training run {groups[0].label}" if runs == 1 else f"{runs} training runs: {groups[0].label}"


def _progresses(group: Group) -> str:
    return "; ".join(f"{run.name}: {_progress(run)}" for run in group.runs)


def _progress(run: Run) -> str:
    started = run.info.get("started")
    return f"up to step {max(run.steps)}" + (f", started {started}" if started else "")


def _cells(table: Table) -> dict[str, list[str]]:
    columns = column_names(table)
    return {name: [format_cell(row.get(column)) for column in columns] for name, row in table.items()}


def _differences(groups: Sequence[Group]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The settings that tell the groups apart, a value of each group; and those that tell only runs apart, of each."""
    by_group = differing({group.label: experiment(group.runs[0]) for group in groups})
    by_run = differing({run.name: shown(run.config) for group in groups for run in group.runs})
    between = {
        key: ["; ".join(dict.fromkeys(format_cell(row[run.name]) for run in group.runs)) for group in groups]
        for key, row in by_run.items()
        if key in by_group
    }
    within = {key: [format_cell(cell) for cell in row.values()] for key, row in by_run.items() if key not in by_group}
    return between, within


def _info(run: Run) -> list[tuple[str, str, bool]]:
    """What made the run: name, value, and whether that is a command."""
    rows = []
    for name, value in (*redacted(run.info).items(), ("folder", run.path)):
        is_command = isinstance(value, list)
        if is_command:
            value = shlex.join(redacted_command([str(word) for word in value]))
        elif isinstance(value, Mapping):
            value = ", ".join(f"{key} {item}" for key, item in value.items())
        rows.append((name.replace("_", " "), str(value), is_command))
    return rows
