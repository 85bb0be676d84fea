"""Methods that train on verified responses, PACS first, in pure torch: nothing here knows of verl or of Ray.

Responses are rows, and an int64 id a row says which prompt's group a row belongs to: ids may be any values,
groups may differ in size, and rows may come in any order. Everything is calculated in float32, or in float64
where the inputs are.
"""

from pacs.algorithm.answer_probability import mean_probabilities
from pacs.algorithm.conformance import check_method
from pacs.algorithm.constants import batch_constants, credit_means
from pacs.algorithm.correction import CorrectionConfig, correction_weights, scale_gradient
from pacs.algorithm.drift import drift_penalty
from pacs.algorithm.groups import check_whole_groups
from pacs.algorithm.log_ratio import credited_objectives, sequence_log_ratios
from pacs.algorithm.method import Method
from pacs.algorithm.method_settings import MetricsConfig, UpdateConfig
from pacs.algorithm.names import METHODS, method_of
from pacs.algorithm.pacs import Pacs
from pacs.algorithm.reference import ReferenceConfig, ReferenceSchedule, ResetEvent
from pacs.algorithm.row_losses import ROW_COLUMNS, row_columns
from pacs.algorithm.rows import Constants, Rows, TrainBatch
from pacs.algorithm.surrogate import advantage_loss, surrogate_loss
from pacs.algorithm.update import method_loss, score_responses
from pacs.base.typed_settings import Settings

__all__ = [
    "METHODS",
    "ROW_COLUMNS",
    "Constants",
    "CorrectionConfig",
    "Method",
    "MetricsConfig",
    "Pacs",
    "ReferenceConfig",
    "ReferenceSchedule",
    "ResetEvent",
    "Rows",
    "Settings",
    "TrainBatch",
    "UpdateConfig",
    "advantage_loss",
    "batch_constants",
    "check_method",
    "check_whole_groups",
    "correction_weights",
    "credit_means",
    "credited_objectives",
    "drift_penalty",
    "mean_probabilities",
    "method_loss",
    "method_of",
    "row_columns",
    "scale_gradient",
    "score_responses",
    "sequence_log_ratios",
    "surrogate_loss",
]
