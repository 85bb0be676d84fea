"""What a run logs: our metrics, each declared, computed and documented from one entry.

entry.py      an entry, and the suffixes that say how a metric is reduced
ours.py       the entries themselves, by section
reduce.py     tables of rows -> metrics
outcomes.py   what a reward function says beside the score, and a validation's scores -> metrics
document.py   their tables in docs/metrics.md, which `python -m pacs.metrics docs/metrics.md` writes
"""
