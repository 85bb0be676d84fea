"""tests/mutants/README.md: written by the run, not by hand."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutants.planted import CAUGHT, Mutant

PAGE = Path(__file__).with_name("README.md")
HEAD = """# How good are the tests? Planted bugs

Written by `bash scripts/mutants.sh`, not by hand. Each row of the table is a bug that was planted, alone, in a copy
of the code; then the tests nearest to it were run (quick ones only: none that starts Ray or several processes).
{caught} of {all} bugs were caught.

- The bugs are in `tests/mutants/`, one file a part of the code: what is changed, what it would do to a run, and which
  tests should see it. `tests/test_mutants.py`, which CI runs, fails as soon as one no longer fits the code. The run
  itself is not part of CI.
- The tests are run without a bug first. A result is kept as soon as it is there (`tests/mutants/results.json`) and
  holds until the bug, its file or its tests change, so that a run that was cut off goes on, and one after a change is
  short. `bash scripts/mutants.sh --only NAME` runs one bug.
- Why a planted list, and not every change that a tool such as mutmut makes by itself: each change costs a run of
  seconds to a minute (importing verl alone takes ten seconds), and thousands of them would take days; most are caught
  at once or change nothing. The list has what others have got wrong and what a reader would miss.
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
