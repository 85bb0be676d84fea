"""What keeps a parquet file from being problems in verl's schema."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacs.data import schema
from pacs.data.schema import schema_problems


def row(prompt: str | None = "1+1", gold: object = "2", **extra: Any) -> dict[str, Any]:
    return {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": prompt}],
        "reward_model": {"ground_truth": gold},
        "extra_info": {"index": 0, **extra},
    }


def problems(folder: Path, rows: list[dict[str, Any]], **options: Any) -> list[str]:
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    return list(schema_problems(folder / "a.parquet", **options))


def test_what_is_sound_is_let_through(tmp_path: Path) -> None:
    assert problems(tmp_path, [row()]) == []
    assert problems(tmp_path, [row(verifier="code"), row(verifier=None)]) == []
    assert problems(tmp_path, [row() | {"prompt": [{"role": "system", "content": ""}, *row()["prompt"]]}]) == []
    assert problems(tmp_path, [row(gold=None, verifier="mine")], graded=False) == []
    assert problems(tmp_path, [{"question": row()["prompt"], **row()}], prompt="question") == []


def test_rows_are_named_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "BATCH_ROWS", 2)
    rows = [row(), row(gold=" "), row(prompt=None), row(prompt="  "), row(verifier="oracle"), row(gold=None)]
    rows[0]["extra_info"]["verifier"] = "math"
    without_gold, without_prompt, verifier = sorted(problems(tmp_path, rows), reverse=False)
    assert without_gold.startswith("has no prompt in row 2 and 1 more of 6")
    assert without_prompt.startswith("has no right answer (reward_model.ground_truth) in row 1 and 1 more of 6")
    assert (
        verifier
        == "names the verifier oracle in row 4; there are math, multiple_choice, code, exact_match, countdown, "
        "reference_probability"
    )


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"question": "1+1"}], "lacks the columns ['data_source', 'prompt', 'reward_model'], and has ['question']"),
        ([row() | {"prompt": "1+1"}], "its prompt is string, and not a list of messages"),
        ([row() | {"prompt": ["1+1"]}], "and not a list of messages with role and content"),
        ([row() | {"reward_model": "2"}], "its reward_model is string, and has no ground_truth"),
        ([row() | {"reward_model": {"style": "rule"}}], "has no ground_truth"),
        ([row() | {"prompt": []}, row()], "has no prompt in row 0 of 2"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    (problem,) = problems(tmp_path, rows)
    assert said in problem


def test_a_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    assert problems(tmp_path, [row()]) == []
    whole = file.read_bytes()
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    assert list(schema_problems(file)) == ["has no rows"]
    for damaged in (
        b"",
        b"no parquet",
        whole[:-4],
        whole[: len(whole) // 2],
        b"PAR1" + bytes(len(whole) - 8) + b"PAR1",
    ):
        file.write_bytes(damaged)
        (problem,) = schema_problems(file)
        assert problem.startswith("is not a parquet file in verl's schema (")
        assert "\n" not in problem
