"""A run is told of a tokenizer that is loaded otherwise than its file says; what it is told mends that for all."""

import json
from pathlib import Path

from omegaconf import DictConfig
from verl.utils import hf_tokenizer
from vllm.tokenizers import get_tokenizer

from pacs.composing import compose_run
from pacs.data.rebuilt import TEXTS
from pacs.integration.checks.prompts import prompt_problems
from recipes.arithmetic.families import tokenizer_of_family
from recipes.arithmetic.problems import split_problems, write_parquet
from recipes.arithmetic.tokenizer import build_tokenizer

MODEL = "actor_rollout_ref.model"
#: What the message says of a Qwen2.
MEND = {"tokenizer_class": "PreTrainedTokenizerFast", "auto_map": {"AutoTokenizer": [None, None]}}


def composed(*overrides: str) -> DictConfig:
    return compose_run("pacs", ["recipe=arithmetic", *overrides])[0]


def test_a_run_is_refused_by_the_setting_that_names_the_tokenizer(tmp_path: Path) -> None:
    file, folder = tmp_path / "sums.parquet", tmp_path / "model"
    write_parquet(split_problems(0).test[:64], file, "test")
    build_tokenizer(64).save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "qwen2"}')
    for setting in ("path", "tokenizer_path"):
        (problem,) = prompt_problems(composed(f"++{MODEL}.{setting}={folder}"), [file], [file], [])
        assert problem.startswith(f"{MODEL}.{setting}={folder} has a tokenizer.json that transformers does not heed")
        assert problem.endswith(".")
        for name, value in MEND.items():
            assert f'"{name}": {json.dumps(value)}' in problem
    named = folder / "tokenizer_config.json"
    named.write_text(json.dumps(json.loads(named.read_text()) | MEND))
    assert list(prompt_problems(composed(f"{MODEL}.path={folder}"), [file], [file], [])) == []
    meant = [build_tokenizer(64).encode(text) for text in TEXTS]
    for load in (hf_tokenizer, get_tokenizer):
        assert [load(str(folder)).encode(text, add_special_tokens=False) for text in TEXTS] == meant


def test_the_arithmetic_recipes_tokenizer_of_a_qwen2_passes(tmp_path: Path) -> None:
    file, folder = tmp_path / "sums.parquet", tmp_path / "model"
    write_parquet(split_problems(0).test[:64], file, "test")
    made = tokenizer_of_family("qwen2")
    made.save_pretrained(folder)
    (folder / "config.json").write_text('{"model_type": "qwen2"}')
    assert list(prompt_problems(composed(f"{MODEL}.path={folder}"), [file], [file], [])) == []
    for load in (hf_tokenizer, get_tokenizer):
        assert load(str(folder)).encode("7+8=15 \\boxed{85}\n") == build_tokenizer(64).encode("7+8=15 \\boxed{85}\n")
