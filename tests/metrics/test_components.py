"""What a reward function says beside the score."""

import numpy as np
import pytest
import torch
from verl.trainer.ppo.metric_utils import process_validation_metrics

from pacs.metrics.outcomes import averaged, component_metrics
from pacs.metrics.registry import find


def test_each_number_is_logged_by_its_name_over_the_rows_that_have_it() -> None:
    infos = [
        {"score": 1.0, "format": 0.5, "penalty": -0.1, "boxed": True, "why": "short", "parts": [1, 2]},
        {"score": 0.0, "format": np.float32(0.25), "boxed": np.bool_(0), "late": torch.tensor(3), "penalty": None},
        {"score": 0.0, "format": float("nan"), "boxed": False, "why": "none", "unfinished": 1.0},
    ]
    assert component_metrics(infos, besides=("score", "unfinished")) == {
        "pacs/reward/boxed/mean": pytest.approx(1 / 3),
        "pacs/reward/format/mean": 0.375,
        "pacs/reward/late/mean": 3.0,
        "pacs/reward/penalty/mean": -0.1,
    }
    entry = find("pacs/reward/format/mean")
    assert entry is not None
    assert entry.name == "pacs/reward/*/mean"


def test_a_number_alone_is_the_score_and_no_part_of_it() -> None:
    assert component_metrics([{"acc": 1.0}, {"acc": 0.0}], besides=("score",)) == {}
    assert component_metrics([{"score": 1.0, "acc": 1.0}], besides=("score",)) == {"pacs/reward/acc/mean": 1.0}


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ([1.0, None, 2], True),
        (["a", None, "b"], True),
        ([True, np.float32(1), torch.tensor(2.0)], True),
        ([1.0, "b"], False),
        ([{"a": 1}, {"a": 2}], False),
        ([[1], [1, 2]], False),
    ],
)
def test_what_verls_validation_can_take_means_of(values: list[object], taken: bool) -> None:
    assert averaged(values) == taken
    if taken:
        process_validation_metrics(["s"] * len(values), ["p"] * len(values), {"x": values})
    else:
        with pytest.raises((TypeError, ValueError)):
            process_validation_metrics(["s"] * len(values), ["p"] * len(values), {"x": values})
