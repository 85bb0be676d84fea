"""The page README.md of this folder and its figures, by enumeration and from the runs that are kept beside this file.

python -m recipes.theory            (writes the page and its figures anew: seconds)
python -m recipes.theory flow       (runs what is missing of recipes/theory/flow.json: minutes)
python -m recipes.theory ranking    (of ranking.json)
python -m recipes.theory toy        (of toy.json)
python -m recipes.theory few        (of few.json)
"""

import argparse
import re
import textwrap
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.base.terminal import print
from recipes.theory import (
    few,
    flow,
    ranking,
    section_few,
    section_gradient,
    section_optimum,
    section_ranking,
    section_toy,
    summary,
    toy,
)
from recipes.theory.kept import read_runs
from recipes.theory.toy_task import WORLDS

FOLDER = Path(__file__).parent
PAGE = "README.md"
#: Characters of a line.
WIDTH = 100
RUNS = {"flow": flow.run, "ranking": ranking.run, "toy": toy.run, "few": few.run}


def page() -> str:
    """recipes/theory/README.md."""
    sections = (summary, section_gradient, section_optimum, section_ranking, section_toy, section_few)
    joined = "\n\n".join(section.section().strip("\n") for section in sections)
    return "\n\n".join(map(filled, re.split(r"\n{2,}", joined))) + "\n"


def filled(block: str) -> str:
    """A paragraph or a list with its lines filled anew, as numbers have many widths; all else as it is."""
    if re.match(r"[|#!<]| {4}", block):
        return block
    items = re.split(r"\n(?=- |\d+\. )", block)
    indents = (" " * len(re.match(r"(?:- |\d+\. )?", item)[0]) for item in items)  # type: ignore[index]
    return "\n".join(
        textwrap.fill(
            " ".join(item.split()), WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        for item, indent in zip(items, indents, strict=True)
    )


def figures() -> dict[str, bytes]:
    """Name -> PNG."""
    from recipes.theory.figures import few_figure, flow_figure, toy_figure  # matplotlib is slow to import

    return {
        section_optimum.FIGURE: flow_figure(read_runs(flow.RESULTS, flow.SETTINGS, flow.CASES)["runs"]),
        section_toy.FIGURE: toy_figure(read_runs(toy.RESULTS, toy.SETTINGS, WORLDS)["runs"]),
        section_few.FIGURE: few_figure(read_runs(few.RESULTS, few.SETTINGS, few.WORLDS)["runs"]),
    }


def main() -> None:
    """Write the page, or run what it rests on."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.theory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="?", choices=RUNS, help="run what is missing of these instead")
    runs = parser.parse_args().runs
    try:
        if runs:
            RUNS[runs]()
            return
        write_atomically(FOLDER / PAGE, page())
        for name, picture in figures().items():
            write_atomically(FOLDER / name, picture)
    except UserError as error:
        parser.error(str(error))
    print(FOLDER / PAGE)


if __name__ == "__main__":
    main()
