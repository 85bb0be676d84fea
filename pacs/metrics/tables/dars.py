"""What a second stage of rollouts has added (`run.rollouts.dars`)."""

from pacs.metrics.entry import Metric
from pacs.metrics.reductions import GROUPS

DARS = (
    Metric(
        name="pacs/dars/rescued_count",
        column="rescued",
        over=GROUPS,
        formula="none of the first responses is right, and one of the further ones is",
        unit="groups",
        healthy="Falls as `pacs/groups/all_wrong_fraction` of a run without DARS does.",
        remedy="0 from the start: the problems are too hard for `run.rollouts.dars.most` samples, which cost what they "
        "cost; take easier ones.",
    ),
    Metric(
        name="pacs/dars/extra_sum",
        column="extra",
        over=GROUPS,
        formula="further responses",
        unit="responses",
        healthy="Falls as problems are learned.",
        remedy="Most of a step's responses: lower `run.rollouts.dars.most`, or use `run.rollouts.dars.schedule=equal`.",
    ),
    Metric(
        name="pacs/dars/group_size_mean",
        column="size",
        over=GROUPS,
        formula="responses",
        unit="responses",
        healthy="Between `actor_rollout_ref.rollout.n` and `run.rollouts.dars.most`.",
        remedy="See above.",
    ),
    Metric(
        name="pacs/dars/group_size_max",
        column="size",
        over=GROUPS,
        formula="responses",
        unit="responses",
        healthy="`run.rollouts.dars.most` while there are problems that the first responses do not solve.",
        remedy="None needed.",
    ),
)
