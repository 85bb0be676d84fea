"""What became of the rows of a source."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pacs.base.terminal import named
from pacs.data.problem import Problem

#: Of each reason, listed in the manifest.
EXAMPLES = 20
EXAMPLE_CHARS = 200
#: Of each reason, and of a text in it, that are said.
SHOWN = 3
SHOWN_CHARS = 80


@dataclass
class Tally:
    """Counts of the rows that were read, kept and dropped, with examples of the last.

    Attributes:
        rows_in: that were read.
        asked: whose own request for a form of the answer was taken off.
        kept: that were written.
        dropped: by reason.
        examples: the first of each reason.
    """

    rows_in: int = 0
    asked: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    _bits: Counter[int] = field(default_factory=Counter)

    def keep(self, length: int) -> None:
        """Count a problem whose prompt has this length."""
        self.kept += 1
        self._bits[length.bit_length()] += 1

    def drop(self, reason: str, **example: Any) -> None:
        """Count a row that is not kept; what is known of it is made a text if it is one of the examples."""
        self.dropped[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append({key: str(value)[:EXAMPLE_CHARS] for key, value in example.items()})

    def drop_problem(self, reason: str, problem: Problem, **details: str) -> None:
        """Count a problem that is not kept."""
        self.drop(reason, id=problem.id, question=problem.question, gold=problem.gold, **details)

    def reasons(self) -> str:
        """Why rows were dropped, and how many."""
        return ", ".join(f"{reason}: {count:,}" for reason, count in self.dropped.most_common()) or "it has none"

    def histogram(self) -> dict[str, int]:
        """Length of a prompt, between powers of two -> number of prompts."""
        return {f"{1 << bits >> 1}-{(1 << bits) - 1}": self._bits[bits] for bits in sorted(self._bits)}


def shown(examples: Sequence[Mapping[str, str]]) -> list[str]:
    """The first rows that were dropped for one reason, a line each, with what the verifier said of their answers."""
    lines = []
    for example in examples[:SHOWN]:
        said = {key: " ".join(named(text).split())[:SHOWN_CHARS] for key, text in example.items()}
        parts = [said.pop(key) for key in ("why", "row") if key in said]
        lines.append(
            f"row {said.pop('id')}: " + ", ".join([f"{key} {text}" for key, text in reversed(said.items())] + parts)
        )
    return lines
