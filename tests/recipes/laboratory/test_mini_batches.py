"""Which rows an update trains on: beside all ways to cut a few groups, and beside verl's loss on rows cut by hand."""

from itertools import combinations
from pathlib import Path

import pytest
import torch
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

from pacs.base.errors import UserError
from recipes.laboratory.mini_batches import CUTS, balanced, in_order, scattered
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.recorded import ROUNDING, SMALL, Recorded, plain_policy
from tests.recipes.laboratory.test_equations import adam, of_rows, passed
from tests.recipes.laboratory.tiny import make_tiny_start, odd, relative_error, weights_of


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


@pytest.mark.parametrize("seed", range(8))
def test_balanced_updates_have_as_many_groups_and_nearly_the_least_difference_of_rewards(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    rewards = torch.randint(0, 2, (8, 4), generator=generator).float()
    groups = torch.arange(8).repeat_interleave(4)
    updates = balanced(rewards.flatten(), groups, 2)
    of_group = updates.view(8, 4)
    assert (of_group == of_group[:, :1]).all()
    assert of_group[:, 0].sum() == 4
    sums = rewards.sum(1)
    difference = abs(float(sums[of_group[:, 0] == 0].sum() - sums[of_group[:, 0] == 1].sum()))
    least = min(abs(float(2 * sums[list(half)].sum() - sums.sum())) for half in combinations(range(8), 4))
    assert difference <= least + 2
    assert difference <= abs(float(sums[:4].sum() - sums[4:].sum()))


def test_where_the_groups_do_not_divide_the_last_updates_have_one_less() -> None:
    groups = torch.arange(7).repeat_interleave(2)
    for cut in (in_order, balanced):
        counts = torch.bincount(cut(torch.ones(14), groups, 3))
        assert sorted(counts.tolist()) == [4, 4, 6]


def test_scattered_updates_have_as_many_rows_of_each_group() -> None:
    groups = torch.arange(3).repeat_interleave(4)
    assert torch.bincount(groups * 2 + scattered(torch.zeros(12), groups, 2)).tolist() == [2] * 6


@pytest.mark.parametrize("name", [None, "balanced", "scattered"])
def test_a_run_ends_where_verls_loss_on_these_rows_leads(name: str | None, start: Path) -> None:
    settings = Settings(method="grpo", mini_batches=name, **SMALL)
    recorded = Recorded(start, settings)
    policy = plain_policy(start)
    first, optimizer = weights_of(policy), adam(policy, settings.lr)
    config = ActorConfig(strategy="fsdp2", rollout_n=4, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2)
    size, groups = settings.responses, torch.arange(settings.prompts).repeat_interleave(settings.responses)
    for samples in recorded.samples:
        labels, mask = odd(samples.texts), samples.response_mask.float()
        each = labels.view(-1, size)
        advantages = ((each - each.mean(1, keepdim=True)) / (each.std(1, keepdim=True) + 1e-6)).view(-1, 1) * mask
        with torch.no_grad():
            old = passed(policy, samples)
        if name == "scattered":
            updates = [list(range(0, len(labels), 2)), list(range(1, len(labels), 2))]
        else:
            of_row = groups // 3 if name is None else balanced(labels, groups, 2)
            updates = [(of_row == number).nonzero()[:, 0].tolist() for number in (0, 1)]
        for rows in updates:
            own = passed(policy, of_rows(samples, rows))
            loss, _ = core_algos.compute_policy_loss_vanilla(
                old[rows], own, advantages[rows], mask[rows], config=config
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert relative_error(weights_of(recorded.policy), weights_of(policy), first) < ROUNDING


def test_a_method_that_compares_within_an_update_keeps_its_groups() -> None:
    with pytest.raises(UserError, match="mini_batches=scattered takes a group apart"):
        Settings(mini_batches="scattered")
    with pytest.raises(UserError, match=r"mini_batches=balance is not known: .* Did you mean balanced"):
        Settings(mini_batches="balance")
    with pytest.raises(UserError, match=r"mini_batches=\['balanced'\] is not known"):
        Settings(mini_batches=["balanced"])  # type: ignore[arg-type]
    assert Settings(mini_batches="balanced").mini_batches in CUTS
