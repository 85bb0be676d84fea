"""One self-contained HTML page: no script, no template engine, nothing fetched from anywhere.

Everything that comes from a run or a caller is escaped.
"""

import base64
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape as escape_html

from pacs.base.redaction import redacted, redacted_command
from pacs.base.settings import differing, shown
from pacs.base.tables import Table, column_names, format_cell
from pacs.base.terminal import visible
from pacs.report.groups import Group, experiment
from pacs.runs.read import Run

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 58rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0.2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2.5rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 2rem 0 0.3rem; }
p.note, figcaption { color: #555; margin-top: 0; }
figure { margin: 0.5rem 0 1.5rem; }
figure img { width: 100%; height: auto; }
figure.one { max-width: 44rem; }
figcaption { font-size: 0.9rem; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; white-space: nowrap; font-weight: 600; padding-bottom: 0.3rem; }
th, td { padding: 0.25rem 0.9rem 0.25rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
thead th { border-bottom: 2px solid #444; }
th { text-align: left; font-weight: 500; }
td.number, th.number { text-align: right; padding: 0.25rem 0 0.25rem 1.2rem; }
td.text { overflow-wrap: anywhere; }
code, table.settings { font-family: ui-monospace, monospace; font-size: 0.85em; }
code { overflow-wrap: anywhere; }
summary { cursor: pointer; margin: 1rem 0; }
@media print { body { max-width: none; margin: 0; font-size: 10pt; } details:not([open]) { display: none; }
               figure, table { break-inside: avoid; } h2, h3 { break-after: avoid; }
               table.settings { break-inside: auto; } figure.one { max-width: 6.5in; } }
""".strip()

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
"""


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


def build_page(
    groups: Sequence[Group], *, pictures: Sequence[Picture], tables: Mapping[str, Table], title: str = ""
) -> str:
    """The page as text: title, runs, the caller's tables (caption -> table), the pictures, what made the runs."""
    runs = [run for group in groups for run in group.runs]
    title = title or _title(groups)
    body = [f"<h1>{escape(title)}</h1>", _runs(groups)]
    body += [_number_table(caption, table) for caption, table in tables.items()]
    body += [_picture(picture) for picture in pictures]
    if len(runs) > 1:
        body += _differences(groups)
    for run in runs:
        body += [f"<h2>{escape(run.name)}</h2>", _info(run), _settings(run)]
    return HEAD.format(title=escape(title), style=STYLE) + "\n".join(body) + "\n</body>\n</html>\n"


def escape(text: str) -> str:
    """A text as HTML shows it: markup is none, nor what would turn round the direction of writing."""
    return escape_html(visible(text))


def _title(groups: Sequence[Group]) -> str:
    runs = sum(len(group.runs) for group in groups)
    if len(groups) > 1:
        return f"{runs} training runs compared"
    return f"Training run {groups[0].label}" if runs == 1 else f"{runs} training runs: {groups[0].label}"


def _runs(groups: Sequence[Group]) -> str:
    """What is drawn: the run in a sentence, or a table of the groups."""
    if len(groups) == 1 and len(groups[0].runs) == 1:
        return f'<p class="note">{escape(_progress(groups[0].runs[0]))}</p>'
    rows = {group.label: ["; ".join(f"{run.name}: {_progress(run)}" for run in group.runs)] for group in groups}
    note = ""
    if any(len(group.runs) > 1 for group in groups):
        note = (
            '<p class="note">Runs that differ in seeds, names and folders only are drawn as one: the mean, and a band '
            "from the lowest to the highest, at the steps that all of them have.</p>\n"
        )
    return note + _text_table(rows, columns=["runs"])


def _progress(run: Run) -> str:
    started = run.info.get("started")
    return f"up to step {max(run.steps)}" + (f", started {started}" if started else "")


def _picture(picture: Picture) -> str:
    image = base64.b64encode(picture.png).decode()
    image = f'<img alt="{escape(picture.alt)}" src="data:image/png;base64,{image}">'
    if not picture.quantity:
        return f"<figure>{image}</figure>"
    keys = ", ".join(f"<code>{escape(key)}</code>" for key in picture.metrics)
    return (
        f"<h3>{escape(picture.quantity)}</h3>\n"
        f'<figure class="one">{image}\n<figcaption>{escape(picture.reading)} Metrics: {keys}.</figcaption></figure>'
    )


def _number_table(caption: str, table: Table) -> str:
    columns = column_names(table)
    head = "".join(f'<th scope="col" class="number">{escape(column)}</th>' for column in columns)
    rows = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="number">{escape(format_cell(row.get(column)))}</td>' for column in columns)
        + "</tr>"
        for name, row in table.items()
    )
    return (
        f'<div class="wide"><table><caption>{escape(caption)}</caption>\n'
        f"<thead><tr><td></td>{head}</tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _text_table(rows: Mapping[str, Sequence[str]], *, columns: Sequence[str] = (), kind: str = "") -> str:
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells)
        + "</tr>"
        for name, cells in rows.items()
    )
    thead = f"<thead><tr><td></td>{head}</tr></thead>\n" if columns else ""
    return f'<div class="wide"><table class="{kind}">\n{thead}<tbody>\n{body}\n</tbody></table></div>'


def _differences(groups: Sequence[Group]) -> list[str]:
    """The settings that tell the groups apart; folded away those that only tell runs apart."""
    by_group = differing({group.label: experiment(group.runs[0]) for group in groups})
    by_run = differing({run.name: shown(run.config) for group in groups for run in group.runs})
    between = {key: row for key, row in by_run.items() if key in by_group}
    within = {key: row for key, row in by_run.items() if key not in by_group}
    parts = ["<h2>Settings that differ</h2>"]
    if between:
        cells = {
            key: ["; ".join(dict.fromkeys(format_cell(row[run.name]) for run in group.runs)) for group in groups]
            for key, row in between.items()
        }
        parts.append(_text_table(cells, columns=[group.label for group in groups], kind="settings"))
    else:
        parts.append("<p>None, but for seeds, names and folders.</p>" if within else "<p>None.</p>")
    if within:
        cells = {key: [format_cell(cell) for cell in row.values()] for key, row in within.items()}
        table = _text_table(cells, columns=list(next(iter(within.values()))), kind="settings")
        parts.append(f"<details><summary>Seeds, names and folders</summary>\n{table}\n</details>")
    return parts


def _info(run: Run) -> str:
    rows = []
    for name, value in redacted(run.info).items():
        if isinstance(value, Mapping):
            cell = escape(", ".join(f"{key} {item}" for key, item in value.items()))
        elif isinstance(value, list):
            cell = f"<code>{escape(shlex.join(redacted_command([str(word) for word in value])))}</code>"
        else:
            cell = escape(str(value))
        rows.append(f'<tr><th scope="row">{escape(name.replace("_", " "))}</th><td class="text">{cell}</td></tr>')
    rows.append(f'<tr><th scope="row">folder</th><td class="text">{escape(str(run.path))}</td></tr>')
    return "<table><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _settings(run: Run) -> str:
    settings = shown(run.config)
    if not settings:
        return ""
    table = _text_table({key: [value] for key, value in settings.items()}, kind="settings")
    return f"<details><summary>All {len(settings)} settings</summary>\n{table}\n</details>"
