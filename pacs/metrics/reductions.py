"""What our metrics are reduced over, their units, and the verdicts that are counted."""

from typing import get_args

from pacs.rewards.verdict import Status

# What a metric is reduced over. Of the update's rows, one a response:
COUNTED = "the rows that count"
CORRECT = "the correct rows that count"
WRONG = "the wrong rows that count"
FRESH = "the rows that count in the step's first mini-batch"
MIXED = "the rows of mixed groups that count"
BIN = "the rows of mixed groups that count with sigma(psi) in the bin"
UPDATED = "the rows of the step's updates, those that do not count among them"
# Of the sampled batch:
SAMPLED = "the sampled responses"
RESPONSES = "the sampled responses with others in their group"
CORRECT_RESPONSES = "the correct responses with others in their group"
WRONG_RESPONSES = "the wrong responses with others in their group"
SAID = "the sampled responses of which the reward function said it, as a finite number"
GENERATED = "the responses that were generated for the step, those of filtered groups among them"
GROUPS = "the groups of two or more responses"
# Of the step:
UPDATES = "the step's updates"

#: What a verifier says of a response; any other word is counted as `OTHER`.
STATUSES: tuple[str, ...] = get_args(Status)
OTHER = "other"

SHARE = "share, 0 to 1"
NATS = "nats"
PER_TOKEN = "nats a token"
SCORE = "psi: beta * nats"
