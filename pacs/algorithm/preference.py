"""Which problems of a pool are to be drawn, by how often the policy is believed to solve them.

    uniform   1
    sqrt      sqrt(p(1-p))                         as SPO (arXiv 2509.13232)
    target    (p/t)^(nt) ((1-p)/(1-t))^(n(1-t))    how likely it is that the share t of n responses is right, next to
                                                   p = t, where that is likeliest; n = 1, t = 1/2: as sqrt

are the weights of problems whose believed pass rate p is in a band; of the others it is 0.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch

Weights = Literal["uniform", "sqrt", "target"]


@dataclass(frozen=True)
class Preference:
    """Which problems are to be drawn.

    Attributes:
        weights: uniform, sqrt or target.
        low, high: the band of believed pass rates, both ends included.
        target: t, above 0 and below 1.
        final_target: what t becomes, on a straight line over the first `curriculum_steps`; None: it stays.
        curriculum_steps: at least 1.
        responses: n, to each problem.
    """

    weights: Weights
    low: float = 0.0
    high: float = 1.0
    target: float = 0.5
    final_target: float | None = None
    curriculum_steps: int = 1
    responses: int = 8

    def target_at(self, step: int) -> float:
        """The target of a step; step 1 has the first one."""
        if self.final_target is None:
            return self.target
        done = min((step - 1) / self.curriculum_steps, 1.0)
        return self.target + done * (self.final_target - self.target)

    def log_weights(self, rates: torch.Tensor, step: int) -> torch.Tensor:
        """(N,) the logarithm of each problem's weight, up to a constant; -inf outside the band.

        Args:
            rates: (N,) float64, believed pass rates, above 0 and below 1.
            step: that is to be drawn.
        """
        right, wrong = rates.log(), (-rates).log1p()
        match self.weights:
            case "uniform":
                logs = torch.zeros_like(rates)
            case "sqrt":
                logs = (right + wrong) / 2
            case "target":
                target = self.target_at(step)
                logs = self.responses * (target * right + (1 - target) * wrong)
        return logs.masked_fill(self.distance(rates) > 0, -math.inf)

    def distance(self, rates: torch.Tensor) -> torch.Tensor:
        """(N,) how far each pass rate is from the band; 0 within it."""
        return torch.maximum(self.low - rates, rates - self.high).clamp(min=0)
