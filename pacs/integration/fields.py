"""The names under which the trainer, the workers and the loss hand each other what PACS adds to verl's batch."""

#: One value a row, all of shape (B,), written by the trainer for the whole train batch.
#: The row's place in it.
ROW = "pacs_row"
LABELS = "pacs_labels"
GROUP_IDS = "pacs_group_ids"
#: Rows of the row's group that take part, wherever they are: what `whole` is measured by.
GROUP_SIZES = "pacs_group_sizes"
WEIGHTS = "pacs_weights"
#: The row is a response (not padding) and has enough others to be compared with.
ROW_MASK = "pacs_row_mask"
#: The row counts in N.
COUNTED = "pacs_counted"

#: Settings of a step, the same for all rows, written by the trainer.
STRATEGY = "pacs_strategy"
REFERENCE_IS_POLICY = "pacs_reference_is_policy"
LEARNING_RATE_FACTOR = "pacs_learning_rate_factor"

#: log pi_ref of each response token (jagged), written by the worker before the updates.
REFERENCE = "ref_log_prob"

#: Settings of a mini-batch, written by the worker: N over all ranks; which of the step's updates it is for, from 0;
#: whether its reference is the policy as it is now.
DENOMINATOR = "pacs_denominator"
UPDATE = "pacs_update"
SELF_REFERENCE = "pacs_self_reference"
#: (B, C), `row_columns`: what is known of each row before the gradient pass of `cached`.
SCORED = "pacs_scored"

#: The key among a worker's metrics under which the rows' tables are returned: of each micro-batch the names of its
#: columns, and their values as one (columns, B) tensor.
TABLES = "pacs_tables"
