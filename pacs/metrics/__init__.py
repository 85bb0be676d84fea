"""What a run logs: our metrics are declared, computed and documented from one registry; verl's are documented.

entry.py      an entry, and the suffixes that say how a metric is reduced
tables/       the entries themselves
over.py       what ours are reduced over, and their units
registry.py   ours and verl's by section; `find`
reduce.py     tables of an update's rows -> metrics
reduce_batch.py a step's responses, before its updates -> metrics
components.py what a reward function says beside the score -> metrics
validation.py a validation's scores -> metrics
document.py   the tables of docs/metrics.md, which `python -m pacs.metrics docs/metrics.md` writes
"""

from pacs.metrics.components import averaged, component_metrics
from pacs.metrics.entry import SUFFIXES, Entry, Metric, VerlKey
from pacs.metrics.reduce import OPTIONAL_UPDATE_COLUMNS, UPDATE_COLUMNS, gradient_metrics, update_metrics
from pacs.metrics.reduce_batch import batch_metrics
from pacs.metrics.registry import ENTRIES, find
from pacs.metrics.validation import validation_metrics

__all__ = [
    "ENTRIES",
    "OPTIONAL_UPDATE_COLUMNS",
    "SUFFIXES",
    "UPDATE_COLUMNS",
    "Entry",
    "Metric",
    "VerlKey",
    "averaged",
    "batch_metrics",
    "component_metrics",
    "find",
    "gradient_metrics",
    "update_metrics",
    "validation_metrics",
]
