import pytest
import torch

from pacs.algorithm import batch_constants

from .naive import WEIGHTS, Pacs, make_batch, naive_weight

IDS = torch.tensor([7, 7, 3, 3, 3, 3, 9, 9])
LABELS = torch.tensor([1, 0, 1, 0, 0, 0, 1, 1])


def class_balance_weights(
    labels: torch.Tensor,
    ids: torch.Tensor,
    *,
    objective: str = "log_odds",
    scope: str = "group",
    row_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    return batch_constants(labels, ids, Pacs(objective=objective, weight_scope=scope), row_mask).coefficients


def test_by_hand() -> None:
    """Group 7: 2/(2*1). Group 3: 4/(2*1) and 4/(2*3). Group 9 has one class. Batch: 8/(2*4), then 7/..."""
    group = class_balance_weights(LABELS, IDS)
    assert group.tolist() == pytest.approx([1, 1, 2, 2 / 3, 2 / 3, 2 / 3, 1, 1])
    assert class_balance_weights(LABELS, IDS, scope="batch").tolist() == [1] * 8
    assert class_balance_weights(LABELS[1:], IDS[1:], scope="batch").tolist() == pytest.approx(
        [7 / 8, 7 / 6, 7 / 8, 7 / 8, 7 / 8, 7 / 6, 7 / 6]
    )
    assert class_balance_weights(LABELS, IDS, objective="pass_rate").tolist() == [1] * 8
    assert class_balance_weights(LABELS, IDS, objective="log_pass_rate").tolist() == [2, 2, 4, 4, 4, 4, 1, 1]
    wrong = class_balance_weights(0 * LABELS, IDS, objective="log_pass_rate")
    assert wrong.tolist() == [1] * 8


@pytest.mark.parametrize(("objective", "scope"), WEIGHTS)
def test_equals_the_naive_weights(objective: str, scope: str) -> None:
    """Uneven groups in shuffled order; padded rows (label -1) weigh 0 and change nobody's weight."""
    batch = make_batch(seed=1)
    config = Pacs(objective=objective, weight_scope=scope)
    expected = [naive_weight(i, batch, config) if batch.row_mask[i] else 0.0 for i in range(len(batch.labels))]
    weights = class_balance_weights(
        batch.labels.double(), batch.group_ids, objective=objective, scope=scope, row_mask=batch.row_mask
    )
    assert weights.tolist() == pytest.approx(expected, rel=1e-15)


def test_both_classes_weigh_the_same() -> None:
    batch = make_batch(seed=2)
    for group_id in (7, -3, 10**12, 0):
        rows = (batch.group_ids == group_id) & batch.row_mask
        weights = class_balance_weights(batch.labels[rows], batch.group_ids[rows])
        correct = batch.labels[rows] == 1
        assert weights[correct].sum().item() == pytest.approx(weights[~correct].sum().item())
        assert weights.sum().item() == pytest.approx(rows.sum().item())


@pytest.mark.parametrize("scope", ["group", "batch"])
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_weighs_one(scope: str, label: int) -> None:
    assert class_balance_weights(torch.full((8,), label), IDS, scope=scope).tolist() == [1] * 8


def test_masked_rows_are_not_counted() -> None:
    """Without its only wrong row group 7 is of one class; without rows, group 9 has no weight at all."""
    rows = torch.tensor([1, 0, 1, 1, 1, 0, 0, 0])
    weights = class_balance_weights(LABELS, IDS, row_mask=rows)
    assert weights.tolist() == pytest.approx([1, 0, 3 / 2, 3 / 4, 3 / 4, 0, 0, 0])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (torch.bool, torch.float32),
        (torch.int64, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_labels_of_any_dtype(dtype: torch.dtype, expected: torch.dtype) -> None:
    weights = class_balance_weights(LABELS.to(dtype), IDS)
    assert weights.dtype == expected
    assert weights.tolist() == pytest.approx([1, 1, 2, 2 / 3, 2 / 3, 2 / 3, 1, 1])


def test_other_labels_are_refused() -> None:
    """The message has the values; a label outside the mask is nobody's business."""
    labels = torch.tensor([1, 0, 0.5, -1, 0.5, 0, float("nan"), 1])
    with pytest.raises(ValueError, match=r"4 of 8 rows have others \(-1.0, 0.5, nan\)"):
        class_balance_weights(labels, IDS, scope="batch")
    with pytest.raises(ValueError, match=r"must be in \[0, 1\], but 2 of 8 rows have others \(-1.0, nan\)"):
        class_balance_weights(labels, IDS)
    weights = class_balance_weights(labels, IDS, row_mask=torch.tensor([1, 1, 0, 0, 0, 1, 0, 1]))
    assert weights.tolist() == [1, 1, 0, 0, 0, 1, 0, 1]


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"labels has shape \(1,\), where \(8,\) is needed"):
        class_balance_weights(LABELS[:1], IDS)
