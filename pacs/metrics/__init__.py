"""What a run logs: our metrics are declared, computed and documented from one registry; verl's are documented.

entry.py      an entry, and the suffixes that say how a metric is reduced
tables/       the entries themselves
registry.py   ours and verl's by section; `find`
reduce.py     tables of rows -> metrics
outcomes.py   what a reward function says beside the score, and a validation's scores -> metrics
document.py   the tables of docs/metrics.md, which `python -m pacs.metrics docs/metrics.md` writes
"""
