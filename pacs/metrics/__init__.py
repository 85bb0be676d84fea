"""What a run logs: our metrics, declared in one table and computed by it; docs/metrics.md says what each is.

ours.py       the metrics themselves, and the suffixes that say how each is reduced
reduce.py     tables of rows -> metrics
groups.py     which responses of a group are the same, and which of the two classes they have
outcomes.py   what a reward function says beside the score, and a validation's scores -> metrics
"""
