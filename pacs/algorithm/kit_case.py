"""Random rows for the test kit, and a method's loss of them."""

from dataclasses import dataclass

import torch

from pacs.algorithm.constants import batch_constants
from pacs.algorithm.method import Method
from pacs.algorithm.rows import Constants
from pacs.algorithm.update import method_loss

#: Tokens of a response at most.
T = 5
#: Of the responses to each prompt: groups that are mixed, all right and all wrong, of several sizes, one among them.
LABELS = ((1, 0, 0, 1), (1, 1, 1), (0, 0, 0, 0), (0, 1), (1,), (0, 0, 1, 0, 0))


@dataclass(frozen=True)
class Case:
    """B responses to several prompts, with log-probabilities of the policy and of the reference."""

    log_probs: torch.Tensor  # (B, T) float64
    ref_log_probs: torch.Tensor  # (B, T)
    mask: torch.Tensor  # (B, T) bool
    labels: torch.Tensor  # (B,)
    groups: torch.Tensor  # (B,)
    stream: torch.Tensor  # (B, T) in [0, 1), of which those that a method reads are made

    def row_mask(self, method: Method) -> torch.Tensor:
        """(B,) bool: as in a run, a response whose group is too small for the method is left out."""
        return self.groups.bincount()[self.groups] >= method.smallest_group

    def constants(self, method: Method) -> Constants:
        """Those of all rows."""
        streams = {
            name: self.stream * (1 + place) - (1.5 if name.endswith("log_probs") else 0)  # unlike an entropy, below 0
            for place, name in enumerate(method.reads)
        }
        return batch_constants(
            self.labels, self.groups, method, self.row_mask(method), response_mask=self.mask, streams=streams
        )

    def loss(self, method: Method, log_probs: torch.Tensor, rows: torch.Tensor | None = None) -> torch.Tensor:
        """The loss of all rows, or of some whole groups as a micro-batch of them."""
        row_mask, constants = self.row_mask(method), self.constants(method)
        chosen = torch.arange(len(self.labels)) if rows is None else rows
        return method_loss(
            log_probs[chosen],
            self.ref_log_probs[chosen].to(log_probs.dtype),
            self.mask[chosen],
            self.labels[chosen],
            self.groups[chosen],
            method,
            row_mask=row_mask[chosen],
            denominator=constants.shares.sum(),
            constants=constants.of(chosen),
            allow_not_finite=True,
        )[0]

    def gradient(self, method: Method, log_probs: torch.Tensor) -> torch.Tensor:
        """(B, T) of the loss by the log-probabilities."""
        leaf = log_probs.clone().requires_grad_()
        return torch.autograd.grad(self.loss(method, leaf), leaf)[0]


def random_case(seed: int) -> Case:
    """Nineteen responses to six prompts, in float64."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.tensor([len(labels) for labels in LABELS])
    rows = int(sizes.sum())
    log_probs = -2 * torch.rand(rows, T, generator=generator, dtype=torch.float64)
    noise = 0.3 * torch.randn(rows, T, generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, T + 1, (rows,), generator=generator)
    mask = torch.arange(T) < lengths[:, None]
    labels = torch.tensor(sum(LABELS, ()), dtype=torch.float64)
    mask[:, 1] &= torch.rand(rows, generator=generator) < 0.8  # holes, as between two turns
    stream = torch.rand(rows, T, generator=generator, dtype=torch.float64)
    groups = torch.arange(len(LABELS)).repeat_interleave(sizes)
    return Case(log_probs, log_probs + noise, mask, labels, groups, stream)
