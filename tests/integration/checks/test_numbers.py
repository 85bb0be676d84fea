"""Rows that ask for a number of responses of their own: what a step would refuse is refused before the run."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from pacs.integration.checks.numbers import number_problems
from pacs.integration.trainer.arrangement import largest_group
from pacs.verl_keys.config import most_responses

N = 4


def problems(numbers: list[Any] | None, folder: Path, trainer: str = "pacs", most: int | None = None) -> list[str]:
    table = pa.table({"index": list(range(3))} | ({} if numbers is None else {"__rollout_n__": numbers}))
    pq.write_table(table, folder / "train.parquet")
    return list(number_problems(run(trainer, most), [folder / "train.parquet"]))


def run(trainer: str = "pacs", most: int | None = None) -> Any:
    dars = {"schedule": "equal" if most else None, "most": most or 32}
    vine = {"completions": None, "train_completions": False}
    return OmegaConf.create(
        {
            "trainer": {"v1": {"trainer_mode": trainer}},
            "actor_rollout_ref": {"rollout": {"n": N}},
            "run": {"rollouts": {"dars": dars, "vine": vine}},
        }
    )


@pytest.mark.parametrize(
    ("numbers", "most", "setting"),
    [([1, 5, 2], None, "actor_rollout_ref.rollout.n=4"), ([1, 9, 2], 8, "run.rollouts.dars.most=8")],
)
def test_more_than_a_group_may_have(numbers: list[int], most: int | None, setting: str, tmp_path: Path) -> None:
    """As the trainer refuses them in a step."""
    (problem,) = problems(numbers, tmp_path, most=most)
    assert f"train.parquet: __rollout_n__ asks for {max(numbers)} responses" in problem
    assert f"no more than {setting}: raise that" in problem
    groups = {str(row): list(range(number)) for row, number in enumerate(numbers)}
    with pytest.raises(ValueError, match="responses, but n is"):
        largest_group(groups, most_responses(run(most=most)), "n")
    assert problems(numbers, tmp_path, trainer="grpo") == []


@pytest.mark.parametrize("numbers", [[1, 0, 2], [1, None, 2], [1.0, 2.0, 3.0], ["1", "2", "3"]])
def test_what_is_no_number_of_responses(numbers: list[Any], tmp_path: Path) -> None:
    (problem,) = problems(numbers, tmp_path)
    assert "is not a whole number of at least 1 in every row" in problem


@pytest.mark.parametrize(("numbers", "most"), [(None, None), ([1, 4, 2], None), ([1, 8, 2], 8)])
def test_what_fits(numbers: list[int] | None, most: int | None, tmp_path: Path) -> None:
    assert problems(numbers, tmp_path, most=most) == []
