"""Whole groups stay whole, for any numbers of groups, ranks and mini-batches."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.integration.trainer.arrangement import padded_row_count, row_order, sampling_order


@st.composite
def layouts(draw: st.DrawFn) -> tuple[list[str | None], list[int], int, int, int]:
    """Uids (None: padding), lengths, group size, groups in a mini-batch, ranks."""
    ranks = draw(st.sampled_from([1, 2, 4]))
    group_size = draw(st.integers(2, 5))
    groups_per_mini_batch = ranks * draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, group_size), min_size=1, max_size=20))
    uids: list[str | None] = [f"prompt{i}" for i, size in enumerate(sizes) for _ in range(size)]
    random.Random(draw(st.integers(0, 99))).shuffle(uids)
    total = padded_row_count(uids, group_size=group_size, groups_per_mini_batch=groups_per_mini_batch)
    uids += [None] * (total - len(uids))
    lengths = draw(st.lists(st.integers(1, 1000), min_size=total, max_size=total))
    return uids, lengths, group_size, groups_per_mini_batch, ranks


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_every_cell_of_a_rank_and_a_mini_batch_holds_whole_groups(layout: tuple) -> None:
    uids, lengths, group_size, per_mini_batch, ranks = layout
    order, parts = row_order(
        uids, lengths, group_size=group_size, groups_per_mini_batch=per_mini_batch, ranks=ranks, whole_groups=True
    )
    assert sorted(order) == list(range(len(uids)))
    assert [row for part in parts for row in part] == order
    cell = per_mini_batch * group_size // ranks
    seen: dict[str, int] = {}
    for part in parts:
        assert len(part) == len(uids) // ranks
        for start in range(0, len(part), group_size):
            block = {uids[row] for row in part[start : start + group_size]} - {None}
            assert len(block) <= 1, "two prompts in one block"
            for uid in block:
                assert uid not in seen, "a prompt in two blocks"
                seen[uid] = start // cell
    mini_batches = len(uids) // (per_mini_batch * group_size)
    assert set(seen.values()) == set(range(mini_batches)), "a mini-batch without a real row"


@given(layouts())
@settings(max_examples=100, deadline=None)
def test_where_groups_may_be_split_they_still_lie_in_one_mini_batch(layout: tuple) -> None:
    uids, lengths, group_size, per_mini_batch, ranks = layout
    order, parts = row_order(
        uids, lengths, group_size=group_size, groups_per_mini_batch=per_mini_batch, ranks=ranks, whole_groups=False
    )
    assert sorted(order) == list(range(len(uids)))
    cell = per_mini_batch * group_size // ranks
    mini_batch_of: dict[str, set[int]] = {}
    for part in parts:
        assert len(part) == len(uids) // ranks
        for place, row in enumerate(part):
            if uids[row] is not None:
                mini_batch_of.setdefault(uids[row], set()).add(place // cell)
    assert all(len(found) == 1 for found in mini_batch_of.values())


def test_split_groups_allow_more_ranks_than_groups_and_balance_better() -> None:
    rng = random.Random(1)
    uids = [f"p{i}" for i in range(4) for _ in range(8)]
    lengths = [int(rng.lognormvariate(5, 1)) for _ in uids]
    _, parts = row_order(uids, lengths, group_size=8, groups_per_mini_batch=4, ranks=8, whole_groups=False)
    assert [len(part) for part in parts] == [4] * 8
    per_rank = [sum(lengths[row] for row in part) for part in parts]
    assert max(per_rank) <= max(max(lengths) + 3 * min(lengths), 1.3 * sum(lengths) / 8)


def test_ranks_and_mini_batches_get_like_workloads() -> None:
    rng = random.Random(0)
    uids = [f"p{i}" for i in range(64) for _ in range(4)]
    lengths = [int(rng.lognormvariate(5, 1)) for _ in uids]
    _, parts = row_order(uids, lengths, group_size=4, groups_per_mini_batch=16, ranks=4, whole_groups=True)
    per_rank = [sum(lengths[row] for row in part) for part in parts]
    assert max(per_rank) < 1.1 * min(per_rank)


def test_rows_are_put_into_the_order_in_which_they_were_asked_for() -> None:
    """By prompt, session and output as numbers, whatever the order they arrive in: 10 after 2."""
    asked = [f"7-{prompt}_{session}_{output}" for prompt in (0, 2, 10) for session in (0, 3, 11) for output in (0, 1)]
    arrived = random.Random(2).sample(asked, len(asked))
    assert [arrived[i] for i in sampling_order(arrived)] == asked


def test_a_group_larger_than_a_block_is_refused() -> None:
    with pytest.raises(ValueError, match=r"prompt a has 3 responses, but actor_rollout_ref.rollout.n is 2"):
        padded_row_count(["a", "a", "a", "b"], group_size=2, groups_per_mini_batch=1)


def test_a_step_without_a_response_says_so() -> None:
    with pytest.raises(ValueError, match="No response of this step could be generated"):
        padded_row_count([], group_size=2, groups_per_mini_batch=1)
