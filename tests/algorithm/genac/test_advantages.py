"""Advantages over segments: beside a naive loop, and at both ends of lambda what GenAC and VinePPO print."""

import itertools

import pytest
import torch

from pacs.algorithm import METHODS, batch_constants, check_method, method_of
from pacs.algorithm.genac import GenAc, GenAcCritic
from pacs.algorithm.vineppo import step_advantages

LAMBDAS = [0.0, 0.3, 0.95, 1.0]


def naive(values: list[float], outcome: float, lam: float) -> list[float]:
    """A sum of its own for each segment."""
    known = [*values, outcome]
    differences = [later - earlier for earlier, later in itertools.pairwise(known)]
    return [
        sum(lam ** (j - k) * differences[j] for j in range(k, len(values))) for k in range(len(values))
    ]  # 0 ** 0 is 1


def of_one(values: list[float], outcome: float, lam: float = 1.0) -> list[float]:
    """Of a response whose segments have a token each."""
    known, labels = torch.tensor([values], dtype=torch.float64), torch.tensor([outcome], dtype=torch.float64)
    steps, mask = torch.arange(len(values))[None], torch.ones_like(known, dtype=torch.bool)
    found: list[float] = step_advantages(labels, steps, known, mask, lam)[0].tolist()
    return found


@pytest.mark.parametrize("lam", LAMBDAS)
def test_a_response_s_advantages_are_those_of_the_loop(lam: float) -> None:
    generator = torch.Generator().manual_seed(0)
    for count in (1, 2, 9):
        for outcome in (0.0, 1.0):
            values = torch.rand(count, generator=generator, dtype=torch.float64).tolist()
            assert of_one(values, outcome, lam) == pytest.approx(naive(values, outcome, lam), abs=1e-12)


def test_at_one_it_is_the_outcome_less_the_value_and_at_nought_the_difference_of_values() -> None:
    values = [0.3, 0.7, 0.1, 0.2]
    assert of_one(values, 1.0) == [1.0 - value for value in values]
    assert of_one(values, 0.0, 0.0) == [0.7 - 0.3, 0.1 - 0.7, 0.2 - 0.1, 0.0 - 0.2]


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Labels, segments, values and a mask with holes; what is outside it is noise."""
    generator = torch.Generator().manual_seed(1)
    rows, width = 14, 12
    lengths = torch.randint(1, width + 1, (rows,), generator=generator)
    mask = torch.arange(width) < lengths[:, None]
    begins = (torch.rand(rows, width, generator=generator) < 0.4) & mask
    begins[:, 0] = False
    steps = begins.cumsum(1).double()
    values = torch.rand(rows, width, generator=generator, dtype=torch.float64).gather(1, steps.long())
    labels = torch.randint(0, 2, (rows,), generator=generator).double()
    noise = torch.randn(rows, width, generator=generator, dtype=torch.float64) * 1e6
    return labels, torch.where(mask, steps, 7), torch.where(mask, values, noise), mask


@pytest.mark.parametrize("lam", LAMBDAS)
def test_each_token_has_its_segment_s(lam: float) -> None:
    labels, steps, values, mask = batch()
    found = step_advantages(labels, steps, values, mask, lam)
    streams = {"step": torch.where(mask, steps, 0), "step_value": torch.where(mask, values, 0)}
    method = method_of({"name": "genac", "lam": lam})
    constants = batch_constants(labels, torch.arange(len(labels)), method, response_mask=mask, streams=streams)
    assert constants.credit is not None
    assert torch.equal(constants.credit, found)
    for row, label in enumerate(labels.tolist()):
        of_row, known = steps[row][mask[row]].long().tolist(), values[row][mask[row]].tolist()
        of_segments = [known[of_row.index(k)] for k in range(max(of_row) + 1)]
        expected = naive(of_segments, label, lam)
        assert found[row][mask[row]].tolist() == pytest.approx([expected[k] for k in of_row], abs=1e-12)
    assert (found[~mask] == 0).all()


def test_at_one_each_token_has_the_outcome_less_its_value() -> None:
    labels, steps, values, mask = batch()
    expected = torch.where(mask, labels[:, None] - values, 0)
    assert torch.equal(step_advantages(labels, steps, values, mask, 1.0), expected)


def test_the_kit_passes() -> None:
    for settings in ({}, {"lam": 0.5}, {"lam": 0.0}, {"ratio": "none"}):
        check_method(method_of({"name": "genac", **settings}), detached=settings.get("ratio") == "none")
    for baseline in ("leave_one_out", "none"):
        check_method(GenAcCritic(baseline=baseline))


def test_its_settings() -> None:
    assert METHODS["genac"] is GenAc
    method = GenAc()
    assert (method.lam, method.smallest_group, method.compares_with_sampler) == (1.0, 1, True)
    assert method.label_kind == "shares"
    with pytest.raises(ValueError, match="lam"):
        method_of({"name": "genac", "lam": 1.5})
