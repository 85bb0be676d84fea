"""What keeps a folder from being a model: every kind of damage is made on one that transformers has written."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from pacs.checkpoints.model_folder import model_problems, safetensors_problem
from tests.integration.real_run import make_task


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_task(tmp_path_factory.mktemp("task")) / "model"


@pytest.fixture
def model(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "model"))


def truncate(file: Path, size: int) -> None:
    file.write_bytes(file.read_bytes()[:size])


def without_template(model: Path) -> None:
    (model / "chat_template.jinja").unlink(missing_ok=True)
    settings = json.loads((model / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    (model / "tokenizer_config.json").write_text(json.dumps(settings))


def indexed(model: Path) -> None:
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (model / "model.safetensors").rename(model / shards["a"])
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda m: (m / "config.json").unlink(), "holds no config.json"),
    "a config with a byte-order mark": (
        lambda m: (m / "config.json").write_text((m / "config.json").read_text(), encoding="utf-8-sig"),
        "has a config.json that cannot be read (Unexpected UTF-8 BOM",
    ),
    "a config that is a list": (lambda m: (m / "config.json").write_text("[]"), "config.json that holds no settings"),
    "half a config": (lambda m: truncate(m / "config.json", 20), "has a config.json that cannot be read"),
    "no tokenizer": (lambda m: (m / "tokenizer.json").unlink(), "has no tokenizer"),
    "no chat template": (without_template, "has no chat template"),
    "no weights": (lambda m: (m / "model.safetensors").unlink(), "has no weights"),
    "empty weights": (lambda m: truncate(m / "model.safetensors", 0), "header too small"),
    "half the weights": (
        lambda m: truncate(m / "model.safetensors", 100_000),
        "file not fully covered",
    ),
    "weights that are none": (lambda m: (m / "model.safetensors").write_bytes(b"x" * 99), "header too large"),
    "a shard that is missing": (indexed, "lacks 1 of the 2 files that model.safetensors.index.json lists"),
}


def test_a_model_is_let_through(model: Path) -> None:
    assert list(model_problems(model)) == []


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named(damage: str, model: Path) -> None:
    make, said = DAMAGES[damage]
    make(model)
    (problem,) = model_problems(model)
    assert said in problem


def test_what_is_not_needed_may_be_missing(model: Path) -> None:
    without_template(model)
    (model / "model.safetensors").unlink()
    assert list(model_problems(model, weights=False, template=False)) == []
    (model / "tokenizer.json").unlink()
    assert list(model_problems(model, weights=False, tokenizer=False)) == []
    (model / "sentencepiece.bpe.model").touch()
    assert list(model_problems(model, weights=False, template=False)) == []


def test_a_file_is_held_against_its_own_header(tmp_path: Path) -> None:
    file = tmp_path / "a.safetensors"
    save_file({"a": torch.ones(7), "b": torch.ones(3, 5, dtype=torch.bfloat16)}, file)
    whole = file.read_bytes()
    assert safetensors_problem(file) is None
    odd = b'{"a": {"data_offsets": [0, "9"]}}'
    for wrong in (
        len(odd).to_bytes(8, "little") + odd,
        whole[:-1],
        whole + b"x",
        whole[:8] + b"{" * 8 + whole[16:],
        b"\xff" * 8 + whole[8:],
    ):
        file.write_bytes(wrong)
        assert safetensors_problem(file) is not None
