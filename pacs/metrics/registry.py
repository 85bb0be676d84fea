"""Every key a run logs: ours and verl's."""

from fnmatch import fnmatchcase

from pacs.metrics.entry import Entry
from pacs.metrics.tables.ours import OURS
from pacs.metrics.tables.verls import VERL_KEYS

#: Title of a section -> its entries, in the order of the page.
SECTIONS: dict[str, tuple[Entry, ...]] = {**OURS, **VERL_KEYS}

ENTRIES = tuple(entry for entries in SECTIONS.values() for entry in entries)


def find(key: str) -> Entry | None:
    """The entry of a key: the one of that name, else the first whose glob matches, else None."""
    named = (entry for entry in ENTRIES if entry.name == key)
    matching = (entry for entry in ENTRIES if fnmatchcase(key, entry.name))
    return next(named, None) or next(matching, None)
