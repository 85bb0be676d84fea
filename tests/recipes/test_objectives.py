"""The page of objectives: each number of it by brute force."""

from itertools import product

import pytest
import torch

from pacs.algorithm import Method, Pacs, method_loss
from pacs.algorithm.disco import Disco
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real
from recipes.objectives import __main__ as page
from recipes.objectives.climbed import METHODS, Climbed, enumerated, grpo
from recipes.objectives.equalities import EQUALITIES, Equality, residual

OURS: dict[str, Method] = {
    "PACS, balanced in the group (the paper)": Pacs(),
    "PACS, weights 1/q (log_pass_rate)": Pacs(objective="log_pass_rate"),
    "PACS without weights": Pacs(objective="pass_rate"),
    "GVPO": Gvpo(),
    "NFT": Nft(),
    "RAFT++": Raft(),
    "MaxRL": MaxRl(),
    "REAL": Real(),
    "Reinforce-Rej; REAL's cross-entropy": ReinforceRej(),
    "DisCO": Disco(),
    "pass@k training (grpo_passk)": PassAtK(),
}
CLIMBED = {climbed.names: climbed for climbed in METHODS}


def test_the_page_and_its_figure_are_what_the_methods_say() -> None:
    assert (page.FOLDER / page.PAGE).read_text(encoding="utf-8") == page.page(), "run `python -m recipes.objectives`"
    assert (page.FOLDER / page.FIGURE).stat().st_size > 10_000


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("p", [0.05, 0.8])
def test_the_expected_update_over_all_label_sequences(name: str, p: float) -> None:
    """A policy of one parameter, p = sigmoid(theta), and responses of one token: right or wrong. All 2^8 sequences."""
    size = 8
    theta = torch.tensor(p, dtype=torch.float64).logit().requires_grad_()
    outcomes = torch.stack([torch.nn.functional.logsigmoid(-theta), torch.nn.functional.logsigmoid(theta)])
    ids, mask = torch.zeros(size, dtype=torch.int64), torch.ones(size, 1)
    expected = torch.zeros((), dtype=torch.float64)
    for sequence in product((0, 1), repeat=size):
        labels = torch.tensor(sequence)
        log_probs = outcomes[labels][:, None]
        loss, _ = method_loss(log_probs, log_probs.detach(), mask, labels, ids, OURS[name], denominator=size)
        (gradient,) = torch.autograd.grad(loss, theta, retain_graph=True)
        expected -= log_probs.detach().sum().exp() * gradient
    climbs = expected / (p * (1 - p))
    assert float(climbs) == pytest.approx(CLIMBED[name].closed(p, size), rel=1e-9)
    assert enumerated(CLIMBED[name], p, size) == pytest.approx(float(climbs), rel=1e-9)


@pytest.mark.parametrize("climbed", METHODS, ids=lambda climbed: climbed.names)
@pytest.mark.parametrize("size", page.SIZES)
def test_the_closed_forms(climbed: Climbed, size: int) -> None:
    """GRPO's has no 1e-6 beside the standard deviation."""
    for p in (*page.RATES, 0.5):
        assert enumerated(climbed, p, size) == pytest.approx(climbed.closed(p, size), rel=1e-5)


def test_grpo_is_verl_s() -> None:
    import numpy as np
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    labels = torch.tensor([1.0, 0, 0, 1, 0, 0, 0, 0])
    theirs, _ = compute_grpo_outcome_advantage(labels[:, None], torch.ones(8, 1), np.zeros(8, dtype=int))
    torch.testing.assert_close(grpo(labels.double()), theirs[:, 0].double(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("equality", EQUALITIES, ids=lambda equality: equality.text[:30])
def test_the_equalities(equality: Equality) -> None:
    assert residual(equality, groups=50) < 1e-12
