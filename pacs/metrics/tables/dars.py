"""What a second stage of rollouts has added (`run.rollouts.dars`)."""

from pacs.metrics.entry import Metric
from pacs.metrics.tables.over import GROUPS, RESPONSES

# fmt: off
DARS = (
    Metric("pacs/dars/rescued_count", "rescued", GROUPS, "groups",
        "none of the first responses is right, and one of the further ones is",
        "Falls as `pacs/groups/all_wrong_fraction` of a run without DARS does.",
        "0 from the start: the problems are too hard for `run.rollouts.dars.most` samples, which cost what they "
        "cost; take easier ones."),
    Metric("pacs/dars/further_count", "further", RESPONSES, "responses", "beyond the first n",
        "Falls as problems are learned.",
        "Most of a step's responses: lower `run.rollouts.dars.most`, or use `run.rollouts.dars.schedule=equal`."),
)
