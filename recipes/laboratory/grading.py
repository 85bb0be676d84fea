"""Labels of responses: by their verifiers, and by rules of the tasks whose verifiers need a run or a sandbox."""

from collections.abc import Callable, Sequence

import torch

from pacs.rewards.reference_answer import NAME as REFERENCE_PROBABILITY
from recipes.code_repair.calculated import first_failure
from recipes.spelled_sums.problems import NUMBERS
from recipes.starts.read import grade as by_verifier


def _repairs(text: str, truth: str) -> bool:
    return first_failure(text, truth) is None


def _says_the_sum(text: str, truth: str) -> bool:
    """Whether the last box has the number of a row's right answer and no other, in whatever wording."""
    said = text.rpartition("\\boxed{")[2].partition("}")[0].split() if "\\boxed{" in text else []
    return NUMBERS & {*said} == NUMBERS & {*truth.split()}


#: Verifier -> what grades its rows here.
HERE: dict[str, Callable[[str, str], bool]] = {"code": _repairs, REFERENCE_PROBABILITY: _says_the_sum}


def grade(texts: Sequence[str], answers: Sequence[str], verifiers: Sequence[str]) -> torch.Tensor:
    """(B,) float32 labels, as `recipes.starts.read.grade`, with rules of the tasks' own for the verifiers of `HERE`."""
    if HERE.keys().isdisjoint(verifiers):
        return by_verifier(texts, answers, verifiers)
    rows = list(zip(texts, answers, verifiers, strict=True))
    labels = {row: float(HERE[row[2]](row[0], row[1])) for row in {*rows}}
    return torch.tensor([labels[row] for row in rows])
