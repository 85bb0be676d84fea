"""PACS's loss as verl's workers call it: `fn(model_output, data, dp_group) -> (loss, metrics)`."""

from collections.abc import Mapping
from typing import Any

import torch
from verl.utils.metric import AggregationType, Metric
from verl.workers.utils.padding import no_padding_2_padding

from pacs.algorithm import PacsConfig, pacs_loss

#: Row fields the trainer writes for the loss, all of shape (B,).
LABELS, GROUP_IDS, WEIGHTS, ROW_MASK, COUNTED = (
    "pacs_labels",
    "pacs_group_ids",
    "pacs_weights",
    "pacs_row_mask",
    "pacs_counted",
)
#: Rows that count in the mini-batch, over all ranks: the N of Eq. 8. Set by the worker before each mini-batch.
DENOMINATOR = "pacs_denominator"
METRIC_PREFIX = "actor/pacs/"


def pacs_policy_loss(
    config: PacsConfig, model_output: Mapping[str, torch.Tensor], data: Any, dp_group: Any = None
) -> tuple[torch.Tensor, dict[str, Metric]]:
    """Eq. 8 for one micro-batch of whole groups.

    FSDP averages gradients over the data-parallel ranks, so the loss is multiplied by their number: the gradient
    is that of the whole mini-batch, however it is split.

    Args:
        config: The algorithm.
        model_output: verl's; `log_probs` is a nested tensor over prompt and response tokens.
        data: verl's micro-batch (a TensorDict with the fields named above).
        dp_group: Unused; verl passes it.

    Returns:
        The loss, and metrics that add up over micro-batches and ranks.
    """
    log_probs = no_padding_2_padding(model_output["log_probs"], data)
    padded = data.select("response_mask", "ref_log_prob").to_padded_tensor()
    loss, metrics = pacs_loss(
        log_probs,
        padded["ref_log_prob"],
        padded["response_mask"],
        data[LABELS],
        data[GROUP_IDS],
        config,
        row_mask=data[ROW_MASK],
        denominator=data[DENOMINATOR],
        weights=data[WEIGHTS],
    )
    ranks = data["dp_size"]
    # verl sums a SUM metric over micro-batches and averages it over ranks.
    reduced = {f"{METRIC_PREFIX}{name}": Metric(AggregationType.SUM, value * ranks) for name, value in metrics.items()}
    return loss * ranks, reduced
