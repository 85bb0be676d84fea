"""What is prepared, as verl's own dataset reads it."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf
from transformers import PreTrainedTokenizerFast
from verl.utils.dataset.rl_dataset import RLHFDataset

from pacs.base.paths import config_dir
from tests.data.conftest import Run, manifest, problems, write_jsonl
from tests.data.repositories import REPOSITORIES

Tokenizer = PreTrainedTokenizerFast


def dataset(files: list[Path], tokenizer: Tokenizer, cache: Path, **changed: object) -> RLHFDataset:
    """As verl makes it of the config that our recipes have."""
    with initialize_config_dir(str(config_dir()), version_base=None):
        config: DictConfig = compose("pacs", ["recipe=qwen3_8b"]).data
    OmegaConf.set_struct(config, False)
    config = OmegaConf.merge(config, {"cache_dir": str(cache), "filter_overlong_prompts_workers": 1, **changed})
    return RLHFDataset([str(file) for file in files], tokenizer, config)


def test_sources_of_every_kind_are_read_as_one(tmp_path: Path, tokenizer: Tokenizer, run: Run) -> None:
    files = []
    for repo in ("agentica-org/DeepScaleR-Preview-Dataset", "Idavidrein/gpqa", "livecodebench/code_generation_lite"):
        REPOSITORIES[repo].write(tmp_path / "copies" / repo)
        folder = tmp_path / "data" / repo
        assert run("prepare", repo, "--from", tmp_path / "copies" / repo, "--out", folder)[0] == 0
        files += folder.glob("*.parquet")
    read = dataset(files, tokenizer, tmp_path / "cache")
    expected = [row for file in files for row in problems(file)]
    assert len(read) == len(expected) == 2 + 4 + 3
    for got, row in zip((read[i] for i in range(len(read))), expected, strict=True):
        assert got["raw_prompt"] == row["prompt"]
        assert got["reward_model"] == row["reward_model"]
        assert got["extra_info"] == row["extra_info"]
        assert got["index"] == row["extra_info"]["index"]
        assert got["data_source"] == row["data_source"]


@pytest.mark.parametrize("thinking", [True, False])
def test_verl_finds_the_same_prompts_overlong(
    thinking: bool, tmp_path: Path, model: Path, tokenizer: Tokenizer, run: Run
) -> None:
    rows = [{"problem": "x" * length, "answer": "1"} for length in range(1, 60)]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    assert run("prepare", file, "--out", tmp_path / "all")[0] == 0
    words = ["--model", model, "--max-prompt-length", 120, *([] if thinking else ["--no-thinking"])]
    assert run("prepare", file, "--out", tmp_path / "short", *words)[0] == 0
    kept = problems(tmp_path / "short" / "train.parquet")
    read = dataset(
        [tmp_path / "all" / "train.parquet"], tokenizer, tmp_path / "cache",
        max_prompt_length=120, apply_chat_template_kwargs={"enable_thinking": thinking},
    )  # fmt: skip
    assert [read[i]["raw_prompt"] for i in range(len(read))] == [row["prompt"] for row in kept]
    dropped = manifest(tmp_path / "short")["dropped"]["overlong"]
    assert (0 < dropped < 59, dropped) == (True, 59 - len(kept))
    longest = tokenizer.apply_chat_template(
        kept[-1]["prompt"], add_generation_prompt=True, return_dict=False, enable_thinking=thinking
    )
    assert len(longest) == 120


def test_thinking_is_on_in_the_recipe() -> None:
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose("pacs", ["recipe=qwen3_8b"]).data
        off = compose("pacs", ["recipe=qwen3_8b", "data.apply_chat_template_kwargs.enable_thinking=false"]).data
    assert config.apply_chat_template_kwargs == {"enable_thinking": True}
    assert off.apply_chat_template_kwargs == {"enable_thinking": False}
    assert config.train_files == "data/deepscaler/train.parquet"
    assert config.val_files == "data/math500/test.parquet"


@pytest.mark.parametrize(("words", "thinking"), [([], True), (["--no-thinking"], False)])
def test_show_prints_what_the_model_gets(
    words: list[str], thinking: bool, tmp_path: Path, model: Path, tokenizer: Tokenizer, run: Run
) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [{"problem": f"Number {i}?", "answer": f"{i}"} for i in range(9)])
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    status, out, err = run("show", tmp_path / "out" / "train.parquet", "-n", 2, "--model", model, *words)
    assert (status, err) == (0, "")
    arguments = {"add_generation_prompt": True, "tokenize": False, "enable_thinking": thinking}
    prompts = [row["prompt"] for row in problems(tmp_path / "out" / "train.parquet")]
    rendered = [tokenizer.apply_chat_template(messages, **arguments) for messages in prompts]
    assert [text in out for text in rendered] == [True] * 2 + [False] * 7
    assert ("<think>\n\n</think>\n\n" in out) == (not thinking)
    assert "--- gold: 1\n" in out
    assert "--- gold: 2\n" not in out
