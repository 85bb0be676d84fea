"""The equations of PACS (arXiv 2509.02522v2) in pure torch: nothing here knows of verl or of Ray.

Responses are rows, and an int64 id a row says which prompt's group a row belongs to: ids may be any values,
groups may differ in size, and rows may come in any order. Everything is calculated in float32, or in float64
where the inputs are.
"""

from pacs.algorithm.advantages import effective_advantages
from pacs.algorithm.class_balance import class_balance_weights
from pacs.algorithm.config import PacsConfig, ReferenceConfig
from pacs.algorithm.counting import counted_rows
from pacs.algorithm.groups import check_whole_groups
from pacs.algorithm.log_ratio import log_ratio_rewards, sequence_log_ratios
from pacs.algorithm.loss import pacs_loss, surrogate_loss
from pacs.algorithm.reference_schedule import ReferenceSchedule, ResetEvent
from pacs.algorithm.rows import ROW_COLUMNS, score_responses
from pacs.algorithm.scores import SMALLEST_GROUP, group_scores

__all__ = [
    "ROW_COLUMNS",
    "SMALLEST_GROUP",
    "PacsConfig",
    "ReferenceConfig",
    "ReferenceSchedule",
    "ResetEvent",
    "check_whole_groups",
    "class_balance_weights",
    "counted_rows",
    "effective_advantages",
    "group_scores",
    "log_ratio_rewards",
    "pacs_loss",
    "score_responses",
    "sequence_log_ratios",
    "surrogate_loss",
]
