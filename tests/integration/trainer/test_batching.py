"""Whole groups stay whole, for any numbers of groups of any sizes, ranks and mini-batches."""

import random
from collections import Counter
from dataclasses import replace
from itertools import accumulate, chain, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.algorithm import Pacs, advantage_loss, method_loss, score_responses, sequence_log_ratios
from pacs.integration.trainer.arrangement import (
    blocks_of,
    filled_up,
    groups_of,
    largest_group,
    rows_of_ranks,
    sampling_order,
)
from pacs.verl_keys.config import PADDING_TOKENS
from tests.algorithm.naive import Batch, gradient, make_batch, naive_loss


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[str], list[int], int, int, int, bool]:
    """Uids, lengths, rows of a block, groups in a mini-batch, ranks, whether blocks are as few as hold the groups."""
    ranks = draw(st.sampled_from([1, 2, 4]))
    size = draw(st.integers(2, 5))
    per_mini_batch = ranks * draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, size), min_size=1, max_size=20))
    uids = [f"prompt{i}" for i, own in enumerate(sizes) for _ in range(own)]
    random.Random(draw(st.integers(0, 99))).shuffle(uids)
    lengths = draw(st.lists(st.integers(1, 1000), min_size=len(uids), max_size=len(uids)))
    return uids, lengths, size, per_mini_batch, ranks, draw(st.booleans())


def arranged(layout: tuple, *, whole_groups: bool, budget: int | None = None) -> tuple[list[list[int]], int]:
    """The rows of each rank in their order, and the number of mini-batches."""
    uids, lengths, size, per_mini_batch, ranks, few = layout
    blocks = blocks_of(
        list(groups_of(uids).values()),
        lengths,
        per_mini_batch=per_mini_batch,
        size=size,
        budget=budget,
        ranks=ranks if few else None,
    )
    rows = list(chain(*chain(*blocks)))
    assert sorted(rows) == list(range(len(rows)))
    assert len(rows) >= len(uids)
    assert {len(block) for block in chain(*blocks)} == {size}
    assert len({len(mini_batch) for mini_batch in blocks}) == 1
    if not few:
        assert len(blocks[0]) == per_mini_batch
    costs = lengths + [PADDING_TOKENS] * (len(rows) - len(uids))
    parts = rows_of_ranks(blocks, costs, ranks, whole_groups=whole_groups)
    assert sorted(chain(*parts)) == sorted(rows)
    assert {len(part) for part in parts} == {len(rows) // ranks}
    return parts, len(blocks)


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_every_cell_of_a_rank_and_a_mini_batch_holds_whole_groups(layout: tuple) -> None:
    uids, _, size, per_mini_batch, _, _ = layout
    parts, mini_batches = arranged(layout, whole_groups=True)
    sizes, seen = Counter(uids), dict[str, int]()
    for part in parts:
        cell = len(part) // mini_batches
        for start in range(0, len(part), size):
            block = Counter(uids[row] for row in part[start : start + size] if row < len(uids))
            for uid, rows in block.items():
                assert rows == sizes[uid], "a part of a group"
                assert uid not in seen, "a prompt in two blocks"
                seen[uid] = start // cell
    assert seen.keys() == sizes.keys()
    groups = Counter(seen.values())
    assert set(groups) == set(range(mini_batches)), "a mini-batch without a real row"
    assert max(groups.values()) <= per_mini_batch
    if len(sizes) % per_mini_batch == 0:
        assert set(groups.values()) == {per_mini_batch}


@given(layouts())
@settings(max_examples=100, deadline=None)
def test_where_groups_may_be_split_they_still_lie_in_one_mini_batch(layout: tuple) -> None:
    uids = layout[0]
    parts, mini_batches = arranged(layout, whole_groups=False)
    mini_batch_of: dict[str, set[int]] = {}
    for part in parts:
        for place, row in enumerate(part):
            if row < len(uids):
                mini_batch_of.setdefault(uids[row], set()).add(place * mini_batches // len(part))
    assert all(len(found) == 1 for found in mini_batch_of.values())


def test_rows_that_are_dealt_out_one_by_one_need_hardly_any_padding() -> None:
    """Groups of one to 64 rows on 64 ranks: 64 blocks of 64 rows would be twice as many as there are."""
    sizes = [8] * 20 + [64] * 12 + [1]
    ends = list(accumulate(sizes))
    groups = [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    lengths = [100] * ends[-1]
    made = blocks_of(groups, lengths, per_mini_batch=20, size=64, ranks=64)
    filled = filled_up(made, ends[-1], 64)
    before, after = (sum(map(len, chain(*blocks))) for blocks in (made, filled))
    assert (ends[-1], before, after) == (929, 2 * 64 * 64, 2 * 512)
    parts = rows_of_ranks(filled, lengths + [PADDING_TOKENS] * (after - len(lengths)), 64, whole_groups=False)
    assert sorted(chain(*parts)) == list(range(after))
    assert {len(part) for part in parts} == {after // 64}
    per_mini_batch = after // 64 // 2
    in_first = {row for part in parts for row in part[:per_mini_batch]}
    assert all(in_first.isdisjoint(group) or in_first.issuperset(group) for group in groups)


@given(layouts(), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_balanced_mini_batches_hold_whole_groups_too(layout: tuple, seed: int) -> None:
    uids, lengths, size, per_mini_batch, _, _ = layout
    rewards = random.Random(seed).choices([0.0, 1.0], k=len(uids))
    groups = list(groups_of(uids).values())
    made = blocks_of(groups, lengths, per_mini_batch=per_mini_batch, size=size, rewards=rewards)
    rows = [{row for block in mini_batch for row in block if row < len(uids)} for mini_batch in made]
    assert sorted(chain(*rows)) == list(range(len(uids)))
    assert all(sum(not mini_batch.isdisjoint(group) for mini_batch in rows) == 1 for group in groups)


def test_rewards_come_before_cost_and_cost_decides_among_those_that_are_alike() -> None:
    """Eight groups of four, by their number of right responses; all of one length but two."""
    right = [4, 4, 3, 3, 1, 1, 0, 0]
    uids = [str(group) for group in range(8) for _ in range(4)]
    rewards = [float(place < right[group]) for group in range(8) for place in range(4)]
    lengths = [1000 if group in (0, 1) else 100 for group in range(8) for _ in range(4)]
    groups = list(groups_of(uids).values())

    def sums(**options: list[float]) -> list[tuple[float, int]]:
        made = blocks_of(groups, lengths, per_mini_batch=4, size=4, **options)
        rows = [list(chain(*mini_batch)) for mini_batch in made]
        return sorted((sum(rewards[row] for row in part), sum(lengths[row] for row in part)) for part in rows)

    assert sums(rewards=rewards) == [(8.0, 4 * (1000 + 300))] * 2
    shifted = [2 * reward - 7 for reward in rewards]  # any numbers will do
    assert sums(rewards=shifted) == sums(rewards=rewards)
    assert len(sums(rewards=[0.0] * 32)) == 2  # where all are the same, by cost alone


def test_four_mini_batches_are_nearer_to_one_another_than_by_cost() -> None:
    """Over many draws of pass rates: the spread of the sums, beside that of mini-batches of like cost."""
    random_rates, spreads = random.Random(0), {"cost": 0.0, "rewards": 0.0}
    for _ in range(30):
        rates = [random_rates.choice([0.0, 0.1, 0.5, 0.9, 1.0]) for _ in range(32)]
        rewards = [float(random_rates.random() < rate) for rate in rates for _ in range(8)]
        lengths = [random_rates.randint(50, 500) for _ in rewards]
        groups = [list(range(8 * group, 8 * group + 8)) for group in range(32)]
        for name, options in (("cost", {}), ("rewards", {"rewards": rewards})):
            made = blocks_of(groups, lengths, per_mini_batch=8, size=8, **options)
            sums = [sum(rewards[row] for block in part for row in block) for part in made]
            spreads[name] += max(sums) - min(sums)
    assert spreads["rewards"] / 30 <= 1.5
    assert spreads["cost"] / 30 > 8


def blocks(sizes: list[int], length: int, size: int, **options: int) -> list[list[int]]:
    """The sizes of the groups in each block of one mini-batch."""
    uids = [str(group) for group, rows in enumerate(sizes) for _ in range(rows)]
    groups = list(groups_of(uids).values())
    (mini_batch,) = blocks_of(groups, [length] * len(uids), per_mini_batch=len(sizes), size=size, **options)
    return [sorted(Counter(uids[row] for row in block if row < len(uids)).values()) for block in mini_batch]


def test_small_groups_share_a_block_where_it_has_room_for_their_rows_and_tokens() -> None:
    assert blocks([8, 2, 3, 5, 8, 4, 1], 1000, 8, ranks=1) == [[8], [8], [3, 5], [1, 2, 4]]
    assert blocks([8, 2, 3, 5, 8, 4, 1], 1000, 8, ranks=3) == [[8], [8], [3, 5], [1, 2, 4], [], []]
    assert blocks([4, 4, 8], 1000, 8) == [[8], [4, 4], []]
    # The padding that fills a block up counts; a group that is too large by itself has its own block.
    assert blocks([8, 2, 3, 2], 1000, 8, ranks=1, budget=4000 + 4 * PADDING_TOKENS) == [[8], [3], [2, 2]]
    assert blocks([8, 2, 3, 2], 1000, 8, ranks=1, budget=4000 + 4 * PADDING_TOKENS - 1) == [[8], [3], [2], [2]]


def fewest_blocks(sizes: list[int], room: tuple[int, ...], size: int) -> int:
    """By trying every way to put the groups into blocks; `room` is what those that are begun have left."""
    if not sizes:
        return len(room)
    first, *rest = sizes
    ways = [(*room[:i], left - first, *room[i + 1 :]) for i, left in enumerate(room) if left >= first]
    return min(fewest_blocks(rest, way, size) for way in [*ways, (*room, size - first)])


@given(st.lists(st.integers(1, 9), min_size=1, max_size=7))
@settings(max_examples=60, deadline=None)
def test_blocks_are_about_as_few_as_any_packing_needs(sizes: list[int]) -> None:
    """The first block with room, largest groups first, takes at most 11/9 of the fewest and 6/9 (Dosa 2007)."""
    found = blocks(sizes, 50, 9, ranks=1)
    assert sorted(chain(*found)) == sorted(sizes)
    assert all(sum(block) <= 9 for block in found)
    fewest = fewest_blocks(sizes, (), 9)
    assert fewest <= len(found) <= (11 * fewest + 6) // 9


def test_split_groups_allow_more_ranks_than_groups_and_balance_better() -> None:
    rng = random.Random(1)
    uids = [f"p{i}" for i in range(4) for _ in range(8)]
    lengths = [int(rng.lognormvariate(5, 1)) for _ in uids]
    parts, _ = arranged((uids, lengths, 8, 4, 8, False), whole_groups=False)
    assert [len(part) for part in parts] == [4] * 8
    per_rank = [sum(lengths[row] for row in part) for part in parts]
    assert max(per_rank) <= max(max(lengths) + 3 * min(lengths), 1.3 * sum(lengths) / 8)


def test_ranks_and_mini_batches_get_like_workloads() -> None:
    rng = random.Random(0)
    uids = [f"p{i}" for i in range(64) for _ in range(4)]
    lengths = [int(rng.lognormvariate(5, 1)) for _ in uids]
    parts, _ = arranged((uids, lengths, 4, 16, 4, False), whole_groups=True)
    per_rank = [sum(lengths[row] for row in part) for part in parts]
    assert max(per_rank) < 1.1 * min(per_rank)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("estimator", ["rloo", "grpo"])
def test_uneven_groups_have_the_gradient_of_the_naive_loss_however_they_are_taken(estimator: str, ranks: int) -> None:
    """Groups of 3 to 9, as a second stage leaves them: through whole blocks, and by scores of each mini-batch."""
    batch, method = make_batch(seed=5, sizes=(4, 9, 5, 3, 7, 3), tokens=4, padding_rows=0), Pacs(estimator=estimator)
    batch = replace(batch, labels=batch.labels.double())
    constants, rows_of = batch.constants(method), torch.tensor
    layout = ([str(int(group)) for group in batch.group_ids], [50] * len(batch.labels), 9, 4, ranks, True)
    found = dict[str, list[torch.Tensor]](grouped=[], cached=[])
    wanted: list[torch.Tensor] = []
    for strategy in found:
        parts, mini_batches = arranged(layout, whole_groups=strategy == "grouped")
        cell = len(parts[0]) // mini_batches
        for number in range(mini_batches):
            cells = [[row for row in part[number * cell :][:cell] if row < len(batch.labels)] for part in parts]
            own = rows_of(list(chain(*cells)))
            denominator = constants.shares[own].sum()
            leaf = batch.log_probs.clone().requires_grad_()
            if strategy == "grouped":
                micro = [
                    [r for r in part[number * cell + i :][:9] if r < len(leaf)]
                    for part in parts
                    for i in range(0, cell, 9)
                ]
                losses = [block_loss(batch, leaf, rows_of(rows), method, denominator) for rows in micro if rows]
            else:
                losses = [scored_loss(batch, leaf, own, rows_of(rows), method, denominator) for rows in cells if rows]
            found[strategy].append(gradient(torch.stack(losses).sum(), leaf))
            leaf = batch.log_probs.clone().requires_grad_()
            of_mini_batch = Batch(leaf[own], *(value[own] for value in list(vars(batch).values())[1:]))
            wanted.append(gradient(naive_loss(of_mini_batch, method), leaf))
    for ours, theirs in zip(found["grouped"] + found["cached"], wanted, strict=True):
        assert torch.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def block_loss(batch: Batch, leaf: torch.Tensor, rows: torch.Tensor, method: Pacs, n: torch.Tensor) -> torch.Tensor:
    own, constants = batch.take(rows), batch.constants(method).of(rows)
    _, *others = own.inputs
    return method_loss(leaf[rows], *others, method, denominator=n, constants=constants)[0]


def scored_loss(
    batch: Batch, leaf: torch.Tensor, mini_batch: torch.Tensor, rows: torch.Tensor, method: Pacs, n: torch.Tensor
) -> torch.Tensor:
    own = batch.take(mini_batch)
    columns = score_responses(
        sequence_log_ratios(own.log_probs, own.ref_log_probs, own.response_mask),
        own.response_mask.sum(dim=1),
        own.labels,
        own.group_ids,
        method,
        coefficients=batch.constants(method).coefficients[mini_batch],
    )
    here = torch.isin(mini_batch, rows)
    of_rows = {name: column[here] for name, column in columns.items()}
    chosen = mini_batch[here]
    return advantage_loss(leaf[chosen], None, batch.response_mask[chosen], of_rows, denominator=n)


def test_rows_are_put_into_the_order_in_which_they_were_asked_for() -> None:
    """By step, prompt, session and output as numbers, whatever the order they arrive in: 10 after 2."""
    places = product((7, 10), (0, 2, 10), (0, 3, 11), (0, 1))
    asked = [f"{step}-{prompt}_{session}_{output}" for step, prompt, session, output in places]
    arrived = random.Random(2).sample(asked, len(asked))
    assert [arrived[i] for i in sampling_order(arrived)] == asked


def test_a_group_larger_than_it_may_be_is_refused() -> None:
    groups = groups_of(["a", "a", "a", "b"])
    assert largest_group(groups, 3, "") == 3
    with pytest.raises(ValueError, match=r"prompt a has 3 responses, but run.rollouts.dars.most is 2: set it"):
        largest_group(groups, 2, "run.rollouts.dars.most")


def test_a_step_without_a_response_says_so() -> None:
    with pytest.raises(ValueError, match="No response of this step could be generated"):
        largest_group({}, 2, "")
