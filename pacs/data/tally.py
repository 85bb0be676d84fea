"""What became of the rows of a source."""

from collections import Counter
from dataclasses import dataclass, field

from pacs.data.problem import Problem

#: Of each reason, listed in the manifest.
EXAMPLES = 20
EXAMPLE_CHARS = 200


@dataclass
class Tally:
    """Counts of the rows that were read, kept and dropped, with examples of the last."""

    rows_in: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    _bits: Counter[int] = field(default_factory=Counter)

    def keep(self, length: int) -> None:
        """Count a problem whose prompt has this length."""
        self.kept += 1
        self._bits[length.bit_length()] += 1

    def drop(self, reason: str, **example: str) -> None:
        """Count a row that is not kept."""
        self.dropped[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append({key: text[:EXAMPLE_CHARS] for key, text in example.items()})

    def drop_problem(self, reason: str, problem: Problem, **details: str) -> None:
        """Count a problem that is not kept."""
        self.drop(reason, id=problem.id, question=problem.question, gold=problem.gold, **details)

    def reasons(self) -> str:
        """Why rows were dropped, and how many."""
        return ", ".join(f"{reason}: {count:,}" for reason, count in self.dropped.most_common()) or "it has none"

    def histogram(self) -> dict[str, int]:
        """Length of a prompt, between powers of two -> number of prompts."""
        return {f"{1 << bits >> 1}-{(1 << bits) - 1}": self._bits[bits] for bits in sorted(self._bits)}
