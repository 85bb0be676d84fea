"""How the score ranks what the policy samples: an identity, and eight prompts that share their features.

L learning rates, S seeds, P prompts, A answers, F features, as in the toy, whose policy and update these are. The runs
are kept in ranking.json as they come.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pacs.algorithm import Pacs, ReferenceConfig
from pacs.base.terminal import print
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.toy import Adam, gradient, log_policy, sample
from recipes.theory.toy_task import Prompts

PROMPTS, ANSWERS, RIGHT, FEATURES, RESPONSES, UPDATES = 8, 12, 5, 16, 8, 2
SPREAD = 1.5

RESULTS = Path(__file__).with_name("ranking.json")
PERIODS: dict[str, int | None] = {"1": 1, "5": 5, "20": 20, "100": 100, "never": None}
BETAS = {"1.0": 1.0, "0.1": 0.1}
#: Steps are the last before a reset of every period of more than one step.
SETTINGS: dict[str, Any] = {
    "learning_rates": [0.03, 0.1, 0.3],
    "seeds": list(range(12)),
    "steps": [20, 40, 100, 200, 400],
}


class Ranked(NamedTuple):
    """Of policies over answers, each without the last dimension of log pi.

    Attributes:
        pass_rate: p.
        kl: KL(pi, pi_ref), the mean log-ratio of what pi samples.
        right: mean log-ratio of a sampled response that is right.
        wrong: that of one that is wrong.
        odds: logit p - logit p_ref.
        kl_right: KL(pi given a right response, pi_ref given one).
        kl_wrong: that of wrong ones; right - wrong equals odds + kl_right - kl_wrong.
        accuracy: chance that of a right and a wrong sample the right one has the higher log-ratio; ties count half.
    """

    pass_rate: torch.Tensor
    kl: torch.Tensor
    right: torch.Tensor
    wrong: torch.Tensor
    odds: torch.Tensor
    kl_right: torch.Tensor
    kl_wrong: torch.Tensor
    accuracy: torch.Tensor


def ranked(policy: torch.Tensor, reference: torch.Tensor, right: torch.Tensor) -> Ranked:
    """Of (..., A) log pi, log pi_ref, and labels with both classes; exact."""
    ratio = policy - reference
    share, of_class, kl_among = [], [], []
    for members in (right == 1, right == 0):
        among = [each.masked_fill(~members, -torch.inf).log_softmax(dim=-1).exp() for each in (policy, reference)]
        logs = [each.masked_fill(~members, -torch.inf).logsumexp(dim=-1) for each in (policy, reference)]
        share.append(logs)
        of_class.append(among[0])
        inner = ratio - (logs[0] - logs[1])[..., None]
        kl_among.append((among[0] * inner).sum(dim=-1))
    odds = [share[0][i] - share[1][i] for i in (0, 1)]
    ahead = (ratio[..., :, None] > ratio[..., None, :]).double() + 0.5 * (
        ratio[..., :, None] == ratio[..., None, :]
    ).double()
    return Ranked(
        share[0][0].exp(),
        (policy.exp() * ratio).sum(dim=-1),
        (of_class[0] * ratio).sum(dim=-1),
        (of_class[1] * ratio).sum(dim=-1),
        odds[0] - odds[1],
        kl_among[0],
        kl_among[1],
        torch.einsum("...a,...ab,...b->...", of_class[0], ahead, of_class[1]),
    )


def problems(seeds: Sequence[int]) -> tuple[Prompts, torch.Tensor]:
    """(S, P, A, F) features and (S, P, A) labels, and (S, F) theta of the first policy.

    Features are normal, of variance 1/F, and say nothing of which 5 answers of 12 are right; 16 of them have to do for
    96 answers. The first policy's logits have a standard deviation of 1.5.
    """
    features, right, theta = [], [], []
    for seed in seeds:
        generator = torch.Generator().manual_seed(seed)
        features.append(torch.randn(PROMPTS, ANSWERS, FEATURES, generator=generator, dtype=torch.float64))
        order = torch.rand(PROMPTS, ANSWERS, generator=generator).argsort(dim=1)
        right.append((order < RIGHT).double())
        direction = torch.randn(FEATURES, generator=generator, dtype=torch.float64)
        theta.append(SPREAD * FEATURES**0.5 * direction / direction.norm())
    return Prompts(torch.stack(features) / FEATURES**0.5, torch.stack(right)), torch.stack(theta)


class Curve(NamedTuple):
    """After each mark of steps, (M, L, S) float64; means over prompts, those of pairs weighted by p (1 - p).

    Attributes:
        pass_rate: p.
        kl: mean log-ratio of what is sampled.
        gap: mean log-ratio of the right less that of the wrong; the sum of the next two less the third.
        odds, kl_right, kl_wrong: as of `Ranked`.
        accuracy: of the log-ratio as a ranker of what is sampled.
        mixed_error: calibration error of sigma(psi) in groups of two that have both classes, over ten equal bins.
        single_error: that in groups of one class.
    """

    pass_rate: torch.Tensor
    kl: torch.Tensor
    gap: torch.Tensor
    odds: torch.Tensor
    kl_right: torch.Tensor
    kl_wrong: torch.Tensor
    accuracy: torch.Tensor
    mixed_error: torch.Tensor
    single_error: torch.Tensor


def train(method: Pacs, lrs: Sequence[float], seeds: Sequence[int], marks: Sequence[int]) -> Curve:
    """Sampled PACS with Adam: a step draws 8 responses to each of the 8 prompts and makes 2 updates of 4 prompts."""
    prompts, start = problems(seeds)
    theta = start.expand(len(lrs), -1, -1).clone()
    reference, adam = theta, Adam(torch.tensor(lrs, dtype=torch.float64)[:, None, None])
    generators = [torch.Generator().manual_seed(1000 + seed) for seed in seeds]
    found, schedule = [], method.reference
    for step in range(1, marks[-1] + 1):
        uniform = torch.stack([torch.rand(PROMPTS, RESPONSES, generator=g, dtype=torch.float64) for g in generators])
        drawn = sample(log_policy(prompts.features, theta), uniform)
        for part in torch.randperm(PROMPTS, generator=generators[0]).chunk(UPDATES):
            few = Prompts(prompts.features[:, part], prompts.right[:, part])
            theta = adam.step(theta, gradient(method, few, theta, reference, drawn[:, :, part]))
        if step in marks:
            found.append(_measured(prompts, theta, reference, method.beta))
        if schedule.reset_every is not None and step % schedule.reset_every == 0:
            reference = theta
            if schedule.reset_optimizer:
                adam.reset()
    return Curve(*(torch.stack(parts) for parts in zip(*found, strict=True)))


def _measured(prompts: Prompts, theta: torch.Tensor, reference: torch.Tensor, beta: float) -> tuple[torch.Tensor, ...]:
    policy, of_reference = log_policy(prompts.features, theta), log_policy(prompts.features, reference)
    right = prompts.right.expand_as(policy)
    each = ranked(policy, of_reference, right)
    pairs = each.pass_rate * (1 - each.pass_rate)
    weight = pairs / pairs.sum(dim=2, keepdim=True)
    compared = (each.right - each.wrong, each.odds, each.kl_right, each.kl_wrong, each.accuracy)
    return (
        each.pass_rate.mean(dim=2),
        each.kl.mean(dim=2),
        *((weight * value).sum(dim=2) for value in compared),
        calibration_error(policy, of_reference, right, beta, mixed=True),
        calibration_error(policy, of_reference, right, beta, mixed=False),
    )


def calibration_error(
    policy: torch.Tensor, reference: torch.Tensor, right: torch.Tensor, beta: float, *, mixed: bool
) -> torch.Tensor:
    """(L, S) mean over groups of two of |share of right ones - mean of sigma(psi)|, by ten equal bins of sigma(psi).

    Args:
        policy, reference, right: (L, S, P, A).
        beta: of the reward proxy.
        mixed: of the groups with both classes, or of those with one.
    """
    ratio = beta * (policy - reference)
    share = torch.sigmoid(ratio[..., :, None] - ratio[..., None, :])
    of_kind = (right[..., :, None] != right[..., None, :]) == mixed
    chance = policy.exp()[..., :, None] * policy.exp()[..., None, :] * of_kind
    excess = chance * (right[..., :, None] - share)
    bins = (10 * share).long().clamp(max=9).flatten(2)
    sums = share.new_zeros(*share.shape[:2], 10).scatter_add(2, bins, excess.flatten(2))
    return sums.abs().sum(dim=2) / chance.sum(dim=(2, 3, 4))


def run(file: Path = RESULTS) -> None:
    """Run what is missing: beta -> period -> measure -> a list a step of a list a learning rate of a value a seed."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, BETAS)
    for name, beta in BETAS.items():
        for period, reset_every in PERIODS.items():
            if period in kept["runs"][name]:
                continue
            method = Pacs(beta=beta, reference=ReferenceConfig(reset_every=reset_every, reset_optimizer=True))
            curve = train(method, SETTINGS["learning_rates"], SETTINGS["seeds"], SETTINGS["steps"])
            kept["runs"][name][period] = {
                measure: [[[round(value, 4) for value in lr] for lr in step] for step in values.tolist()]
                for measure, values in curve._asdict().items()
            }
            write_runs(file, kept)
            print(f"beta {name}, K {period}", flush=True)
