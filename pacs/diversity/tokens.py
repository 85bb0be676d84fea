"""Diversity of tokens and of answers."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pacs.evaluation.majority import votes
from pacs.evaluation.sample import Graded

HIGHEST_N = 4
_WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """Words, and each sign between them: what n-grams are made of where no tokenizer is at hand."""
    return _WORD.findall(text)


def distinct_n(responses: Sequence[Sequence[int] | Sequence[str]]) -> list[float | None]:
    """Distinct n-grams over all n-grams of a problem's responses (Li et al. 2016, arXiv 1510.03055).

    No n-gram reaches from one response into the next. The more responses, the lower: compare equal numbers only.

    Args:
        responses: each as its tokens.

    Returns:
        For n = 1 to `HIGHEST_N`; None where no response is as long as that.
    """
    filled = [np.asarray(response) for response in responses if len(response)]
    tokens = np.concatenate(filled) if filled else np.array([])
    owner = np.repeat(np.arange(len(filled)), [len(response) for response in filled])
    # Each n-gram as a number, exactly: equal numbers where n-grams are equal.
    unigrams = _numbered(tokens)
    grams = unigrams
    shares: list[float | None] = []
    for n in range(1, HIGHEST_N + 1):
        if n > 1:
            grams = _numbered(grams[:-1] * (len(unigrams) + 1) + unigrams[n - 1 :])
        within = grams[owner[: len(grams)] == owner[n - 1 :]]
        shares.append(len(np.unique(within)) / len(within) if len(within) else None)
    return shares


def _numbered(values: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    numbers: npt.NDArray[np.int64] = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return numbers


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
