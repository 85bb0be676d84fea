"""What metrics are reduced over, their units, and the verdicts that are counted."""

from typing import get_args

from pacs.rewards.verdict import Status

# What a metric is reduced over. Of the update's rows, one a response:
COUNTED = "rows in N"
CORRECT = "correct rows in N"
WRONG = "wrong rows in N"
FRESH = "rows in N of the first mini-batch"
MIXED = "rows in N of mixed groups"
BIN = "rows of the bin"
UPDATED = "all rows"
# Of the sampled batch:
SAMPLED = "all responses"
RESPONSES = "responses with others in their group"
CORRECT_RESPONSES = "correct responses with others in their group"
WRONG_RESPONSES = "wrong responses with others in their group"
SAID = "responses with a finite number"
GENERATED = "all that were generated"
GROUPS = "groups of two or more responses"
# Of the step:
UPDATES = "updates"

#: What a verifier says of a response; any other word is counted as `OTHER`.
STATUSES: tuple[str, ...] = get_args(Status)
OTHER = "other"

# Units:
SHARE = "share"
NATS = "nats"
PER_TOKEN = "nats a token"
SCORE = "beta * nats"
SECONDS = "seconds"

# How verl reduces its keys:
OVER_TOKENS = "over response tokens"
OVER_UPDATES = "mean over updates"
MICRO_BATCHES = "mean over micro-batches"
SUMMED = "sum over micro-batches, mean over updates"
SPREAD = "mean, max, min over responses"
CLOCK = "on the trainer's process"
