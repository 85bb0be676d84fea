"""Files that verl reads as one, against what `datasets`, by which verl reads them, makes of them."""

import itertools
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacs.integration.checks.data_rows import unite_problems

#: One value of a column each.
COLUMNS: dict[str, pa.Array] = {
    "int": pa.array([1]),
    "int32": pa.array([1], pa.int32()),
    "float": pa.array([1.5]),
    "bool": pa.array([True]),
    "text": pa.array(["x"]),
    "large_text": pa.array(["x"], pa.large_string()),
    "dictionary": pa.array(["x"]).dictionary_encode(),
    "nothing": pa.array([None]),
    "texts": pa.array([["x"]]),
    "ints": pa.array([[1]]),
    "no_texts": pa.array([[]]),
    "struct": pa.array([{"a": 1}]),
    "struct_more": pa.array([{"a": 1, "b": "y"}]),
    "struct_turned": pa.array([{"b": "y", "a": 1}]),
    "struct_text": pa.array([{"a": "x"}]),
    "struct_null": pa.array([{"a": None}]),
    "deep": pa.array([{"a": 1, "c": {"d": 1}}]),
    "deep_other": pa.array([{"a": 1, "c": {"d": "x"}}]),
    "messages": pa.array([[{"role": "user", "content": "x"}]]),
    "messages_turned": pa.array([[{"content": "x", "role": "user"}]]),
    "messages_more": pa.array([[{"role": "user", "content": "x", "name": "y"}]]),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("files")
    tables = {name: pa.table({"same": ["x"], "other": column}) for name, column in COLUMNS.items()}
    tables["missing"] = pa.table({"same": ["x"]})
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet")
    return {name: folder / f"{name}.parquet" for name in tables}


def test_what_datasets_refuses_and_nothing_else(files: dict[str, Path], tmp_path: Path) -> None:
    """As `verl.utils.dataset.RLHFDataset` does: `load_dataset` of each file, and `concatenate_datasets`."""

    def load(file: Path) -> Any:
        return datasets.load_dataset("parquet", data_files=str(file), cache_dir=str(tmp_path))["train"]

    loaded = {name: load(file) for name, file in files.items()}
    refused = 0
    for one, other in itertools.permutations(files, 2):
        try:
            datasets.concatenate_datasets([loaded[one], loaded[other]])[1]
            fits = True
        except Exception:
            fits = False
        refused += not fits
        assert fits == (not list(unite_problems("data.train_files", [files[one], files[other]]))), (one, other)
    assert 100 < refused < len(files) * (len(files) - 1) - 100


def test_the_field_and_both_types_are_named(tmp_path: Path) -> None:
    for number, index in enumerate((1, 2, "3")):
        row = {"data_source": "x", "extra_info": {"index": index, "split": "train"}}
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"{number}.parquet")
    (problem,) = unite_problems("data.train_files", [tmp_path / f"{number}.parquet" for number in range(3)])
    assert problem.startswith(
        f"data.train_files={tmp_path}/2.parquet has extra_info.index of the type string, and {tmp_path}/0.parquet of "
        "int64: "
    )


def test_one_file_unites(files: dict[str, Path]) -> None:
    assert list(unite_problems("data.train_files", [files["deep"]])) == []
