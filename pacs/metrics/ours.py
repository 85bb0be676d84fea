"""Our metrics: what each is, what to expect of it, and what to do otherwise.

`reduce.py` computes those that have a column; the trainer writes the others.
"""

from pacs.metrics.entry import Metric
from pacs.metrics.tables import batch, loss, update

#: Title of a section -> its metrics.
OURS: dict[str, tuple[Metric, ...]] = {
    "The loss": loss.LOSS,
    "The score as a critic": loss.CRITIC,
    "Scores by verdict": loss.SCORES,
    "The update": update.UPDATE,
    "The reference": update.REFERENCE,
    "The policy": update.POLICY,
    "The sampled batch": batch.BATCH,
    "The verifier": batch.VERIFIER,
    "Validation": batch.VALIDATION,
}
