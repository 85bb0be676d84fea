"""A method's loss as verl's workers call it: `fn(model_output, data, dp_group) -> (loss, metrics)`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from verl.workers.utils.padding import no_padding_2_padding

from pacs.algorithm import Method, advantage_loss, check_whole_groups, method_loss, row_columns, token_values_of
from pacs.integration import fields

#: log pi of each response token as vLLM gave it (jagged); verl's name.
ROLLOUT = "rollout_log_probs"


@dataclass(frozen=True)
class PacsPolicyLoss:
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
            data: a TensorDict with the names of `fields`.
            dp_group: unused; verl passes it.

        Raises:
            ValueError: If a group is not whole under `grouped`.
        """
        log_probs = no_padding_2_padding(model_output["log_probs"], data)
        mask = data["response_mask"].to_padded_tensor(0) != 0
        own = data[fields.SELF_REFERENCE]
        reference = log_probs.detach() if own else data[fields.REFERENCE].to_padded_tensor(0)
        if data[fields.STRATEGY] == "cached":
            rows = dict(zip(row_columns(self.method), data[fields.SCORED].unbind(dim=1), strict=True))
            values = None
            if self.method.tokenwise:
                function = partial(self.method.token_values, weights=data[fields.WEIGHTS][:, None])
                values = token_values_of(log_probs, reference, mask, function)
            loss = advantage_loss(log_probs, values, mask, rows, denominator=data[fields.DENOMINATOR])
        else:
            check_whole_groups(data[fields.GROUP_IDS], data[fields.GROUP_SIZES], data[fields.ROW_MASK])
            loss, rows = method_loss(
                log_probs,
                reference,
                mask,
                data[fields.LABELS],
                data[fields.GROUP_IDS],
                self.method,
                row_mask=data[fields.ROW_MASK],
                denominator=data[fields.DENOMINATOR],
                weights=data[fields.WEIGHTS],
                allow_not_finite=True,
            )
        # A loss may be infinite where its gradient is not, as the surrogate's at log pi = -inf.
        loss = loss * torch.where(loss.detach().isfinite(), 1.0, torch.nan)
        row = data[fields.ROW]
        table = rows | {"row": row, "update": torch.full_like(row, data[fields.UPDATE])}
        table |= self._token_columns(model_output, data, log_probs.detach(), mask)
        # One transfer to the host for all columns.
        values = torch.stack([column.float() for column in table.values()]).cpu()
        return loss * data["dp_size"], {fields.TABLES: (tuple(table), values)}

    @torch.no_grad()
    def _token_columns(
        self, model_output: Mapping[str, torch.Tensor], data: Any, log_probs: torch.Tensor, mask: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Columns that need each token: entropy if the pass gave it, the gap to vLLM where vLLM's values are there."""
        columns = {}
        if "entropy" in model_output:
            entropy = no_padding_2_padding(model_output["entropy"], data)
            columns["entropy"] = torch.where(mask, entropy, 0).sum(dim=1)
        if ROLLOUT in data:
            gap = torch.where(mask, (log_probs - data[ROLLOUT].to_padded_tensor(0)).abs(), 0)
            columns["rollout_gap"] = gap.sum(dim=1)
            columns["rollout_gap_worst"] = gap.amax(dim=1)
        return columns
