"""The tables of docs/metrics.md from the registry."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from pacs.metrics.entry import NOTHING, Entry, VerlKey
from pacs.metrics.registry import SECTIONS

START = "<!-- The tables are written by `python -m pacs.metrics docs/metrics.md` from pacs/metrics/tables/. -->\n"
END = "<!-- End of the tables. -->\n"
#: Units that go without saying.
PLAIN = ("none", "share", "responses", "rows", "groups", "tokens", "tokens; share", "messages", "calls", "updates",
         "resets", "steps", "epochs")  # fmt: skip

HEAD = "metric | what it is | healthy; otherwise\n---|---|---\n"


def written_into(page: str) -> str:
    """The page with the tables between its marks.

    Raises:
        ValueError: it lacks the marks.
    """
    before, start, remainder = page.partition(START)
    _, end, after = remainder.partition(END)
    if not start or not end:
        raise ValueError(f"the page lacks the lines {START.strip()} and {END.strip()}")
    return before + tables() + after


def tables() -> str:
    """A table a section, with the marks."""
    return START + "".join(f"\n### {title}\n\n{_table(entries)}\n" for title, entries in SECTIONS.items()) + "\n" + END


def _table(entries: Iterable[Entry]) -> str:
    """Above the table what most entries have in common; a row for entries that say the same."""
    entries = list(entries)
    unit, over = _most(_unit(entry) for entry in entries), _most(_over(entry) for entry in entries)
    common = "; ".join(said for said in (unit, over) if said)
    rows = [_row(list(alike), {unit, over, ""}) for _, alike in groupby(entries, key=_said)]
    return (f"{common[0].upper()}{common[1:]}, unless noted.\n\n" if common else "") + HEAD + "\n".join(rows)


def _most(values: Iterable[str]) -> str:
    """The value that most have, if more than two have it."""
    ((value, times),) = Counter(values).most_common(1)
    return value if times > 2 else ""


def _unit(entry: Entry) -> str:
    return "" if entry.unit in PLAIN else entry.unit


def _over(entry: Entry) -> str:
    """How it is reduced, without what its name says of it: the suffix, and the label of the rows."""
    if isinstance(entry, VerlKey) or entry.reduced_by:
        return entry.reduction
    return "over " + re.sub("^(correct|wrong) ", "", entry.over)


def _said(entry: Entry) -> tuple[str, ...]:
    return entry.formula, entry.healthy, entry.remedy, _unit(entry), _over(entry)


def _row(alike: list[Entry], known: set[str]) -> str:
    """The row of entries that say the same.

    Args:
        alike: them.
        known: units and reductions that need not be said.
    """
    entry = alike[0]
    notes = "; ".join(note for note in (_unit(entry), _over(entry)) if note not in known)
    expected = entry.healthy + ("" if entry.remedy == NOTHING else f"<br>{entry.remedy}")
    names = ", ".join(f"`{each.name}`" for each in alike)
    return f"{names} | {entry.formula}{notes and f' ({notes})'} | {expected}"
