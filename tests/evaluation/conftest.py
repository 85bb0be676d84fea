"""A tiny model that answers at random, and problems for it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder. Its weights are random and ten of its tokens are answers, so that some are right."""
    return write_model(tmp_path_factory.mktemp("model") / "tiny", seed=1)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty sums in verl's schema."""
    return write_data(tmp_path_factory.mktemp("data") / "sums.parquet", [(a, b) for a in range(5) for b in range(8)])


def write_model(folder: Path, seed: int) -> Path:
    tokenizer = build_tokenizer(4096)
    tokenizer.add_tokens([f"\\boxed{{{digit}}}" for digit in range(10)])
    build_model(tokenizer, seed=seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_data(file: Path, sums: list[tuple[int, int]], **extra: Any) -> Path:
    rows = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"What is {a}+{b}? Think well."}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(a + b)},
            "extra_info": {"index": number, "id": f"{a}+{b}"} | extra,
        }
        for number, (a, b) in enumerate(sums)
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file
