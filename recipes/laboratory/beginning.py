"""Where a run begins: a start's folder, read."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pacs.base.errors import UserError
from pacs.base.files import read_json
from recipes.arithmetic.measure import MAX_RESPONSE_TOKENS
from recipes.starts.read import Problems, read_problems


@dataclass(frozen=True)
class Beginning:
    """The policy to train, and what it is trained and evaluated on."""

    policy: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    train: Problems
    evaluated: Problems
    max_response_tokens: int


def read_beginning(start: Path, *, prompts: int, split: str, problems: int, train_problems: int = 0) -> Beginning:
    """Read a start.

    Args:
        start: its folder.
        prompts: a step; the training problems have to be as many at least.
        split: to evaluate on.
        problems: of it, the first so many.
        train_problems: of those to train on, the first so many; 0: all.

    Raises:
        UserError: the folder lacks a file, or a file has fewer problems.
    """
    train, evaluated = read_problems(start / "train.parquet"), read_problems(start / f"{split}.parquet")
    if train_problems > len(train):
        raise UserError(f"train_problems={train_problems} is more than the {len(train)} of {start}/train.parquet")
    train = train.of(range(train_problems or len(train)))
    if prompts > len(train):
        raise UserError(f"prompts={prompts} is more than the {len(train)} training problems of {start}")
    if problems > len(evaluated):
        raise UserError(f"problems={problems} is more than the {len(evaluated)} of {start}/{split}.parquet")
    if not (start / "model").is_dir():
        raise UserError(
            f"{start}/model: no such folder: `python -m recipes.countdown.make --help` and its like make one"
        )
    tokenizer = AutoTokenizer.from_pretrained(start / "model", padding_side="left")
    policy = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32)
    return Beginning(policy.eval(), tokenizer, train, evaluated.of(range(problems)), _max_response_tokens(start))


def _max_response_tokens(start: Path) -> int:
    """As the start's task has it; the quickstart's start names no task."""
    task = (read_json(start / "manifest.json") or {}).get("task")
    if task is None:
        return MAX_RESPONSE_TOKENS
    return int(import_module(f"recipes.{task}.problems").TASK.max_response_tokens)
