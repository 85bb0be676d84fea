"""Every measure of one task of one model, by problem, and what two models differ by."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import Estimate, estimate
from pacs.evaluation.sample import Graded, GradedTask
from pacs.evaluation.settings import read_settings
from pacs.evaluation.summary import votes

#: A response -> its tokens.
Tokenize = Callable[[list[str]], Sequence[Sequence[int] | Sequence[str]]]
Array = npt.NDArray[np.float64]


def unit_vectors(embeddings: npt.NDArray[np.floating]) -> Array:
    """Scale each row to length 1, in 64 bits.

    Args:
        embeddings: (n, D).

    Raises:
        ValueError: a row is zero or not finite, so that it has no direction.
    """
    rows = embeddings.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError("an embedding is zero or not finite: it has no direction")
    units: Array = rows / lengths
    return units


def mean_cosine_distance(units: Array) -> float:
    """The mean of 1 - cos over all pairs of rows, exactly, without making the pairs.

    The summand of Eq. 15: 2 / (n (n-1)) * sum_{i<j} (1 - u_i . u_j). For unit vectors 1 - u_i . u_j =
    |u_i - u_j|^2 / 2, and sum_{i<j} |u_i - u_j|^2 = n sum_i |u_i - m|^2 with m their mean. So it is

        sum_i |u_i - m|^2 / (n - 1),

    the total variance of the unit vectors. Nothing cancels, however alike the responses are.

    Args:
        units: (n, D), rows of length 1.

    Raises:
        ValueError: fewer than two rows, which make no pair.
    """
    if len(units) < 2:
        raise ValueError(f"{len(units)} response(s) make no pair")
    return float(np.square(units - units.mean(axis=0)).sum() / (len(units) - 1))


HIGHEST_N = 4


def words(text: str) -> list[str]:
    """Words, and each sign between them: what n-grams are made of where no tokenizer is at hand."""
    return re.findall(r"\w+|[^\w\s]", text)


def distinct_n(responses: Sequence[Sequence[int] | Sequence[str]]) -> list[float | None]:
    """Distinct n-grams over all n-grams of a problem's responses (Li et al. 2016, arXiv 1510.03055).

    No n-gram reaches from one response into the next. The more responses, the lower: compare equal numbers only.

    Args:
        responses: each as its tokens.

    Returns:
        For n = 1 to `HIGHEST_N`; None where no response is as long as that.
    """
    shares: list[float | None] = []
    for n in range(1, HIGHEST_N + 1):
        shifted = ([each[place:] for place in range(n)] for each in responses)
        grams = Counter(chain.from_iterable(zip(*columns, strict=False) for columns in shifted))
        shares.append(len(grams) / grams.total() if grams else None)
    return shares


def answer_entropy(samples: Sequence[Graded]) -> float:
    """Entropy, in nats, of the final answers of a problem's samples: -sum_j p_j log p_j, p_j the share of answer j.

    All right samples give one answer, wrong ones are told apart as in maj@k, and no answer is an answer of its own:
    "Answer-level Entropy" of Wu et al. (arXiv 2507.14843, Sec. 5.1), NA included. At most log n of n samples.

    Args:
        samples: at least one.
    """
    right, wrong = votes(samples)
    counts = np.array([right, *wrong, len(samples) - right - sum(wrong)], dtype=np.float64)
    shares = counts[counts > 0] / len(samples)
    return float(-(shares * np.log(shares)).sum()) + 0.0


def token_entropy(samples: Sequence[Graded]) -> float | None:
    """Mean over samples of `Sample.token_entropy`, in nats a token; None unless it was recorded for all of them."""
    recorded = [graded.sample.token_entropy for graded in samples]
    known = [entropy for entropy in recorded if entropy is not None]
    return float(np.mean(known)) if known and len(known) == len(recorded) else None


def find_tokenizer(folders: Sequence[Path]) -> tuple[str, Tokenize]:
    """The tokenizer of the first evaluation whose model is still where it was; else words. One for all evaluations.

    Returns:
        What it is, in words; and the function.
    """
    from transformers import AutoTokenizer  # seconds

    for folder in folders:
        model = read_settings(folder).model.folder
        try:
            tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError):
            continue  # the model has been moved: what is used instead is said
        return f"tokens of {model}", partial(_ids, tokenizer)
    return "words and signs, since no model's tokenizer is where it was", lambda texts: [words(text) for text in texts]


def _ids(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    ids: list[list[int]] = tokenizer([*map(encodable, texts)], add_special_tokens=False, verbose=False)["input_ids"]
    return ids


def encodable(text: str) -> str:
    """A text as UTF-8 can hold it: half a surrogate pair, which the JSON of others may have, as JSON names it."""
    return text.encode(errors="backslashreplace").decode()


COSINE = "cosine_distance"
ANSWER_ENTROPY = "answer_entropy"
TOKEN_ENTROPY = "token_entropy"
DISTINCT = tuple(f"distinct_{n}" for n in range(1, HIGHEST_N + 1))

#: Every measure, with what a table calls it.
MEASURES = {
    COSINE: "mean pairwise cosine distance",
    ANSWER_ENTROPY: "answer entropy, nats",
    TOKEN_ENTROPY: "token entropy, nats",
    **{name: f"distinct-{n}" for n, name in enumerate(DISTINCT, start=1)},
}


@dataclass(frozen=True)
class Measured:
    """One task of one model.

    Attributes:
        problems: how many the task has.
        samples: of each.
        selected: responses that were embedded.
        cut: of these, how many were longer than the embedding model takes.
        values: measure -> problem -> value, without the problems that have none.
    """

    problems: int
    samples: int
    selected: int
    cut: int
    values: Mapping[str, Mapping[str, float]]

    def mean(self, measure: str) -> Estimate | None:
        """Over the problems that have it; None if none has."""
        values = self.values[measure]
        return estimate(list(values.values())) if values else None


def select(task: GradedTask, only_correct: bool) -> dict[str, list[Graded]]:
    """The responses whose distances count, by problem."""
    return {
        problem: [graded for graded in samples if graded.status == "correct" or not only_correct]
        for problem, samples in task.samples.items()
    }


def measure(task: GradedTask, units: Mapping[str, Array], cut: int, tokenize: Tokenize) -> Measured:
    """Measure a task.

    Args:
        task: its problems and samples.
        units: problem -> (n, D), the unit vectors of its selected responses.
        cut: how many of these were too long for the embedding model.
        tokenize: for distinct-n.
    """
    values: dict[str, dict[str, float]] = {name: {} for name in MEASURES}
    for problem, samples in task.samples.items():
        found: dict[str, float | None] = {
            COSINE: mean_cosine_distance(units[problem]) if len(units[problem]) > 1 else None,
            ANSWER_ENTROPY: answer_entropy(samples),
            TOKEN_ENTROPY: token_entropy(samples),
        }
        found |= zip(DISTINCT, distinct_n(tokenize([graded.sample.response for graded in samples])), strict=True)
        for name, value in found.items():
            if value is not None:
                values[name][problem] = value
    return Measured(
        problems=len(task.problems),
        samples=max(map(len, task.samples.values())),
        selected=sum(map(len, units.values())),
        cut=cut,
        values=values,
    )


def difference(first: Measured, second: Measured, measure: str) -> tuple[Estimate, int] | None:
    """Second minus first over the problems where both have the measure, and how many these are; None if there is none.

    The interval is the paired bootstrap's: the same problems are drawn for both.
    """
    a, b = first.values[measure], second.values[measure]
    common = [problem for problem in a if problem in b]
    if not common:
        return None
    return estimate(np.array([b[problem] - a[problem] for problem in common])), len(common)
