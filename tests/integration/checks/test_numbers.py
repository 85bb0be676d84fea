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


@pytest.mark.parametrize("most", [None, 8])
def test_more_than_a_group_may_begin_with(most: int | None, tmp_path: Path) -> None:
    """With DARS those beyond n would count as further responses, which no pass rate has."""
    numbers = [1, 5, 2]
    (problem,) = problems(numbers, tmp_path, most=most)
    assert "train.parquet: __rollout_n__ asks for 5 responses" in problem
    assert "no more than actor_rollout_ref.rollout.n=4: raise that" in problem
    assert problems(numbers, tmp_path, trainer="grpo") == []


def test_more_than_a_group_may_have_is_refused_in_a_step() -> None:
    groups = {str(row): list(range(number)) for row, number in enumerate([1, 5, 2])}
    with pytest.raises(ValueError, match="responses, but n is"):
        largest_group(groups, most_responses(run()), "n")


@pytest.mark.parametrize("numbers", [[1, 0, 2], [1, None, 2], [1.0, 2.0, 3.0], ["1", "2", "3"]])
def test_what_is_no_number_of_responses(numbers: list[Any], tmp_path: Path) -> None:
    (problem,) = problems(numbers, tmp_path)
    assert "is not a whole number of at least 1 in every row" in problem


@pytest.mark.parametrize(("numbers", "most"), [(None, None), ([1, 4, 2], None), ([1, 4, 2], 8)])
def test_what_fits(numbers: list[int] | None, most: int | None, tmp_path: Path) -> None:
    assert problems(numbers, tmp_path, most=most) == []
