"""What our metrics are reduced over, and their units."""

# Of the update's rows, one a response:
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
FIRST = "responses with others in their group, DARS's further ones left out"
CORRECT_RESPONSES = "correct responses with others in their group"
WRONG_RESPONSES = "wrong responses with others in their group"
SAID = "responses with a finite number"
GENERATED = "all that were generated"
GROUPS = "groups of two or more responses"
# Of the step:
UPDATES = "updates"
# Units:
SHARE = "share"
NATS = "nats"
PER_TOKEN = "nats a token"
SCORE = "beta * nats"
