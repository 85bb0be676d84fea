"""What a run logs: our metrics, declared in one table and computed by it; docs/metrics.md says what each is.

ours.py       the metrics themselves, and the suffixes that say how each is reduced
reduce.py     tables of rows -> metrics
duplicates.py which responses of a group are the same
groups.py     a row a group
outcomes.py   what a reward function says beside the score, and a validation's scores -> metrics
"""
