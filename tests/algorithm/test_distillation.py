"""On-policy distillation: the gradient of the divergence from the teacher, by enumeration; and PACS with a teacher."""

import pytest
import torch

from pacs.algorithm import batch_constants, check_method, method_loss, method_of
from pacs.algorithm.distillation import TEACHER, teacher_of

V = 5


def streams_of(teacher: torch.Tensor, old: torch.Tensor) -> dict[str, torch.Tensor]:
    return {TEACHER: teacher, "old_log_probs": old}


@pytest.mark.parametrize(
    "settings",
    [{"name": "distillation"}, {"name": "distillation", "task": 0.5}, {"name": "pacs_distilled", "strength": 0.3}],
)
def test_the_kit_passes(settings: dict) -> None:
    check_method(method_of({**settings, "teacher": "folder"}))


def test_the_expected_gradient_is_that_of_the_divergence() -> None:
    """One place, every token of the vocabulary a response, weighed by its likelihood: -strength dKL(pi || teacher)."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(V, generator=generator, dtype=torch.float64).requires_grad_()
    teacher = torch.randn(V, generator=generator, dtype=torch.float64).log_softmax(0)
    log_probs = logits.log_softmax(0)
    method = method_of({"name": "distillation", "teacher": "folder", "strength": 0.7})
    mask, labels, groups = torch.ones(V, 1, dtype=torch.bool), torch.zeros(V), torch.arange(V)
    streams = streams_of(teacher[:, None], log_probs.detach()[:, None])
    constants = batch_constants(labels.double(), groups, method, response_mask=mask, streams=streams)
    gradient = torch.zeros(V, dtype=torch.float64)
    for token in range(V):
        one = torch.tensor([token])
        loss, _ = method_loss(
            log_probs[one][:, None], log_probs.detach()[one][:, None], mask[one], labels[one], groups[one], method,
            constants=constants.of(one),
        )  # fmt: skip
        (of_token,) = torch.autograd.grad(loss, logits, retain_graph=True)
        gradient += log_probs.detach()[token].exp() * of_token
    divergence = (log_probs.exp() * (log_probs - teacher)).sum()
    (exact,) = torch.autograd.grad(0.7 * divergence, logits)
    assert torch.allclose(gradient, exact, atol=1e-12)
    assert exact.abs().min() > 1e-3


def rows(seed: int = 1) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    old, teacher = (-2 * torch.rand(6, 4, generator=generator, dtype=torch.float64) for _ in range(2))
    mask = torch.arange(4) < torch.tensor([4, 2, 3, 1, 4, 3])[:, None]
    labels = torch.tensor([1, 0, 0, 1, 1, 0], dtype=torch.float64)
    return old, teacher, mask, labels, torch.tensor([0, 0, 0, 1, 1, 1])


def loss_of(settings: dict, log_probs: torch.Tensor) -> torch.Tensor:
    old, teacher, mask, labels, groups = rows()
    method = method_of(settings)
    constants = batch_constants(labels, groups, method, response_mask=mask, streams=streams_of(teacher, old))
    return method_loss(log_probs, old, mask, labels, groups, method, constants=constants)[0]


def test_pacs_has_its_own_gradient_and_the_teachers() -> None:
    old, teacher, mask, _, _ = rows()
    leaf = (old + 0.1).requires_grad_()
    strength = 0.3
    taught = loss_of({"name": "pacs_distilled", "teacher": "folder", "strength": strength}, leaf)
    (gradient,) = torch.autograd.grad(taught, leaf)
    (alone,) = torch.autograd.grad(loss_of({"name": "pacs"}, leaf), leaf)
    lengths = mask.sum(1, keepdim=True)
    of_teacher = -strength * torch.where(mask, teacher - old, 0) / lengths / 6
    assert torch.allclose(gradient, alone + of_teacher, atol=1e-12)


def test_a_teacher_that_is_the_policy_leaves_pacs_as_it_is() -> None:
    old, _, mask, labels, groups = rows()
    leaf = (old + 0.1).requires_grad_()
    gradients = []
    for settings in ({"name": "pacs_distilled", "teacher": "folder"}, {"name": "pacs"}):
        method = method_of(settings)
        constants = batch_constants(labels, groups, method, response_mask=mask, streams=streams_of(old, old))
        loss = method_loss(leaf, old, mask, labels, groups, method, constants=constants)[0]
        gradients.append(torch.autograd.grad(loss, leaf)[0])
    assert torch.equal(*gradients)
    assert gradients[0].abs().sum() > 0


def test_advantages_of_the_task_are_added() -> None:
    old = rows()[0]
    leaf = old.clone().requires_grad_()
    sums = []
    for settings in ({"task": 0.0}, {"task": 2.0}):
        loss = loss_of({"name": "distillation", "teacher": "folder", **settings}, leaf)
        sums.append(torch.autograd.grad(loss, leaf)[0])
    (grpo,) = torch.autograd.grad(loss_of({"name": "pacs.algorithm.aggregated.Grpo"}, leaf), leaf)
    assert torch.allclose(sums[1], sums[0] + 2 * grpo, atol=1e-12)


def test_who_teaches_is_said() -> None:
    assert teacher_of(method_of({"name": "distillation", "teacher": "folder"})) == "folder"
    assert teacher_of(method_of({"name": "distillation", "teacher": None})) == ""
    assert teacher_of(method_of({"name": "pacs"})) == ""
