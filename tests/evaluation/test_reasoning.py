"""Where the answer begins in what a real engine samples, by the tokens that the text has lost."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from pacs.evaluation.engines import CPU_VARIABLES
from pacs.evaluation.grade import grade
from pacs.evaluation.sample import Problem, Sample
from pacs.rewards.reasoning import UNENDED
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.evaluation.reasoning_process import SAMPLES


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of random weights whose template opens the reasoning, and whose delimiters are special tokens."""
    tokenizer = build_tokenizer(4096)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|assistant|>", "<think>", "</think>"]})
    tokenizer.chat_template = tokenizer.chat_template.replace(
        "'<|assistant|>' }}{% endif", "'<|assistant|><think>' }}{% endif"
    )
    build_model(tokenizer, seed=1).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
def test_by_tokens(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    subprocess.run(
        [sys.executable, "-m", "tests.evaluation.reasoning_process", str(model), str(out)],
        env=os.environ | CPU_VARIABLES | {"OMP_NUM_THREADS": "1"}, check=True, timeout=580,
    )  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(model)
    opens, closes = tokenizer.convert_tokens_to_ids(["<think>", "</think>"])
    found = json.loads(out.read_text())
    ended = 0
    for each in found:
        tokens = each["tokens"]
        last = len(tokens) - 1 - tokens[::-1].index(closes) if closes in tokens else None
        if last is None or opens in tokens[last:]:
            assert each["begins"] == UNENDED
        else:
            ended += 1
            assert each["text"][each["begins"] :] == tokenizer.decode(tokens[last + 1 :], skip_special_tokens=True)
        assert "think>" not in each["text"]
    assert len(found) == SAMPLES
    assert 0 < ended < SAMPLES


def test_a_sample_is_graded_from_there() -> None:
    problem = Problem("p", [], "test", "5", {"verifier": "math"})
    sample = Sample("p", 0, 0, r"maybe \boxed{5} so \boxed{6}", 3, truncated=False)
    places = {None: "wrong", 0: "wrong", UNENDED: "no_answer", len(sample.response): "no_answer"}
    for place, status in places.items():
        assert grade(problem, replace(sample, answer_begins=place), {}).status == status
    first = replace(sample, response=r"maybe \boxed{6} so \boxed{5}", answer_begins=len(r"maybe \boxed{6}"))
    assert grade(problem, first, {}).status == "correct"
