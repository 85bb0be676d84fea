"""Runs to export: one that one process writes at once, and ones whose checkpoints FSDP2 has sharded."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import verl  # noqa: F401 (puts verl's configs where Hydra finds them)
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from transformers import Qwen3Config, Qwen3ForCausalLM

from pacs.base.paths import config_dir
from pacs.checkpoints.folder import seal
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.ranks import run as run_ranks

STEP = 7
#: Ranks -> the size of verl's FSDP groups; 4 ranks in groups of 2: two copies of the model, each in two shards.
RANKS = {1: -1, 2: -1, 3: -1, 4: 2}
EMBEDDINGS = ("tied", "untied")


def tiny_qwen3(embeddings: str) -> Qwen3ForCausalLM:
    """101 rows of the vocabulary: no number of ranks divides them. Heads of 4 in three ranks: 2, 2, 0."""
    model = build_model(build_tokenizer(64), seed=1)
    if embeddings == "tied":
        torch.manual_seed(2)
        model = Qwen3ForCausalLM(Qwen3Config(**model.config.to_dict() | {"tie_word_embeddings": True, "head_dim": 4}))
    return model


def write_base(folder: Path, embeddings: str) -> None:
    tiny_qwen3(embeddings).save_pretrained(folder)
    build_tokenizer(64).save_pretrained(folder)


def run_config(base: Path, *overrides: str, algorithm: str = "pacs") -> str:
    """A run's config.yaml as `pacs train` writes it."""
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose(algorithm, ["recipe=arithmetic", f"actor_rollout_ref.model.path={base}", *overrides])
    return OmegaConf.to_yaml(config, resolve=True)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one rank, whose state dict FSDP has not wrapped."""
    folder = tmp_path_factory.mktemp("template")
    write_base(folder / "base", "untied")
    checkpoint = folder / "run" / "checkpoints" / f"global_step_{STEP}"
    shutil.copytree(folder / "base", checkpoint / "actor" / "huggingface")
    (checkpoint / "actor" / "huggingface" / "model.safetensors").unlink()
    (checkpoint / "config.yaml").write_text(run_config(folder / "base"))
    torch.save(tiny_qwen3("untied").state_dict(), checkpoint / "actor" / "model_world_size_1_rank_0.pt")
    return folder


@pytest.fixture
def run(template: Path, tmp_path: Path) -> Path:
    """A run's folder with one complete checkpoint, to be changed at will (and sealed again)."""
    shutil.copytree(template / "run", tmp_path / "run")
    seal(checkpoint_of(tmp_path / "run"), step=STEP, ranks=1)
    return tmp_path / "run"


def checkpoint_of(run: Path) -> Path:
    return run / "checkpoints" / f"global_step_{STEP}"


@pytest.fixture(scope="session")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int, str], Path]:
    """The run of so many ranks with embeddings tied or untied; `truth.pt` in it says what its checkpoint holds."""
    folder = tmp_path_factory.mktemp("sharded")
    for embeddings in EMBEDDINGS:
        write_base(folder / "base" / embeddings, embeddings)
    started: set[int] = set()

    def find(ranks: int, embeddings: str) -> Path:
        if ranks not in started:
            train(folder, ranks)
            started.add(ranks)
        return folder / f"{ranks}-{embeddings}"

    return find


def train(folder: Path, ranks: int) -> None:
    """Start a process a rank, and seal what they write."""
    bases = {folder / f"{ranks}-{embeddings}": folder / "base" / embeddings for embeddings in EMBEDDINGS}
    pairs = [f"{base}:{written}" for written, base in bases.items()]
    run_ranks("tests.export.write_shards", [STEP, RANKS[ranks], *pairs], ranks, folder)
    for written, base in bases.items():
        (checkpoint_of(written) / "config.yaml").write_text(run_config(base))
        seal(checkpoint_of(written), step=STEP, ranks=ranks)
