"""Training on the toy: every learning rate and seed of a method at once, since each is a small matter.

Its runs, each method in each world, are kept in toy.json as they come.

L learning rates, S seeds, P prompts of a mini-batch, G responses, A answers, F features. Seeds have prompts and random
numbers of their own, which all methods and learning rates share: differences between them are paired.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from pacs.algorithm import Method, Pacs, ReferenceConfig, method_loss
from pacs.algorithm.aggregated import Grpo, Rloo
from pacs.algorithm.policy_gradient import MaxRl
from pacs.base.terminal import print
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.toy_task import WORLDS, Prompts, Task, World

RESPONSES, PROMPTS, UPDATES = 8, 64, 4
ADAM_BETAS, ADAM_EPSILON = (0.9, 0.999), 1e-8
KS = (1, 8, 32, 128)

RESULTS = Path(__file__).with_name("toy.json")
SETTINGS: dict[str, Any] = {
    "learning_rates": [0.03, 0.05, 0.07, 0.1, 0.15, 0.3, 0.6],
    "seeds": [0, 1, 2, 3, 4, 5],
    "rollouts": 100_000,
}


def _pacs(reset_every: int | None, **settings: Any) -> Pacs:
    return Pacs(reference=ReferenceConfig(reset_every=reset_every, reset_optimizer=True), **settings)


METHODS: dict[str, Method] = {
    "GRPO": Grpo(),
    "RLOO": Rloo(),
    "MaxRL": MaxRl(),
    "PACS, balanced, K = 1": Pacs(reference=ReferenceConfig(reset_every=1, reset_optimizer=False)),
    "PACS, balanced, K = 20": _pacs(20),
    "PACS, balanced, never": _pacs(None),
    "PACS, balanced, never, dropped": _pacs(None, single_class_groups="drop"),
    "PACS, w = 1/q, K = 20": _pacs(20, objective="log_pass_rate"),
    "PACS, w = 1/q, K = 100": _pacs(100, objective="log_pass_rate"),
    "PACS, w = 1/q, never": _pacs(None, objective="log_pass_rate"),
    "PACS, w = 1/q, never, dropped": _pacs(None, objective="log_pass_rate", single_class_groups="drop"),
    "PACS, w = 1/q, never, beta = 0.25": _pacs(None, objective="log_pass_rate", beta=0.25),
}
BASE = "base policy"


def log_policy(features: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
    """(L, S, P, A) log pi of (S, P, A, F) features and (L, S, F) theta."""
    return torch.einsum("spaf,lsf->lspa", features, theta).log_softmax(dim=3)


def sample(log_probs: torch.Tensor, uniform: torch.Tensor) -> torch.Tensor:
    """(L, S, P, G) answers of (L, S, P, A) log pi, by the inverse of its distribution at (S, P, G) uniform numbers."""
    below = log_probs.exp().cumsum(dim=3)
    drawn = torch.searchsorted(below, uniform.expand(*log_probs.shape[:3], -1).contiguous(), right=True)
    return drawn.clamp(max=log_probs.shape[3] - 1)


def gradient(
    method: Method,
    prompts: Prompts,
    theta: torch.Tensor,
    reference: torch.Tensor,
    drawn: torch.Tensor,
) -> torch.Tensor:
    """(L, S, F) of the loss of a mini-batch by theta, in closed form past the log-likelihoods.

    d log pi(o) / d logits = the unit vector of o - pi, and the logits are x . theta.

    Args:
        method: its loss; one that counts a response counts all of its group.
        prompts: (S, P, A, F) and (S, P, A).
        theta: (L, S, F).
        reference: (L, S, F), of the reference policy.
        drawn: (L, S, P, G) answers.
    """
    policy_log_probs = log_policy(prompts.features, theta)
    log_probs = policy_log_probs.gather(3, drawn).reshape(-1, 1).requires_grad_()
    of_reference = log_policy(prompts.features, reference).gather(3, drawn).reshape(-1, 1)
    labels = prompts.right.expand(len(theta), -1, -1, -1).gather(3, drawn)
    ids = torch.arange(labels[..., 0].numel()).repeat_interleave(drawn.shape[3])
    loss, columns = method_loss(
        log_probs, of_reference, torch.ones_like(log_probs), labels.reshape(-1), ids, method, denominator=1
    )
    per_response = torch.autograd.grad(loss, log_probs)[0].reshape(drawn.shape)
    active = columns["active"].reshape(drawn.shape).sum(dim=(2, 3)).clamp(min=1)
    by_answer = torch.zeros_like(policy_log_probs).scatter_add(3, drawn, per_response)
    by_logit = by_answer - policy_log_probs.exp() * by_answer.sum(dim=3, keepdim=True)
    return torch.einsum("lspa,spaf->lsf", by_logit, prompts.features) / active[..., None]


class Adam:
    """Adam without weight decay, over (L, S, F) parameters, (L, 1, 1) learning rates."""

    def __init__(self, lr: torch.Tensor) -> None:
        self.lr = lr
        self.reset()

    def reset(self) -> None:
        """Forget the moments."""
        self._count, self._first, self._second = 0, torch.zeros(()), torch.zeros(())

    def step(self, theta: torch.Tensor, slope: torch.Tensor) -> torch.Tensor:
        """Theta after a step down the slope."""
        self._count += 1
        b1, b2 = ADAM_BETAS
        self._first = b1 * self._first + (1 - b1) * slope
        self._second = b2 * self._second + (1 - b2) * slope.square()
        mean, square = self._first / (1 - b1**self._count), self._second / (1 - b2**self._count)
        return theta - self.lr * mean / (square.sqrt() + ADAM_EPSILON)


def train(
    method: Method,
    world: World,
    lrs: Sequence[float],
    seeds: Sequence[int],
    rollouts: int,
    prompts: int | None = None,
) -> dict[str, list[list[float]]]:
    """What each learning rate and seed comes to: measure -> a list a learning rate of a value a seed.

    A step takes 64 prompts and 8 responses to each from the policy, and makes 4 updates of 16 prompts.

    Args:
        method: its loss, and when its reference is reset.
        world: of the prompts.
        lrs: learning rates.
        seeds: of the worlds and samples.
        rollouts: responses in all.
        prompts: how many there are to train on; then `trained pass@1` is a measure, too, the pass@1 on these. None: new
            ones at each step.
    """
    tasks = [Task(world, seed, prompts) for seed in seeds]
    theta = torch.stack([task.base for task in tasks]).expand(len(lrs), -1, -1).clone()
    reference, adam = theta, Adam(torch.tensor(lrs, dtype=torch.float64)[:, None, None])
    schedule = method.reference
    for step in range(1, rollouts // (PROMPTS * RESPONSES) + 1):
        batch = together([task.batch(PROMPTS) for task in tasks])
        uniform = torch.stack([task.noise(PROMPTS, RESPONSES) for task in tasks])
        drawn = sample(log_policy(batch.features, theta), uniform)
        for part in torch.arange(PROMPTS).chunk(UPDATES):
            some = Prompts(batch.features[:, part], batch.right[:, part])
            theta = adam.step(theta, gradient(method, some, theta, reference, drawn[:, :, part]))
        if schedule.reset_every is not None and step % schedule.reset_every == 0:
            reference = theta
            if schedule.reset_optimizer:
                adam.reset()
    found = evaluate(together([task.held_out for task in tasks]), theta)
    trained = [task.trained for task in tasks if task.trained is not None]
    if trained:
        found["trained pass@1"] = evaluate(together(trained), theta)["pass@1"]
    return {name: values.tolist() for name, values in found.items()}


def together(prompts: Sequence[Prompts]) -> Prompts:
    """(S, P, A, F) and (S, P, A) of each seed's prompts."""
    return Prompts(*(torch.stack(parts) for parts in zip(*prompts, strict=True)))


def evaluate(prompts: Prompts, theta: torch.Tensor) -> dict[str, torch.Tensor]:
    """(L, S) exact means over prompts: pass@k, entropy in nats, and that of the policy given a right answer."""
    log_probs = log_policy(prompts.features, theta)
    p = (log_probs.exp() * prompts.right).sum(dim=3).clamp(max=1)
    found = {f"pass@{k}": (1 - (1 - p) ** k).mean(dim=2) for k in KS}
    found["entropy"] = -(log_probs.exp() * log_probs).sum(dim=3).mean(dim=2)
    among = log_probs.masked_fill(prompts.right == 0, -torch.inf).log_softmax(dim=3)
    found["right entropy"] = -(among.exp() * among.masked_fill(prompts.right == 0, 0)).sum(dim=3).mean(dim=2)
    return found


def base(world: World, seeds: Sequence[int]) -> dict[str, list[list[float]]]:
    """What the untrained policy has on the held-out prompts: measure -> one list, of a value a seed."""
    tasks = [Task(world, seed) for seed in seeds]
    held_out, theta = together([task.held_out for task in tasks]), torch.stack([task.base for task in tasks])
    return rounded({measure: values.tolist() for measure, values in evaluate(held_out, theta[None]).items()})


def rounded(found: dict[str, list[list[float]]]) -> dict[str, list[list[float]]]:
    """As results are kept."""
    return {measure: [[round(value, 5) for value in line] for line in lines] for measure, lines in found.items()}


def run(file: Path = RESULTS) -> None:
    """Run what is missing, each result written when it is there."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, WORLDS)
    for world, made in WORLDS.items():
        runs = kept["runs"][world]
        for name in (BASE, *METHODS):
            if name in runs:
                continue
            if name == BASE:
                runs[name] = base(made, SETTINGS["seeds"])
            else:
                runs[name] = rounded(
                    train(METHODS[name], made, SETTINGS["learning_rates"], SETTINGS["seeds"], SETTINGS["rollouts"])
                )
            write_runs(file, kept)
            print(f"{world}: {name}", flush=True)
