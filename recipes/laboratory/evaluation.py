"""What a policy can do on problems that it is not trained on: counts, from which pass@k of any k follows."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

from pacs.base.errors import UserError, did_you_mean
from pacs.rewards.countdown import canonical
from pacs.rewards.extract import last_boxed
from pacs.rewards.reasoning import final_part
from recipes.laboratory.counting import count
from recipes.laboratory.grading import grade
from recipes.laboratory.sampling import sample
from recipes.starts.read import Problems

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SPLITS = ("train", "probe", "test")


@dataclass(frozen=True)
class Evaluation:
    """Of which problems, and by how many samples.

    Raises:
        UserError: a split that does not exist, or a count that is not a whole number of at least 1.
    """

    split: str = "test"  # the file <start>/<split>.parquet
    problems: int = 128  # its first so many
    samples: int = 256  # responses to each, at the end
    samples_between: int = 64  # and at the evaluations before it

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UserError(
                f"split={self.split} is not known: choose one of {', '.join(SPLITS)}.{did_you_mean(self.split, SPLITS)}"
            )
        for name in ("problems", "samples", "samples_between"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise UserError(f"{name}={value!r} must be a whole number of at least 1")


def evaluate(
    policy: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    problems: Problems,
    *,
    samples: int,
    max_tokens: int,
    seed: int,
) -> dict[str, Any]:
    """Sample at T=1, and greedily.

    Args:
        policy: to be evaluated; left as it is.
        tokenizer: its tokenizer.
        problems: P of them.
        samples: S responses to each.
        max_tokens: of a response.
        seed: of the samples: the same one gives the same counts.

    Returns:
        `greedy`, the share of problems that greedy decoding solves; `entropy`, nats a token, and
        `response_tokens_mean`, both over the samples; `right`, how many samples of each problem are, and `samples`, S;
        `distinct`, how many different right answers each has; and `right_entropy`, the entropy in nats of the right
        samples' answers, a mean over the problems with any, None without one.
    """
    generator = torch.Generator().manual_seed(seed)
    once = sample(policy, tokenizer, problems.messages, samples=1, max_tokens=max_tokens, generator=None)
    greedy = float(grade(once.texts, problems.answers, problems.verifiers).mean())
    many = count(policy, tokenizer, problems.messages, samples=samples, max_tokens=max_tokens, generator=generator)
    answers: list[Counter[str]] = []
    for counts, truth, verifier in zip(many.texts, problems.answers, problems.verifiers, strict=True):
        texts = list(counts)
        labels = grade(texts, [truth] * len(texts), [verifier] * len(texts)).tolist()
        answers.append(Counter())
        for text, label in zip(texts, labels, strict=True):
            if label == 1:
                answers[-1][answer(text, verifier)] += counts[text]
    solved = [entropy_of(counts.values()) for counts in answers if counts]
    return {
        "greedy": greedy,
        "entropy": many.entropy / many.tokens,
        "response_tokens_mean": many.tokens / (len(problems) * samples),
        "right": [counts.total() for counts in answers],
        "samples": samples,
        "distinct": [len(counts) for counts in answers],
        "right_entropy": sum(solved) / len(solved) if solved else None,
    }


@cache
def answer(response: str, verifier: str) -> str:
    r"""What a right response answers, to compare answers by: the last `\boxed{}`, or else all of it.

    Args:
        response: that the verifier accepts.
        verifier: by name. An answer to `countdown` is its canonical form, any other is as written, without white space.
    """
    part = final_part(response)
    boxed = last_boxed(part)
    text = part if boxed is None else boxed
    return canonical(text) if verifier == "countdown" else "".join(text.split())


def entropy_of(counts: Iterable[int]) -> float:
    """Of the distribution with these counts, in nats."""
    counts = list(counts)
    total = sum(counts)
    return -sum(count / total * math.log(count / total) for count in counts)
