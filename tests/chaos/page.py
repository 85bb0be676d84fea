"""The table in tests/chaos/README.md: written by the run, not by hand."""

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.chaos.outcome import Outcome

PAGE = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- chaos: written by scripts/chaos.sh -->\n", "<!-- chaos: end -->\n"
HEAD = """
{faults} faults at random instants, of which {held} held; {ends} runs were broken to their end, of which {same} ended
in the same weights as a run left alone. Commit {commits}; {machine}; load average {load}; seeds {seeds}.

| fault | moment | count | held | seconds: median, largest | what did not hold |
|---|---|---|---|---|---|
"""


def with_table(text: str, outcomes: Sequence[Outcome]) -> str:
    """A page with the table of the newest code's outcomes between its marks.

    Raises:
        ValueError: The page has no such marks.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN.strip()} and {END.strip()}")
    return before + BEGIN + table(outcomes) + "\n" + END + after


def table(outcomes: Sequence[Outcome]) -> str:
    """The table of the outcomes of the code that the last one is of; empty if there are none."""
    if not outcomes:
        return ""
    newest = [outcome for outcome in outcomes if outcome.about["code"] == outcomes[-1].about["code"]]
    faults = [outcome for outcome in newest if outcome.index >= 0]
    ends = [outcome for outcome in newest if outcome.fault == "none (a run's end)"]
    loads = [outcome.load for outcome in newest]
    rows: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in newest:
        moment = "" if outcome in ends else outcome.moment
        rows.setdefault((outcome.fault, moment), []).append(outcome)
    return HEAD.format(
        faults=len(faults),
        held=sum(not outcome.problems for outcome in faults),
        ends=len(ends),
        same=sum("other weights" not in outcome.problems for outcome in ends),
        commits=_list(outcome.about["commit"] for outcome in newest),
        machine=_list(outcome.about["machine"] for outcome in newest),
        load=f"{min(loads):.0f} to {max(loads):.0f}",
        seeds=_list(str(outcome.seed) for outcome in faults),
    ) + "".join(f"| {' | '.join(_row(*row, found))} |\n" for row, found in sorted(rows.items()))


def _row(fault: str, moment: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    seconds = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
    times = f"{statistics.median(seconds):.0f}, {max(seconds):.0f}" if seconds else ""
    problems = [problem for outcome in outcomes for problem in outcome.problems]
    counted = [f"{problem} ({problems.count(problem)})" for problem in dict.fromkeys(problems)]
    held = sum(not outcome.problems for outcome in outcomes)
    return fault, moment, str(len(outcomes)), str(held), times, ", ".join(counted)


def _list(words: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(words)) or "none"
