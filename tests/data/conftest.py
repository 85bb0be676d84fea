"""`pacs data` as its user gives it, and small sources in the schemas of the real ones."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import PreTrainedTokenizerFast

from pacs import cli
from recipes.arithmetic.tokenizer import build_tokenizer

# As in Qwen3's: with enable_thinking=false the model is told that it has thought already.
NO_THINKING = (
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Give a command; its exit status, and what it said on stdout and stderr."""

    def give(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = cli.main(["data", *map(str, words)])
        except SystemExit as stopped:  # argparse
            status = int(stopped.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return give


def write_jsonl(file: Path, rows: Iterable[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def write_parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def problems(file: Path) -> list[dict[str, Any]]:
    return pq.read_table(file).to_pylist()


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    """Of one token a character, with thinking that can be switched off, and with system messages."""
    made = build_tokenizer(1 << 20)
    made.chat_template = made.chat_template.replace("['user', 'assistant']", "['system', 'user', 'assistant']")
    made.chat_template += NO_THINKING
    return made


@pytest.fixture(scope="session")
def model(tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with that tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save_pretrained(folder)
    return folder
