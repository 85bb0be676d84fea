"""One self-contained HTML page: no script, no template engine, nothing fetched from anywhere.

Everything that comes from a run or a caller is escaped. What looks like a secret in the settings or in the
command line is blanked, because the page is made to be shown.
"""

import base64
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pacs.report.read import Run
from pacs.report.table import Table, column_names, format_cell

SECRET = re.compile(r"(?i)(api_?key|secret|passw(or)?d|credential|(^|[._])(hf|hub|wandb|auth|access)_?token$)")
BLANK = "(not shown)"

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 66rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: 0.2rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2rem; overflow-wrap: anywhere; }
p.note { color: #555; margin-top: 0; }
figure { margin: 1.5rem 0; }
figure img { width: 100%; height: auto; }
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
               figure, table { break-inside: avoid; } table.settings { break-inside: auto; } }
""".strip()


def build_page(runs: Sequence[Run], *, png: bytes, alt: str, tables: Mapping[str, Table], title: str = "") -> str:
    """The page as text: title, the caller's tables (caption -> table), the figure, what made the runs."""
    if not title:
        title = f"Training run {runs[0].name}" if len(runs) == 1 else f"{len(runs)} training runs compared"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="note">{escape(_summary(runs))}</p>']
    body += [_number_table(caption, table) for caption, table in tables.items()]
    image = base64.b64encode(png).decode()
    body.append(f'<figure><img alt="{escape(alt)}" src="data:image/png;base64,{image}"></figure>')
    if len(runs) > 1:
        body.append(_differences(runs))
    for run in runs:
        body += [f"<h2>{escape(run.name)}</h2>", _info(run), _settings(run)]
    return _HEAD.format(title=escape(title), style=STYLE) + "\n".join(body) + "\n</body>\n</html>\n"


_HEAD = """\
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


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested configuration as dotted keys, as one writes them on the command line; secrets blanked."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{key}.")
        elif SECRET.search(key) and value not in (None, ""):
            flat[key] = BLANK
        else:
            flat[key] = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return flat


def differing_settings(runs: Sequence[Run]) -> dict[str, dict[str, str | None]]:
    """The settings that are not the same in all runs: setting -> run -> value, None where a run lacks it."""
    flat = {run.name: flatten(run.config) for run in runs}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    table = {key: {name: settings.get(key) for name, settings in flat.items()} for key in keys}
    return {key: row for key, row in table.items() if len(set(row.values())) > 1}


def _summary(runs: Sequence[Run]) -> str:
    parts = []
    for run in runs:
        steps = f"up to step {max(run.steps)}"
        started = run.info.get("started")
        parts.append(f"{run.name}: {steps}" + (f", started {started}" if started else ""))
    return "; ".join(parts)


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


def _differences(runs: Sequence[Run]) -> str:
    table = differing_settings(runs)
    if not table:
        return "<h2>Settings that differ</h2>\n<p>None.</p>"
    rows = {key: [format_cell(cell) for cell in row.values()] for key, row in table.items()}
    names = [run.name for run in runs]
    return "<h2>Settings that differ</h2>\n" + _text_table(rows, columns=names, kind="settings")


def _info(run: Run) -> str:
    rows = []
    for name, value in run.info.items():
        if isinstance(value, Mapping):
            cell = escape(", ".join(f"{key} {item}" for key, item in value.items()))
        elif isinstance(value, list):
            cell = f"<code>{escape(shlex.join(_blank_secret(str(word)) for word in value))}</code>"
        else:
            cell = escape(str(value))
        rows.append(f'<tr><th scope="row">{escape(name.replace("_", " "))}</th><td class="text">{cell}</td></tr>')
    rows.append(f'<tr><th scope="row">folder</th><td class="text">{escape(str(run.path))}</td></tr>')
    return "<table><tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _blank_secret(word: str) -> str:
    key, equals, _ = word.partition("=")
    return f"{key}={BLANK}" if equals and SECRET.search(key) else word


def _settings(run: Run) -> str:
    settings = flatten(run.config)
    if not settings:
        return ""
    table = _text_table({key: [value] for key, value in settings.items()}, kind="settings")
    return f"<details><summary>All {len(settings)} settings</summary>\n{table}\n</details>"
