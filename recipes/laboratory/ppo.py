"""PPO with a critic: the advantage of a token is the label less the value of what stands before it."""

import copy

import torch
from pydantic import Field
from torch import nn
from transformers import PreTrainedModel

from pacs.algorithm import TrainBatch
from pacs.algorithm.aggregated import Aggregated
from recipes.laboratory.reading import before_each_token
from recipes.laboratory.sampling import Samples

WHITENING_EPSILON = 1e-8


#: The stream of a critic's advantages.
ADVANTAGES = "advantages"


class Ppo(Aggregated):
    """Token losses -A_t rho_t, with the advantages of a `Critic`, by GAE at gamma = lambda = 1, whitened."""

    READS = (ADVANTAGES,)

    #: Learning rate of the critic's Adam.
    critic_lr: float = Field(default=1e-3, gt=0, description="a number above 0")
    #: How far a value may move in a step before its loss no longer falls.
    clip_value: float = Field(default=0.5, gt=0, description="verl's default is 0.5")

    @property
    def smallest_group(self) -> int:
        """It compares no responses."""
        return 1

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) of `advantages_and_returns`."""
        return batch.streams[ADVANTAGES]


class Critic(nn.Module):
    """A copy of a causal language model's body with a linear head, of zeros, that gives each token's value."""

    def __init__(self, policy: PreTrainedModel) -> None:
        super().__init__()
        self.body = copy.deepcopy(policy.base_model)
        self.head = nn.Linear(policy.config.hidden_size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, samples: Samples) -> torch.Tensor:
        """(B, T) the value before each response token: what its response is expected to score; 0 after its end."""

        def of(hidden: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
            values: torch.Tensor = self.head(hidden).squeeze(-1)
            return values

        return before_each_token(self.body, samples, of)


class Values:
    """A critic, its Adam, and what it says of a step's responses.

    Args:
        policy: the start.
        method: with its settings.
        clip_grad: the gradient's largest norm.
    """

    def __init__(self, policy: PreTrainedModel, method: Ppo, clip_grad: float) -> None:
        self._critic, self._method, self._clip_grad = Critic(policy), method, clip_grad
        self._optimizer = torch.optim.AdamW(self._critic.parameters(), lr=method.critic_lr, weight_decay=0.0)

    @torch.no_grad()
    def judge(self, samples: Samples, labels: torch.Tensor) -> torch.Tensor:
        """The (B, T) advantages of a step's B responses, before any update of it, for their (B,) labels."""
        self._old = self._critic(samples)
        advantages, self._returns = advantages_and_returns(labels, self._old, samples.response_mask)
        return advantages

    def update(self, part: Samples, rows: torch.Tensor, denominator: float) -> None:
        """The critic's own update by a mini-batch: (B',) `rows` of those judged last, of which `part` is."""
        columns = slice(part.response_mask.shape[1])
        old, returns = self._old[rows, columns], self._returns[rows, columns]
        values = self._critic(part)
        loss = value_loss(values, old, returns, part.response_mask, self._method.clip_value, denominator)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._critic.parameters(), self._clip_grad)
        self._optimizer.step()


def advantages_and_returns(
    labels: torch.Tensor, values: torch.Tensor, response_mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """GAE at gamma = lambda = 1, where the label is the reward of the last token.

    Args:
        labels: (B,) floating.
        values: (B, T) of the critic, before its updates.
        response_mask: (B, T) bool.

    Returns:
        (B, T) advantages R_i - V_it, less their mean over all tokens under the mask, and divided by their unbiased
        standard deviation over them; and the returns R_i. Both 0 outside the mask.
    """
    returns = labels[:, None].expand_as(values)
    known = (returns - values)[response_mask]
    scale = (known.var() + WHITENING_EPSILON).rsqrt()
    advantages = torch.where(response_mask, (returns - values - known.mean()) * scale, 0)
    return advantages, torch.where(response_mask, returns, 0)


def value_loss(
    values: torch.Tensor,
    old_values: torch.Tensor,
    returns: torch.Tensor,
    response_mask: torch.Tensor,
    clip_value: float,
    denominator: float,
) -> torch.Tensor:
    """(1/2N) sum_it of the larger of two squared errors: that of V, and that of V held within `clip_value` of the old.

    Args:
        values: (B, T), with the gradient.
        old_values: (B, T), before the step's updates.
        returns: (B, T).
        response_mask: (B, T) bool.
        clip_value: see above.
        denominator: N, by the method's aggregation.
    """
    clipped = values.clamp(old_values - clip_value, old_values + clip_value)
    errors = torch.maximum((values - returns).square(), (clipped - returns).square())
    return torch.where(response_mask, errors, 0).sum() / (2 * denominator)
