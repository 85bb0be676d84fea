"""A method's loss as verl's workers call it: `fn(model_output, data, dp_group) -> (loss, metrics)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from verl.workers.utils.padding import no_padding_2_padding

from pacs.algorithm import (
    Constants,
    Method,
    advantage_loss,
    check_whole_groups,
    correction_weights,
    credited_objectives,
    drift_penalty,
    mean_probabilities,
    method_loss,
    row_columns,
    scale_gradient,
)
from pacs.integration import exchange


@dataclass(frozen=True)
class MethodLoss:
    """The loss of one micro-batch: of whole groups (`grouped`), or of any rows once they are scored (`cached`).

    FSDP averages gradients over the data-parallel ranks, so the loss is multiplied by their number: the gradient
    is that of the whole mini-batch, however it is split.

    A log-probability (of policy, reference or scoring) that is not finite raises nothing, since the other ranks would
    wait for this one for ever: its gradient is NaN, the norm over all ranks with it, and each rank skips the update.
    """

    method: Method

    def __call__(
        self, model_output: Mapping[str, torch.Tensor], data: Any, dp_group: Any = None
    ) -> tuple[torch.Tensor, dict[str, Any]]:
        """The loss of verl's micro-batch `data`, and its rows' table as the one metric.

        Args:
            model_output: verl's; `log_probs` (and `entropy`, if it was asked for) are jagged over prompt and response.
            data: a TensorDict with the names of `pacs.integration.exchange`.
            dp_group: unused; verl passes it.

        Raises:
            ValueError: If a group is not whole under `grouped`.
        """
        log_probs = no_padding_2_padding(model_output["log_probs"], data)
        mask = data["response_mask"].to_padded_tensor(0) != 0
        fields, step = exchange.RowFields.unpack(data), exchange.StepSettings.unpack(data)
        mini_batch = exchange.MiniBatch.unpack(data)
        reference = log_probs.detach() if mini_batch.self_reference else data[exchange.REFERENCE].to_padded_tensor(0)
        weights = self._correction(reference, mask, data)
        trained = log_probs if weights is None else scale_gradient(log_probs, weights)
        constants = fields.constants()
        if step.strategy == "cached":
            rows = dict(zip(row_columns(self.method), data[exchange.SCORED].unbind(dim=1), strict=True))
            objectives = None
            if self.method.tokenwise:
                objectives = credited_objectives(trained, reference, mask, self.method, constants.credit)
            loss = advantage_loss(
                trained,
                objectives,
                mask,
                rows,
                denominator=mini_batch.denominator,
                token_weights=constants.token_weights,
            )
            drift = drift_penalty(trained, reference, mask & fields.active[:, None], constants.penalties)
            loss = loss + drift / mini_batch.denominator
        else:
            check_whole_groups(fields.group_ids, fields.group_sizes, fields.row_mask)
            loss, rows = method_loss(
                trained,
                reference,
                mask,
                fields.labels,
                fields.group_ids,
                self.method,
                row_mask=fields.row_mask,
                denominator=mini_batch.denominator,
                constants=constants,
                allow_not_finite=True,
            )
        table: dict[str, torch.Tensor] = {}
        if step.answer_weight:
            answers = exchange.ReferenceSpans.unpack(data).mask(mask.shape[1]) & fields.row_mask[:, None]
            probabilities = mean_probabilities(log_probs, answers)
            loss = loss - step.answer_weight * probabilities.sum() / mini_batch.rows
            table["answer_probability"], table["answered"] = probabilities.detach(), answers.any(dim=1)
        # A loss may be infinite where its gradient is not, as the surrogate's at log pi = -inf.
        loss = loss * torch.where(loss.detach().isfinite(), 1.0, torch.nan)
        table |= rows | {"row": fields.row, "update": torch.full_like(fields.row, mini_batch.update)}
        table |= self._token_columns(model_output, data, log_probs.detach(), mask, constants)
        if weights is not None:
            table |= correction_columns(weights, mask)
        if fields.guided is not None:
            table["guided"] = fields.guided
        # One transfer to the host for all columns.
        values = torch.stack([column.float() for column in table.values()]).cpu()
        return loss * data["dp_size"], {exchange.TABLES: (tuple(table), values)}

    def _correction(self, old_log_probs: torch.Tensor, mask: torch.Tensor, data: Any) -> torch.Tensor | None:
        """(B, T) what `update.correction` multiplies the gradient of each token by; None: nothing."""
        correction = self.method.update.correction
        if not correction.active:
            return None
        return correction_weights(old_log_probs, data[exchange.ROLLOUT].to_padded_tensor(0), mask, correction)

    @torch.no_grad()
    def _token_columns(
        self,
        model_output: Mapping[str, torch.Tensor],
        data: Any,
        log_probs: torch.Tensor,
        mask: torch.Tensor,
        constants: Constants,
    ) -> dict[str, torch.Tensor]:
        """Columns that need each token: entropy, the gap to vLLM, token weights, what was merged; where it is there."""
        columns, token_weights = {}, constants.token_weights
        if token_weights is not None:
            columns["token_weight"] = torch.where(mask, token_weights, 0).sum(dim=1)
            columns["weighted_tokens"] = (mask & (token_weights != 0)).sum(dim=1)
            if constants.penalties is not None:
                columns["penalized_tokens"] = (mask & (constants.penalties != 0)).sum(dim=1)
            columns["token_weight_least"] = torch.where(mask, token_weights, torch.inf).amin(dim=1).nan_to_num(posinf=1)
        if "entropy" in model_output:
            entropy = no_padding_2_padding(model_output["entropy"], data)
            columns["entropy"] = torch.where(mask, entropy, 0).sum(dim=1)
        if exchange.ROLLOUT in data:
            gap = torch.where(mask, (log_probs - data[exchange.ROLLOUT].to_padded_tensor(0)).abs(), 0)
            columns["rollout_gap"] = gap.sum(dim=1)
            columns["rollout_gap_worst"] = gap.amax(dim=1)
        if self.method.update.merge_duplicates:
            merged = data[exchange.MERGED] if exchange.MERGED in data else torch.zeros_like(mask[:, 0])
            columns["merged_tokens"] = mask.sum(dim=1) * merged
        return columns


def correction_columns(weights: torch.Tensor, mask: torch.Tensor) -> dict[str, torch.Tensor]:
    """Columns of the weights by which tokens were corrected: (B,) each, of (B, T)."""
    masked = torch.where(mask, weights, 0)
    return {
        "correction": masked.sum(dim=1),
        "correction_square": masked.square().sum(dim=1),
        "correction_largest": masked.amax(dim=1),
        "rejected_tokens": (mask & (weights == 0)).sum(dim=1),
    }
