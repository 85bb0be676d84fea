import pytest
import torch

from pacs.algorithm.groups import make_groups, one_group

IDS = torch.tensor([7, 7, 3, 3, 3])


def test_sums_follow_ids_in_any_order() -> None:
    """Ids are names, not positions: any values, any order, groups of different sizes."""
    groups = make_groups(torch.tensor([3, 7, 3, -1, 7, 3]))
    values = torch.tensor([1.0, 10.0, 2.0, 100.0, 20.0, 3.0])
    assert groups.of_rows(groups.sum(values)).tolist() == [6, 30, 6, 100, 30, 6]
    assert groups.center(values).tolist() == [-1, -5, 0, 0, 5, 1]


def test_rows_outside_the_mask_enter_no_sum_and_no_size() -> None:
    groups = make_groups(IDS, torch.tensor([1, 1, 0, 1, 1]))
    values = torch.tensor([1.0, 3.0, float("nan"), 10.0, 20.0])
    assert groups.sizes.tolist() == [2, 2]
    assert groups.sum(values).tolist() == [30, 4]
    assert groups.center(values).tolist() == [-1, 1, 0, -5, 5]


def test_a_group_may_lose_all_its_rows() -> None:
    groups = make_groups(IDS, torch.tensor([0, 0, 1, 1, 1]))
    assert groups.sizes.tolist() == [3, 0]
    assert groups.sum(torch.ones(5)).tolist() == [3, 0]
    assert groups.center(torch.arange(5.0)).tolist() == [0, 0, -1, 0, 1]


def test_keep_only_narrows() -> None:
    """Rows that are out stay out."""
    groups = make_groups(IDS, torch.tensor([0, 1, 1, 1, 1])).keep(torch.tensor([1, 1, 1, 0, 0]).bool())
    assert groups.rows.tolist() == [False, True, True, False, False]
    assert groups.sizes.tolist() == [1, 1]


def test_one_group_has_every_row() -> None:
    groups = one_group(torch.tensor([True, False, True]))
    assert groups.sizes.tolist() == [2]
    assert groups.sum(torch.tensor([1.0, 10.0, 100.0])).tolist() == [101]


@pytest.mark.parametrize("ids", [torch.tensor([1.0, 2.0]), torch.tensor([[1, 2]]), torch.tensor([True, False])])
def test_ids_that_are_no_ids_are_refused(ids: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="group_ids must be a one-dimensional integer tensor"):
        make_groups(ids)


def test_a_row_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"row_mask has shape \(2,\), where \(5,\) is needed"):
        make_groups(IDS, torch.ones(2))
