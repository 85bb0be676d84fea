"""A pool of problems that are drawn by how often the policy is believed to solve them.

Of each problem the right and the wrong responses are counted, and forgotten with a half-life of h steps, since they
were an older policy's: after s steps a count is worth 2^(-s/h) of what it was. The belief is the mean of a Beta
distribution that begins as Beta(1/2, 1/2),

    p = (right + 1/2) / (right + wrong + 1)

so that no problem is ever believed to be solved always or never, and what has not been sampled for long goes back to
1/2, and so into the pool. SPO (arXiv 2509.13232) forgets by the KL divergence since a problem's last visit; here the
steps stand for it. A step draws its problems without replacement, each next one with a probability proportional to its
weight (`preference.py`). Where the band has fewer than are drawn, it is filled up with the nearest.
"""

from collections.abc import Mapping
from typing import Any

import torch

from pacs.algorithm.preference import Preference


class Pool:
    """The problems, what is believed of each, and the draw; a step begins, draws and then observes.

    Args:
        size: N, the number of problems.
        preference: which are to be drawn.
        half_life: h, in steps; None: nothing is forgotten.
        seed: of the draws.

    Attributes:
        drawn: the problems of the step so far, in the order in which they were drawn.
    """

    def __init__(self, size: int, preference: Preference, half_life: float | None, seed: int) -> None:
        self._preference, self._half_life = preference, half_life
        self._counts = torch.zeros(2, size, dtype=torch.float64)
        self._generator = torch.Generator().manual_seed(seed)
        self._step = 0
        self.drawn: list[int] = []

    @property
    def rates(self) -> torch.Tensor:
        """(N,) float64, the believed pass rates."""
        return (self._counts[0] + 0.5) / (self._counts.sum(0) + 1)

    def observe(self, problem: int, right: float, responses: int) -> None:
        """Count a problem's responses.

        Args:
            problem: its number.
            right: the sum of the responses' labels, each from 0 to 1.
            responses: how many there are.
        """
        self._counts[:, problem] += torch.tensor([right, responses - right], dtype=torch.float64)

    def begin(self, step: int) -> None:
        """Forget what the steps since the last one make old, and put the problems in the order of this one's draw."""
        if self._half_life is not None:
            self._counts *= 2.0 ** (-(step - self._step) / self._half_life)
        self._step, self.drawn = step, []
        self._believed = self.rates
        self._logs = self._preference.log_weights(self._believed, step)
        # By log w plus Gumbel noise, the largest first: each next one is drawn by w among those that are left.
        noise = -torch.empty_like(self._logs).exponential_(generator=self._generator).log()
        by_chance = torch.where(self._logs.isfinite(), self._logs, 0).add(noise).argsort(descending=True)
        # Those of the band first, then by their distance from it; of equally far ones any.
        distance = self._preference.distance(self._believed)
        self._order = by_chance[distance[by_chance].argsort(stable=True)].tolist()

    def draw(self, number: int) -> list[int]:
        """So many problems that the step has not drawn yet; where it has drawn all, the same ones again."""
        first = len(self.drawn)
        self.drawn += [self._order[place % len(self._order)] for place in range(first, first + number)]
        return self.drawn[first:]

    def statistics(self) -> dict[str, float]:
        """Of the step's draw.

        Returns:
            `believed`, the mean believed pass rate of what was drawn; `outside`, how many of it the band does not have;
            `effective`, among how many problems of equal weight the first draw would be as unsure; `target`.
        """
        chances = torch.softmax(self._logs, 0).nan_to_num(0.0)  # an empty band has none
        squares = float(chances.square().sum())
        return {
            "believed": float(self._believed[self.drawn].mean()),
            "outside": float(self._logs[self.drawn].isinf().sum()),
            "effective": 1 / squares if squares else 0.0,
            "target": self._preference.target_at(self._step),
        }

    def state(self) -> dict[str, Any]:
        """What `restore` takes: tensors and a number."""
        return {"counts": self._counts.clone(), "step": self._step, "generator": self._generator.get_state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on after the step that `state` was taken at.

        Raises:
            ValueError: it is of another number of problems.
        """
        there, here = state["counts"].shape[1], self._counts.shape[1]
        if there != here:
            raise ValueError(f"a pool of {there:,} problems, and there are {here:,}")
        self._counts, self._step = state["counts"].clone(), state["step"]
        self._generator.set_state(state["generator"])
