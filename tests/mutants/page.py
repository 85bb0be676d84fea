"""tests/mutants/README.md: written by the run, not by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.planted import CAUGHT, Mutant

PAGE = Path(__file__).with_name("README.md")
HEAD = """# How good are the tests? Planted bugs

Written by `bash scripts/mutants.sh`, not by hand. Each row of the table is a bug that was planted, alone, in a copy
of the code; then the tests nearest to it were run (quick ones only: none that starts Ray or several processes).
{caught} of {all} bugs were caught.

- The bugs are in `tests/mutants/`, a file for each part of the code: what is changed, what it would do to a run, and
  which tests should see it. CI does not run them. `tests/test_mutants.py`, which CI runs, fails as soon as a bug no
  longer fits the code.
- The tests are first run without a bug. A result is kept at once (`tests/mutants/results.json`), and holds until the
  bug, its file or its tests change: an interrupted run goes on, and a run after a change is short.
  `bash scripts/mutants.sh --only NAME` runs one bug.
- The bugs were chosen by hand: what others have got wrong, and what a reader would miss. A tool such as mutmut would
  plant thousands, each with a run of seconds to a minute (importing verl alone takes ten seconds). Most would be caught
  at once or change nothing.
"""
SURVIVORS = """
## Not caught by a quick test

{rows}
"""
TABLE = """
## All

| bug | in | what it would do | date | caught by |
|---|---|---|---|---|
{rows}
"""


def page(mutants: Sequence[Mutant], results: Mapping[str, Mapping[str, str]]) -> str:
    """The page.

    Args:
        mutants: all, in order.
        results: of each by name: `verdict`, `date`, and `by`, the test that caught it.
    """
    survivors = [mutant for mutant in mutants if results[mutant.name]["verdict"] != CAUGHT]
    reasons = [f"- **{mutant.name}**: {mutant.survives or 'no reason is known.'}" for mutant in survivors]
    rows = [
        f"| {m.name} | `{m.file}` | {m.why} | {results[m.name]['date']} | {_test(results[m.name]['by'])} |"
        for m in mutants
    ]
    return (
        HEAD.format(caught=len(mutants) - len(survivors), all=len(mutants))
        + (SURVIVORS.format(rows="\n".join(reasons)) if reasons else "")
        + TABLE.format(rows="\n".join(rows))
    )


def _test(name: str) -> str:
    return f"`{name}`" if "::" in name else name or "**none**"
