"""List the sources of problems that `pacs data prepare` knows by name, with what each is for."""

import argparse

from pacs.base.tables import format_table
from pacs.base.terminal import columns, print
from pacs.data.sources import SOURCES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There is none."""


def main(args: argparse.Namespace) -> int:
    """Print the known sources."""
    default: set[str] = set()
    table: dict[str, dict[str, str | int | None]] = {}
    for source in SOURCES:
        alternative = source.name in default
        default.add(source.name)
        table[source.repo if source.repo not in table else f"{source.repo}, {source.split}"] = {
            "name": "" if alternative else source.name,
            "for": "training" if source.training else "evaluation",
            "rows": source.rows,
            "verifier": source.verifier,
            "about": source.about,
        }
    print(format_table(table, corner="repository", width=columns()))
    return 0
