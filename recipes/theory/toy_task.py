"""The toy's problems: answers with random features, some of them right, and a policy that is a softmax of features."""

from typing import NamedTuple

import torch

ANSWERS, FEATURES, RIGHT = 32, 48, 3
#: Standard deviation of the base policy's logits.
BASE_SCALE = 3.5
HELD_OUT = 512


class World(NamedTuple):
    """How labels come about.

    Attributes:
        noise: scale of the Gumbel noise that decides, beside the features, which answers are right; the features' part
            has a standard deviation of 1.
        cosine: how far the base policy's logits are along that part.
    """

    noise: float
    cosine: float


#: Both are near .24, .71 and .85 for the base policy's pass@1, @32 and @128.
WORLDS = {"clear": World(0.0, 0.35), "noisy": World(2 / 3, 0.5)}


class Prompts(NamedTuple):
    """P prompts.

    Attributes:
        features: (P, A, F) float64.
        right: (P, A) float64, 1 at the right answers, of which each prompt has three.
    """

    features: torch.Tensor
    right: torch.Tensor


class Task:
    """A world of prompts, and a base policy for it.

    The features x of an answer are normal, of variance 1/F. The three right answers of a prompt are those
    with the highest values of x . u + noise. The policy's logits are x . theta, and the base has
    theta = BASE_SCALE * (cosine * u + sine * v); u and v are at right angles, of norm sqrt(F).

    Args:
        world: its noise and its base.
        seed: of u, v, and of the prompts.
        prompts: to train on, over and over; None: new ones at each step.

    Attributes:
        base: (F,) float64 theta of the base policy.
        held_out: 512 prompts that are not trained on.
        trained: those to train on, None where they are always new.
    """

    def __init__(self, world: World, seed: int, prompts: int | None = None) -> None:
        self._noise = world.noise
        self._generator = torch.Generator().manual_seed(seed)
        u, v = (self._normal(FEATURES) for _ in range(2))
        v = v - (v @ u) / (u @ u) * u
        self._signal, other = (FEATURES**0.5 * each / each.norm() for each in (u, v))
        self.base = BASE_SCALE * (world.cosine * self._signal + (1 - world.cosine**2) ** 0.5 * other)
        self.held_out = self.draw(HELD_OUT)
        self.trained = None if prompts is None else self.draw(prompts)
        self._order = torch.empty(0, dtype=torch.int64)

    def draw(self, count: int) -> Prompts:
        """`count` new prompts."""
        features = self._normal(count, ANSWERS, FEATURES) / FEATURES**0.5
        gumbel = -torch.empty(count, ANSWERS, dtype=torch.float64).exponential_(generator=self._generator).log()
        order = (features @ self._signal + self._noise * gumbel).argsort(dim=1, descending=True)
        return Prompts(features, (order.argsort(dim=1) < RIGHT).double())

    def batch(self, count: int) -> Prompts:
        """`count` prompts to train on: new ones, or the next of an order that is shuffled anew for each epoch."""
        if self.trained is None:
            return self.draw(count)
        size = len(self.trained.right)
        while len(self._order) < count:
            self._order = torch.cat([self._order, torch.randperm(size, generator=self._generator)])
        rows, self._order = self._order[:count], self._order[count:]
        return Prompts(self.trained.features[rows], self.trained.right[rows])

    def noise(self, count: int, responses: int) -> torch.Tensor:
        """(P, G) uniform numbers in [0, 1), by which responses are drawn."""
        return torch.rand(count, responses, generator=self._generator, dtype=torch.float64)

    def _normal(self, *shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=self._generator, dtype=torch.float64)
