"""Which problems two models solve within k samples, after "The Invisible Leash" (Wu et al., arXiv 2507.14843)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pacs.evaluation.sample import Graded, GradedTask

#: One minus the confidence with which an answer not seen in k samples is said to be rarer than `threshold`.
ZETA = 0.05


@dataclass(frozen=True)
class Support:
    """Problems by who solves them; a problem is the paper's "correct completion", all ways to its answer being one.

    Attributes:
        kept: by both ("preservation", P).
        gained: by the trained model alone ("expansion", E).
        lost: by the base model alone ("shrinkage", S).
        neither: by none ("out of support", O).
    """

    kept: tuple[str, ...]
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    neither: tuple[str, ...]

    @property
    def retention_rate(self) -> float | None:
        """SRR = P / (P + S): of what the base model solves, the share that is kept."""
        return _ratio(len(self.kept), len(self.kept) + len(self.lost))

    @property
    def discovery_rate(self) -> float | None:
        """NDR = E / (P + E): of what the trained model solves, the share that the base model does not."""
        return _ratio(len(self.gained), len(self.kept) + len(self.gained))

    @property
    def dynamic_score(self) -> float | None:
        """SDS = 2 SRR NDR / (SRR + NDR), the harmonic mean; 0 if both are."""
        retained, discovered = self.retention_rate, self.discovery_rate
        if retained is None or discovered is None:
            return None
        return _ratio(2 * retained * discovered, retained + discovered) or 0.0

    @property
    def change_rate(self) -> float | None:
        """NSCR = (E - S) / (P + E + S): net expansion above 0, net shrinkage below."""
        solved = len(self.kept) + len(self.gained) + len(self.lost)
        return _ratio(len(self.gained) - len(self.lost), solved)


def support(base: GradedTask, model: GradedTask, k: int) -> Support:
    """Sort a task's problems by who solves them within the first k samples.

    The paper's support holds the right answers with a probability above epsilon; being seen in k samples stands for
    that, as in its tables.

    Args:
        base, model: samples of the same problems, at least k each.
        k: how many samples of each count.
    """
    found: dict[tuple[bool, bool], list[str]] = {}
    for problem in base.problems:
        solved = right(base.samples[problem.id], k) > 0, right(model.samples[problem.id], k) > 0
        found.setdefault(solved, []).append(problem.id)
    kept, gained, lost, neither = (
        tuple(found.get(solved, ())) for solved in ((True, True), (False, True), (True, False), (False, False))
    )
    return Support(kept, gained, lost, neither)


def right(samples: Sequence[Graded], k: int) -> int:
    """How many of the first k samples are right."""
    return sum(graded.status == "correct" for graded in samples[:k])


def together(parts: Sequence[Support]) -> Support:
    """Several tasks as one."""
    return reduce(
        lambda a, b: Support(a.kept + b.kept, a.gained + b.gained, a.lost + b.lost, a.neither + b.neither), parts
    )


def threshold(k: int) -> float:
    """Epsilon = 1 - zeta^(1/k): an answer that none of k samples gives is as rare as this, with confidence 1 - `ZETA`.

    All k miss a likelier one with a probability below zeta. Appendix C.4 has the bound -log(zeta) / k, which is a
    little above it, and for small k above 1.
    """
    return float(1 - ZETA ** (1 / k))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
