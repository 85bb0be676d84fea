"""`pacs data stats`, `pacs data show`, `pacs data list`."""

import argparse
import sys
from itertools import islice

from pacs.data.errors import DataError
from pacs.data.sources import SOURCES
from pacs.data.stats import read_rows, shorten, statistics
from pacs.data.template import Template
from pacs.report.table import format_table
from pacs.terminal import print


def stats(args: argparse.Namespace) -> int:
    """Print the tables; 2 and one line on stderr where that is impossible."""
    try:
        template = _template(args)
        tables = statistics(read_rows(args.path), template)
    except (DataError, OSError) as error:
        print(f"pacs data stats: {error}", file=sys.stderr)
        return 2
    print(tables)
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the first prompts; 2 and one line on stderr where that is impossible."""
    try:
        if args.n < 1:
            raise DataError(f"-n {args.n}: give a number of at least 1")
        template = _template(args)
        rows = list(islice(read_rows(args.path, args.n), args.n))
    except (DataError, OSError) as error:
        print(f"pacs data show: {error}", file=sys.stderr)
        return 2
    for row in rows:
        info = row.get("extra_info") or {}
        about = [f"{row['data_source']} {info.get('id', info.get('index'))}"]
        about += [f"{name} {info[name]}" for name in ("difficulty", "verifier") if info.get(name) is not None]
        if template:
            about.append(f"{template.lengths([row['prompt']])[0]} tokens")
            text = template.render(row["prompt"])
        else:
            text = "\n".join(f"[{message['role']}]\n{message['content']}" for message in row["prompt"])
        print(f"--- {', '.join(about)}\n{text}\n--- gold: {shorten(row['reward_model']['ground_truth'])}\n")
    return 0


def _template(args: argparse.Namespace) -> Template | None:
    if args.no_thinking and not args.model:
        raise DataError("--no-thinking is for a chat template: give --model too")
    return Template(args.model, not args.no_thinking) if args.model else None


def list_sources(args: argparse.Namespace) -> int:
    """Print the known sources."""
    default: set[str] = set()
    table = {}
    for source in SOURCES:
        alternative = source.name in default
        default.add(source.name)
        table[source.repo] = {
            "name": "" if alternative else source.name,
            "for": "training" if source.training else "evaluation",
            "rows": source.rows,
            "verifier": source.verifier,
            "about": source.about,
        }
    print(format_table(table, corner="repository"))
    return 0
