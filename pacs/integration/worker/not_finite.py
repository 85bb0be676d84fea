"""Updates whose gradient is not finite: how many in a row end a run, and what is kept of the step that ended it."""

import io
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.base.run_folder import RunFolder
from pacs.checkpoints.torch_file import UnsafeFile, read_torch_file
from pacs.integration.exchange import PREFIX, TABLES

#: What of a train batch the evidence is made from; verl's names and ours.
BATCH_FIELDS = (
    "prompts", "responses", "response_mask", "pacs_labels", "pacs_coefficients", "pacs_group_ids", "pacs_active",
)  # fmt: skip


class PoisonError(RuntimeError):
    """Too many updates in a row were skipped since their gradient was not finite."""


class SkippedUpdates:
    """Counts the updates in a row that were skipped, across steps.

    Args:
        limit: how many are too many.

    Attributes:
        in_a_row: how many the last update ends; 0 if it was made.
        most: the most that were skipped in a row.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_a_row = 0
        self.most = 0

    def add(self, gradient_norms: Sequence[float]) -> bool:
        """Note the gradient norms of a step's updates, in order; say whether the limit is reached."""
        for norm in gradient_norms:
            self.in_a_row = 0 if math.isfinite(norm) else self.in_a_row + 1
            self.most = max(self.most, self.in_a_row)
        return self.most >= self.limit


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a step saw. Of B rows, padding among them, in P passes of the update (one a row and epoch).

    Attributes:
        step: the global step.
        skipped_in_a_row: updates in a row that were skipped, the last of them in this step.
        gradient_norms: of the step's updates, in order.
        learning_rate: of the step.
        prompts: B int64 tensors of token ids.
        responses: B int64 tensors of token ids.
        prompt_texts: B decoded prompts; empty without a tokenizer.
        response_texts: B decoded responses; empty without a tokenizer.
        response_tokens: (B,) int64, tokens under the response mask.
        labels: (B,) float, 0 or 1.
        weights: (B,) float, w of Eq. 8.
        group_ids: (B,) int64.
        active: (B,) bool, the row counts in N.
        padding: (B,) bool, the row fills the batch up.
        passes: column -> (P,) float: `row` (below B), `update` (from 0), and the columns of `update_metrics` that the
            workers returned.
    """

    step: int
    skipped_in_a_row: int
    gradient_norms: list[float]
    learning_rate: float
    prompts: list[torch.Tensor]
    responses: list[torch.Tensor]
    prompt_texts: list[str]
    response_texts: list[str]
    response_tokens: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    group_ids: torch.Tensor
    active: torch.Tensor
    padding: torch.Tensor
    passes: dict[str, torch.Tensor]


def write_evidence(
    run_dir: Path,
    *,
    step: int,
    skipped_in_a_row: int,
    batch: Mapping[str, torch.Tensor],
    padding: Sequence[bool],
    returned: Mapping[str, Any],
    tokenizer: Any = None,
) -> Path:
    """Write `<run_dir>/poison/step_{N}.pt`, as a whole or not at all: the attributes of `Evidence`, as a dict.

    Args:
        run_dir: the run's folder.
        step: the global step.
        skipped_in_a_row: updates in a row that were skipped.
        batch: `BATCH_FIELDS` of all rows, in the order in which `RowFields.row` numbers them; the first three jagged.
        padding: which rows fill the batch up.
        returned: the workers' metrics: `grad_norm`, `learning_rate`, and the tables under `TABLES`.
        tokenizer: decodes the tokens, special ones included.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written.
    """
    prompts, responses, masks = (
        [row.clone() for row in batch[name].unbind()] for name in ("prompts", "responses", "response_mask")
    )
    names = returned[TABLES][0][0]
    passes = torch.cat([values for _, values in returned[TABLES]], dim=1)
    ours = {"labels": "labels", "weights": "coefficients", "group_ids": "group_ids", "active": "active"}
    evidence = Evidence(
        step=step,
        skipped_in_a_row=skipped_in_a_row,
        gradient_norms=[float(norm) for norm in returned["grad_norm"]],
        learning_rate=float(returned["learning_rate"]),
        prompts=prompts,
        responses=responses,
        prompt_texts=[tokenizer.decode(row) for row in prompts] if tokenizer else [],
        response_texts=[tokenizer.decode(row) for row in responses] if tokenizer else [],
        response_tokens=torch.stack([mask.sum() for mask in masks]),
        **{name: batch[f"{PREFIX}{field}"].clone() for name, field in ours.items()},
        padding=torch.tensor(padding, dtype=torch.bool),
        passes={name: column.clone() for name, column in zip(names, passes, strict=True)},
    )
    file = RunFolder(run_dir).poison / f"step_{step}.pt"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    torch.save(vars(evidence), content)
    write_atomically(file, content.getvalue())
    return file


def read_evidence(file: Path) -> Evidence:
    """Read what `write_evidence` wrote.

    Raises:
        UserError: there is no such file, or it is another one.
    """
    try:
        fields = read_torch_file(file)
        if isinstance(fields, dict) and "counted" in fields:  # as it was called until 2026-11
            fields["active"] = fields.pop("counted")
        return Evidence(**fields)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error
    except (UnsafeFile, TypeError) as error:
        raise UserError(f"{file} is not what a run wrote to its folder poison/, or not all of it: {error}") from error


def poison_error(in_a_row: int, step: int, evidence: Path | None = None) -> PoisonError:
    """The error that ends the run, in one line.

    Args:
        in_a_row: updates in a row that were skipped.
        step: the last of them was in.
        evidence: what `write_evidence` wrote, if it did.
    """
    what = f"1 update was skipped, for its gradient was not finite, in step {step}"
    if in_a_row > 1:
        skipped = f"{in_a_row} updates in a row were skipped, for their gradients were not finite"
        what = f"{skipped}, the last of them in step {step}"
    if evidence is not None:
        what += f"; what that step saw is in {evidence} (look at it with `pacs inspect {shlex.quote(str(evidence))}`)"
    return PoisonError(what)
