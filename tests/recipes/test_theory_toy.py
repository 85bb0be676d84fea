"""The theory page's toy: its update by autograd, its measures by loops, and a cell made again."""

from itertools import product

import numpy as np
import pytest
import torch

from pacs.algorithm import Method, Pacs, method_loss
from recipes.theory import toy, toy_train
from recipes.theory.enumeration import all_groups, solve_groups
from recipes.theory.kept import read_runs
from recipes.theory.rivals import Grpo, Rloo
from recipes.theory.section_toy import interval
from recipes.theory.toy_task import WORLDS, Prompts, Task


@pytest.mark.parametrize("method", [Pacs(), Pacs(single_class_groups="drop"), Grpo()], ids=["pacs", "drop", "grpo"])
def test_the_toy_s_gradient_is_autograd_s(method: Method) -> None:
    """Against the loss of one learning rate's and seed's mini-batch, written with the features in the graph."""
    generator = torch.Generator().manual_seed(5)
    prompts = Prompts(
        torch.randn(2, 3, 6, 4, generator=generator, dtype=torch.float64),
        (torch.rand(2, 3, 6, generator=generator) < 0.4).double(),
    )
    theta, reference = torch.randn(2, 2, 2, 4, generator=generator, dtype=torch.float64)
    drawn = torch.randint(0, 6, (2, 2, 3, 4), generator=generator)
    found = toy_train.gradient(method, prompts, theta, theta + 0.1 * reference, drawn)
    for i, j in product(range(2), repeat=2):
        leaf = theta[i, j].clone().requires_grad_()
        fixed = (prompts.features[j] @ (theta[i, j] + 0.1 * reference[i, j])).log_softmax(dim=1)
        own = (prompts.features[j] @ leaf).log_softmax(dim=1)
        rows, of_reference, labels = (each.gather(1, drawn[i, j]).view(-1) for each in (own, fixed, prompts.right[j]))
        loss, _ = method_loss(
            rows[:, None],
            of_reference[:, None],
            torch.ones(12, 1),
            labels,
            torch.arange(3).repeat_interleave(4),
            method,
        )
        torch.testing.assert_close(found[i, j], torch.autograd.grad(loss, leaf)[0])


def test_the_toy_s_adam_is_torch_s() -> None:
    generator = torch.Generator().manual_seed(6)
    theta = torch.randn(1, 1, 5, generator=generator, dtype=torch.float64)
    leaf = theta.clone().requires_grad_()
    ours, theirs = toy_train.Adam(torch.full((1, 1, 1), 0.03, dtype=torch.float64)), torch.optim.Adam([leaf], lr=0.03)
    for _ in range(5):
        leaf.grad = torch.randn(1, 1, 5, generator=generator, dtype=torch.float64)
        theta = ours.step(theta, leaf.grad)
        theirs.step()
    torch.testing.assert_close(theta, leaf.detach())


def test_a_toy_s_cell_is_the_same_alone() -> None:
    """Learning rates and seeds share a pass, and nothing else."""
    both = toy_train.train(Pacs(), WORLDS["noisy"], [0.05, 0.1], [0, 1], 1024)
    alone = toy_train.train(Pacs(), WORLDS["noisy"], [0.1], [1], 1024)
    assert both["pass@1"][1][1] == pytest.approx(alone["pass@1"][0][0], abs=1e-9)
    assert both["pass@1"][1][0] != pytest.approx(alone["pass@1"][0][0], abs=1e-3)


def test_the_toy_s_task_and_measures() -> None:
    task = Task(WORLDS["clear"], 0)
    prompts = task.held_out
    assert (prompts.right.sum(dim=1) == 3).all()
    policy = (prompts.features @ task.base).softmax(dim=1)
    p = (policy * prompts.right).sum(dim=1)
    found = toy_train.evaluate(toy_train.together([prompts]), task.base[None, None])
    assert float(found["pass@32"]) == pytest.approx(float((1 - (1 - p) ** 32).mean()))
    assert float(found["entropy"]) == pytest.approx(float(torch.distributions.Categorical(policy).entropy().mean()))
    among = torch.distributions.Categorical(policy * prompts.right)
    assert float(found["right entropy"]) == pytest.approx(float(among.entropy().mean()), abs=1e-6)
    drawn = toy_train.sample(policy.log()[None, None, :1], torch.rand(1, 1, 20_000, dtype=torch.float64))
    shares = torch.bincount(drawn.flatten(), minlength=32) / 20_000
    assert float((shares - policy[0]).abs().max()) < 0.02


def test_the_rivals_advantages() -> None:
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage, compute_rloo_outcome_advantage

    policy = torch.zeros(1, 8, dtype=torch.float64)
    labels = torch.tensor([1.0, 0, 0, 1, 0, 0, 0, 0], dtype=torch.float64)
    group = all_groups(8, 2)._replace(members=torch.arange(8)[None])
    theirs = (compute_grpo_outcome_advantage, compute_rloo_outcome_advantage)
    for method, estimator in zip((Grpo(), Rloo()), theirs, strict=True):
        expected, _ = estimator(labels[:, None], torch.ones(8, 1), np.zeros(8, dtype=int))
        found = -solve_groups(method, policy, policy, labels, group).slopes[0, 0]
        torch.testing.assert_close(found, expected[:, 0].double(), rtol=1e-5, atol=1e-6)


def test_intervals_are_scipy_s() -> None:
    from scipy.stats import ttest_rel

    ours, theirs = np.array([0.4, 0.5, 0.45, 0.6]), np.array([0.3, 0.45, 0.5, 0.4])
    expected = ttest_rel(ours, theirs).confidence_interval()
    assert interval(ours, theirs)[1:] == pytest.approx((expected.low, expected.high))


@pytest.mark.long
def test_a_cell_of_the_toy_is_that_which_is_kept() -> None:
    """A sample may fall otherwise on another machine, so that the numbers agree nearly."""
    kept = read_runs(toy.RESULTS, toy.SETTINGS, WORLDS)["runs"]["noisy"]
    for name in ("MaxRL", "PACS, w = 1/q, never"):
        found = toy_train.train(toy.METHODS[name], WORLDS["noisy"], [0.05], [0], toy.SETTINGS["rollouts"])
        assert found["pass@1"][0][0] == pytest.approx(kept[name]["pass@1"][1][0], abs=0.02)
