"""The command as the tests call it."""

import re
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from pacs import cli

#: A progress bar, or the end of one's line: no message.
BAR = re.compile(r"\d+%\||^$")


def run_command(*words: object) -> int:
    return cli.main(["export", *map(str, words)])


def logits_of(folder: Path, tokens: torch.Tensor) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="sdpa")
    with torch.no_grad():
        return model(tokens).logits


def assert_refused(capsys: pytest.CaptureFixture[str], folder: Path, *needles: str) -> None:
    """One line says why, and nothing but the run and what the test put there lies in `folder`."""
    lines = [line for line in capsys.readouterr().err.splitlines() if not BAR.search(line)]
    assert len(lines) == 1, lines
    assert lines[0].startswith("pacs export: ")
    assert [needle for needle in needles if needle not in lines[0]] == []
    assert {path.name for path in folder.iterdir()} <= {"run", "mine"}
