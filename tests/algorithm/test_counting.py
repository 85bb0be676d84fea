import pytest
import torch

from pacs.algorithm import Pacs, batch_constants

IDS = torch.tensor([7, 3, 7, 3, 5, 5])
LABELS = torch.tensor([1, 1, 0, 1, 0, 0])
KEEP, DROP = Pacs(), Pacs(single_class_groups="drop")
#: The classes are counted over the batch, so that they are two.
HARD = Pacs(weight_scope="batch")


def test_drop_takes_out_groups_of_one_class_of_either_label() -> None:
    """Group 7 has both classes; group 3 is all correct and group 5 all wrong."""
    assert batch_constants(LABELS, IDS, KEEP).active.tolist() == [True] * 6
    assert batch_constants(LABELS, IDS, DROP).active.tolist() == [True, False, True, False, False, False]


def test_the_mask_decides_what_is_one_class() -> None:
    """A padded row does not count, and its label (here not even a label) does not make a group mixed."""
    labels = torch.tensor([1, 1, -1, 1, 0, 1])
    rows = torch.tensor([1, 1, 0, 1, 1, 1])
    assert batch_constants(labels, IDS, KEEP, rows).active.tolist() == [True, True, False, True, True, True]
    assert batch_constants(labels, IDS, DROP, rows).active.tolist() == [False, False, False, False, True, True]


def test_nothing_may_count() -> None:
    assert batch_constants(torch.ones(6), IDS, DROP).active.sum() == 0
    assert batch_constants(LABELS, IDS, KEEP, torch.zeros(6)).active.sum() == 0


def test_other_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"labels must be 0 \(wrong\) or 1 \(correct\), but 1 of 6"):
        batch_constants(torch.tensor([1, 1, 2, 1, 0, 0]), IDS, HARD)
