"""What the theory page trains on samples, toy and ranking: updates by autograd, measures by loops, cells made again."""

from itertools import product

import numpy as np
import pytest
import torch

from pacs.algorithm import Method, Pacs, ReferenceConfig, method_loss
from pacs.algorithm.aggregated import Grpo
from recipes.theory import few, ranking, toy
from recipes.theory.kept import read_runs
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
    found = toy.gradient(method, prompts, theta, theta + 0.1 * reference, drawn)
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
    ours, theirs = toy.Adam(torch.full((1, 1, 1), 0.03, dtype=torch.float64)), torch.optim.Adam([leaf], lr=0.03)
    for _ in range(5):
        leaf.grad = torch.randn(1, 1, 5, generator=generator, dtype=torch.float64)
        theta = ours.step(theta, leaf.grad)
        theirs.step()
    torch.testing.assert_close(theta, leaf.detach())


def test_a_toy_s_cell_is_the_same_alone() -> None:
    """Learning rates and seeds share a pass, and nothing else."""
    both = toy.train(Pacs(), WORLDS["noisy"], [0.05, 0.1], [0, 1], 1024)
    alone = toy.train(Pacs(), WORLDS["noisy"], [0.1], [1], 1024)
    assert both["pass@1"][1][1] == pytest.approx(alone["pass@1"][0][0], abs=1e-9)
    assert both["pass@1"][1][0] != pytest.approx(alone["pass@1"][0][0], abs=1e-3)


def test_the_toy_s_task_and_measures() -> None:
    task = Task(WORLDS["clear"], 0)
    prompts = task.held_out
    assert (prompts.right.sum(dim=1) == 3).all()
    policy = (prompts.features @ task.base).softmax(dim=1)
    p = (policy * prompts.right).sum(dim=1)
    found = toy.evaluate(toy.together([prompts]), task.base[None, None])
    assert float(found["pass@32"]) == pytest.approx(float((1 - (1 - p) ** 32).mean()))
    assert float(found["entropy"]) == pytest.approx(float(torch.distributions.Categorical(policy).entropy().mean()))
    among = torch.distributions.Categorical(policy * prompts.right)
    assert float(found["right entropy"]) == pytest.approx(float(among.entropy().mean()), abs=1e-6)
    drawn = toy.sample(policy.log()[None, None, :1], torch.rand(1, 1, 20_000, dtype=torch.float64))
    shares = torch.bincount(drawn.flatten(), minlength=32) / 20_000
    assert float((shares - policy[0]).abs().max()) < 0.02


def test_few_prompts_are_trained_on_epoch_by_epoch() -> None:
    """Each prompt once before any comes again, in another order; held-out prompts and base are as without them."""
    task, other = Task(WORLDS["noisy"], 3, prompts=10), Task(WORLDS["noisy"], 3)
    assert torch.equal(task.held_out.features, other.held_out.features)
    assert torch.equal(task.base, other.base)
    assert task.trained is not None
    batches = [task.batch(4) for _ in range(5)]
    features = torch.cat([batch.features for batch in batches])
    same = (features[:, None] == task.trained.features).flatten(2).all(dim=2)
    assert torch.equal(same.sum(dim=1), torch.ones(20, dtype=torch.int64))
    assert sorted(same[:10].nonzero()[:, 1].tolist()) == sorted(same[10:].nonzero()[:, 1].tolist()) == list(range(10))
    assert same[:10].nonzero()[:, 1].tolist() != same[10:].nonzero()[:, 1].tolist()
    right = torch.cat([batch.right for batch in batches])
    assert torch.equal(right, task.trained.right[same.nonzero()[:, 1]])


def test_pass_at_1_on_the_prompts_that_were_trained_on() -> None:
    """They are learned by heart, and new ones are not a measure of it."""
    lrs, rollouts = [0.1], 20 * 512
    found = toy.train(Grpo(), WORLDS["noisy"], lrs, [0], rollouts, prompts=16)
    assert found["trained pass@1"][0][0] > found["pass@1"][0][0] + 0.2
    assert "trained pass@1" not in toy.train(Grpo(), WORLDS["noisy"], lrs, [0], 512)


def test_intervals_are_scipy_s() -> None:
    from scipy.stats import ttest_rel

    ours, theirs = np.array([0.4, 0.5, 0.45, 0.6]), np.array([0.3, 0.45, 0.5, 0.4])
    expected = ttest_rel(ours, theirs).confidence_interval()
    assert interval(ours, theirs)[1:] == pytest.approx((expected.low, expected.high))


def test_the_ranking_by_loops() -> None:
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 20, 7, generator=generator, dtype=torch.float64)
    logits[1, :, 2] = logits[0, :, 2]
    labels = torch.tensor([1.0, 0, 1, 0, 0, 1, 0], dtype=torch.float64).expand(20, -1)
    policy, reference = (2 * each.log_softmax(dim=1) for each in logits)
    policy, reference = policy.log_softmax(dim=1), reference.log_softmax(dim=1)
    found = ranking.ranked(policy, reference, labels)
    identity = found.right - found.wrong - (found.odds + found.kl_right - found.kl_wrong)
    assert float(identity.abs().max()) < 1e-12
    for i in range(20):
        p, r = policy[i].exp().tolist(), (policy[i] - reference[i]).tolist()
        right, wrong = ([j for j in range(7) if labels[i, j] == label] for label in (1, 0))
        share = sum(p[j] for j in right)
        assert float(found.right[i]) == pytest.approx(sum(p[j] * r[j] for j in right) / share)
        assert float(found.wrong[i]) == pytest.approx(sum(p[j] * r[j] for j in wrong) / (1 - share))
        ahead = sum(p[a] * p[b] * ((r[a] > r[b]) + 0.5 * (r[a] == r[b])) for a in right for b in wrong)
        assert float(found.accuracy[i]) == pytest.approx(ahead / share / (1 - share))
        assert float(found.kl[i]) == pytest.approx(sum(p[j] * r[j] for j in range(7)))


@pytest.mark.parametrize("mixed", [True, False])
def test_the_calibration_error_by_loops(mixed: bool) -> None:
    generator = torch.Generator().manual_seed(4)
    policy, reference = torch.randn(2, 1, 1, 3, 5, generator=generator, dtype=torch.float64).log_softmax(dim=-1)
    labels = (torch.rand(1, 1, 3, 5, generator=generator) < 0.5).double()
    sums, total = [0.0] * 10, 0.0
    for prompt in range(3):
        p, q = policy[0, 0, prompt].exp().tolist(), reference[0, 0, prompt].exp().tolist()
        for a, b in product(range(5), repeat=2):
            right = labels[0, 0, prompt, a]
            if (right != labels[0, 0, prompt, b]) == mixed:
                odds = (p[a] / q[a] / (p[b] / q[b])) ** 0.7
                share = odds / (1 + odds)
                sums[int(10 * share)] += p[a] * p[b] * (float(right) - share)
                total += p[a] * p[b]
    found = ranking.calibration_error(policy, reference, labels, 0.7, mixed=mixed)
    assert float(found) == pytest.approx(sum(map(abs, sums)) / total)


def test_a_ranking_is_that_which_is_kept() -> None:
    """Before the first reset, and after it."""
    settings = ranking.SETTINGS
    kept = read_runs(ranking.RESULTS, settings, ranking.BETAS)["runs"]["1.0"]["20"]
    method = Pacs(reference=ReferenceConfig(reset_every=20, reset_optimizer=True))
    curve = ranking.train(method, settings["learning_rates"], settings["seeds"], settings["steps"][:2])
    for measure, values in curve._asdict().items():
        np.testing.assert_allclose(values, kept[measure][:2], atol=2e-4)


@pytest.mark.long
def test_a_cell_of_the_toy_is_that_which_is_kept() -> None:
    """A sample may fall otherwise on another machine, so that the numbers agree nearly."""
    kept = read_runs(toy.RESULTS, toy.SETTINGS, WORLDS)["runs"]["noisy"]
    for name in ("MaxRL", "PACS, w = 1/q, never"):
        found = toy.train(toy.METHODS[name], WORLDS["noisy"], [0.05], [0], toy.SETTINGS["rollouts"])
        assert found["pass@1"][0][0] == pytest.approx(kept[name]["pass@1"][1][0], abs=0.02)


def test_a_cell_of_few_prompts_is_that_which_is_kept() -> None:
    kept = read_runs(few.RESULTS, few.SETTINGS, few.WORLDS)["runs"]["known"]
    found = toy.train(few.METHODS["GRPO"], few.WORLDS["known"], [0.05], [2], 100_000, 32)
    for measure, values in found.items():
        assert values[0][0] == pytest.approx(kept[few.named("GRPO", 32, 100_000)][measure][1][2], abs=0.02)
