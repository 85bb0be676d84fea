"""PPO with a critic, and VC-PPO: a token's advantage is what comes of it, less the value of what stands before it."""

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

    @property
    def lambdas(self) -> tuple[float, float]:
        """Of the advantages, and of the returns that the critic learns."""
        return 1.0, 1.0

    @property
    def first_update(self) -> int:
        """The first step that updates the policy."""
        return 1

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        """(B, T) of `advantages_and_returns`."""
        return batch.streams[ADVANTAGES]


class VcPpo(Ppo):
    """VC-PPO (arXiv 2503.01491): the critic first learns alone, and the advantages have a lambda of their own."""

    #: Lambda of the advantages.
    lam: float = Field(default=0.95, ge=0, le=1, description="a number from 0 to 1; the authors use 0.95")
    #: Lambda of the critic's returns.
    critic_lam: float = Field(default=1.0, ge=0, le=1, description="a number from 0 to 1; the authors use 1")
    #: The first step that updates the policy, as verl's `trainer.critic_warmup`.
    critic_warmup: int = Field(default=11, ge=1, description="a step, from 1")

    @property
    def lambdas(self) -> tuple[float, float]:
        """See above."""
        return self.lam, self.critic_lam

    @property
    def first_update(self) -> int:
        """See above."""
        return self.critic_warmup


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
        critic: to go on with, in place; None: a new one.
    """

    def __init__(self, policy: PreTrainedModel, method: Ppo, clip_grad: float, critic: Critic | None = None) -> None:
        self._critic, self._method, self._clip_grad = critic or Critic(policy), method, clip_grad
        self._optimizer = torch.optim.AdamW(self._critic.parameters(), lr=method.critic_lr, weight_decay=0.0)

    @torch.no_grad()
    def judge(self, samples: Samples, labels: torch.Tensor) -> torch.Tensor:
        """The (B, T) advantages of a step's B responses, before any update of it, for their (B,) labels."""
        self._old, mask = self._critic(samples), samples.response_mask
        advantages, self._returns = advantages_and_returns(labels, self._old, mask, *self._method.lambdas)
        left = (self._returns - self._old)[mask].var() / self._returns[mask].var()
        #: Of the step judged last, 1 - var(return - value) / var(return) over its tokens, before its updates.
        self.explained_variance = None if not left.isfinite() else 1 - float(left)
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
    labels: torch.Tensor, values: torch.Tensor, response_mask: torch.Tensor, lam: float = 1.0, critic_lam: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """GAE at gamma = 1, where the label is the reward of the last token.

    Args:
        labels: (B,) floating.
        values: (B, T) of the critic, before its updates.
        response_mask: (B, T) bool, a response's tokens from the first column on.
        lam: lambda of the advantages; at 1 they are R_i - V_it.
        critic_lam: lambda of the returns; at 1 they are R_i.

    Returns:
        (B, T) advantages, less their mean over all tokens under the mask, and divided by their unbiased standard
        deviation over them; and the returns. Both 0 outside the mask.
    """
    raw = _discounted_errors(labels, values, response_mask, lam)
    returns = values + _discounted_errors(labels, values, response_mask, critic_lam)
    known = raw[response_mask]
    scale = (known.var() + WHITENING_EPSILON).rsqrt()
    advantages = torch.where(response_mask, (raw - known.mean()) * scale, 0)
    return advantages, torch.where(response_mask, returns, 0)


def _discounted_errors(
    labels: torch.Tensor, values: torch.Tensor, response_mask: torch.Tensor, lam: float
) -> torch.Tensor:
    """(B, T) sum over l of lambda^l times the TD error of the l-th token after each."""
    if lam == 1:
        return labels[:, None] - values
    values = torch.where(response_mask, values, 0)
    ends = response_mask & ~nn.functional.pad(response_mask, (0, 1))[:, 1:]
    errors = torch.where(ends, labels[:, None], nn.functional.pad(values, (0, 1))[:, 1:]) - values
    sums = torch.where(response_mask, errors, 0)
    for t in reversed(range(values.shape[1] - 1)):
        sums[:, t] += lam * sums[:, t + 1]
    return sums


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
