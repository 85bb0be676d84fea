"""Methods that train on verified responses, PACS first, in pure torch: nothing here knows of verl or of Ray.

Responses are rows, and an int64 id a row says which prompt's group a row belongs to: ids may be any values,
groups may differ in size, and rows may come in any order. Everything is calculated in float32, or in float64
where the inputs are.
"""

from pacs.algorithm.groups import check_whole_groups
from pacs.algorithm.kit import check_method
from pacs.algorithm.log_ratio import sequence_log_ratios, token_values_of
from pacs.algorithm.method import Method, MetricsConfig, Rows, UpdateConfig
from pacs.algorithm.names import METHODS, method_of
from pacs.algorithm.pacs import Pacs
from pacs.algorithm.reference import ReferenceConfig, ReferenceSchedule, ResetEvent
from pacs.algorithm.settings import Settings
from pacs.algorithm.solve import ROW_COLUMNS, row_columns, weigh_rows
from pacs.algorithm.surrogate import advantage_loss, surrogate_loss
from pacs.algorithm.update import method_loss, score_responses

__all__ = [
    "METHODS",
    "ROW_COLUMNS",
    "Method",
    "MetricsConfig",
    "Pacs",
    "ReferenceConfig",
    "ReferenceSchedule",
    "ResetEvent",
    "Rows",
    "Settings",
    "UpdateConfig",
    "advantage_loss",
    "check_method",
    "check_whole_groups",
    "method_loss",
    "method_of",
    "row_columns",
    "score_responses",
    "sequence_log_ratios",
    "surrogate_loss",
    "token_values_of",
    "weigh_rows",
]
