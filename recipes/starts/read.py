"""The problems of a start, and the labels of responses to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq
import torch

from pacs.base.errors import UserError
from pacs.data.schema import schema_problems
from pacs.rewards.registry import DEFAULT, compute_score


@dataclass(frozen=True)
class Problems:
    """P problems, an entry of each list a problem."""

    messages: list[list[dict[str, str]]]  # the prompt, as chat messages
    answers: list[str]  # ground truths
    bands: list[str]  # of difficulty; "" where the file names none
    verifiers: list[str]  # by name

    def __len__(self) -> int:
        return len(self.answers)

    def of(self, rows: Sequence[int]) -> "Problems":
        """Those of some rows, in their order."""
        parts = (self.messages, self.answers, self.bands, self.verifiers)
        return Problems(*([part[row] for row in rows] for part in parts))  # type: ignore[arg-type]


def read_problems(path: Path) -> Problems:
    """Read a parquet file of verl's schema.

    Raises:
        UserError: there is no such file, or it is of another schema.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file: `python -m recipes.countdown.make`, or another task's, makes one")
    for problem in schema_problems(path, prompt="prompt", graded=True):
        raise UserError(f"{path} {problem}")
    rows = pq.read_table(path).to_pylist()
    about = [row.get("extra_info") or {} for row in rows]
    return Problems(
        messages=[row["prompt"] for row in rows],
        answers=[row["reward_model"]["ground_truth"] for row in rows],
        bands=[each.get("band") or "" for each in about],
        verifiers=[each.get("verifier") or DEFAULT for each in about],
    )


def grade(texts: Sequence[str], answers: Sequence[str], verifiers: Sequence[str]) -> torch.Tensor:
    """(B,) float32: 1.0 where the verifier of a response accepts it, else 0.0.

    Args:
        texts: B responses.
        answers: the ground truth of each.
        verifiers: the verifier of each, by name.
    """
    rows = list(zip(texts, answers, verifiers, strict=True))
    scores = {
        (text, answer, verifier): compute_score("", text, answer, {"verifier": verifier})["score"]
        for text, answer, verifier in set(rows)
    }
    return torch.tensor([scores[row] for row in rows])
