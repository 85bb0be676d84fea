"""The recipe gsm8k from its two sources to a checked run, by its README's commands on small copies."""

import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from transformers import Qwen3Config

from pacs import cli
from pacs.planning.architecture import PUBLISHED
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.data.conftest import problems
from tests.data.repositories import REPOSITORIES


def test_the_recipe_s_data_and_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model is one of the published shape here, so that none is looked for on the network."""
    REPOSITORIES["openai/gsm8k"].write(tmp_path / "copy")
    shape = asdict(PUBLISHED["Qwen/Qwen3-0.6B"])
    build_tokenizer(1 << 20).save_pretrained(tmp_path / "model")
    Qwen3Config(**shape, max_position_embeddings=40960, architectures=["Qwen3ForCausalLM"]).save_pretrained(
        tmp_path / "model"
    )

    def pacs(*words: str) -> tuple[int, str, str]:
        """The exit status, and what is printed and complained of."""
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["pacs"])
        status = cli.main(words)
        return status, *capsys.readouterr()

    monkeypatch.chdir(tmp_path)

    measured = ("--model", "model", "--max-prompt-length", "512", "--no-thinking")
    dry_run = ("train", "--dry-run", "recipe=gsm8k", "actor_rollout_ref.model.path=model")
    _, printed, _ = pacs(*dry_run)
    assert f"missing: `pacs data prepare gsm8k --out data/gsm8k {' '.join(measured)}`" in printed
    for words in (("gsm8k_test", "--out", "data/gsm8k_test"), ("gsm8k", "--out", "data/gsm8k", *measured)):
        status, printed, said = pacs("data", "prepare", *words, "--from", "copy")
        assert status == 0, said
    assert "kept apart from gsm8k_test/test.parquet" in printed
    assert problems(tmp_path / "data/gsm8k/train.parquet")[0]["reward_model"]["ground_truth"] == "1234"
    _, printed, said = pacs(*dry_run)
    assert "data.train_files=data/gsm8k/train.parquet: 1 rows" in printed, said
    assert "data.val_files=data/gsm8k_test/test.parquet: 1 rows" in printed
    assert "plan: pacs (grouped), 0.596 B parameters, 1 x H200" in printed
    assert "run: qwen3_0_6b-pacs, " in printed
    assert "fewer than data.train_batch_size=256" in said  # of the copy
