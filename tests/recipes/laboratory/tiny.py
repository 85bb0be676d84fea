"""A start that takes no time to make, and labels of which an untrained model has both."""

from collections.abc import Sequence
from pathlib import Path

import torch

from recipes.arithmetic.model import build_model
from recipes.arithmetic.problems import split_problems, write_parquet
from recipes.arithmetic.tokenizer import build_tokenizer


def make_tiny_start(folder: Path, train: int = 24, test: int = 6) -> Path:
    """The quickstart's model untrained, and so many of its problems.

    Its weights are larger than new ones: Adam would make steps of gradients that are nothing but rounding.
    """
    tokenizer, problems = build_tokenizer(4096), split_problems(seed=0)
    model = build_model(tokenizer, seed=0)
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(4 if value.dim() == 2 else 1)
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_parquet(problems.train[:train], folder / "train.parquet", "train")
    write_parquet(problems.test[:test], folder / "test.parquet", "test")
    return folder


def odd(texts: Sequence[str], *_: object) -> torch.Tensor:
    """(B,) 1.0 where a response's characters add up to an odd number."""
    return torch.tensor([float(sum(map(ord, text)) % 2) for text in texts])


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def relative_error(
    values: dict[str, torch.Tensor], expected: dict[str, torch.Tensor], start: dict[str, torch.Tensor]
) -> float:
    """How far the values are from those expected, as a share of how far these are from the start."""
    assert values.keys() == expected.keys()
    difference = sum((values[name] - expected[name]).square().sum() for name in expected)
    return float((difference / sum((expected[name] - start[name]).square().sum() for name in expected)) ** 0.5)
