"""Support of one policy or of a run's: which problems each keeps, gains and loses against the first policy.

How far a number may be off by the choice of problems is told by the bootstrap over problems: 10,000 times as many
problems as there are, drawn with replacement, the same for all policies (paired).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import BLOCK_VALUES, RESAMPLES, SEED, Estimate
from pacs.diversity.folders import Marks
from pacs.diversity.support import METRICS, Support, rates, sort_problems, together

Array = npt.NDArray[np.float64]
#: The step of a checkpoint, or a model's name.
Key = int | str
#: Of the interval, in percent.
ENDS = (2.5, 97.5)


def label(key: Key) -> str:
    """A policy in words."""
    return f"step {key}" if isinstance(key, int) else key


@dataclass(frozen=True)
class Point:
    """One policy against the first.

    Attributes:
        support: the problems by who solves them; the policy is the trained model.
        shares: of all problems, by category of `Support`.
        metrics: SRR, NDR, SDS and NSCR; None where nothing is divided by.
    """

    support: Support
    shares: dict[str, Estimate]
    metrics: dict[str, Estimate | None]


@dataclass(frozen=True)
class Curve:
    """A task, or all together, by so many samples of each problem.

    Attributes:
        points: policy -> what it has, in their order.
        change: from the first of them to the last, of each metric; None of one alone, or where one of the two is not
            defined.
    """

    points: dict[Key, Point]
    change: dict[str, Estimate | None]

    @property
    def last(self) -> tuple[Key, Point]:
        """The last policy, and what it has."""
        return list(self.points.items())[-1]


@dataclass(frozen=True)
class Along:
    """A task of all policies.

    Attributes:
        at: k -> the curve by k samples, k ascending.
        right: problem -> how many of the first samples, as many as the largest k, are right: of the first policy,
            then of each other.
        together: k -> draws of the counts (see `draw_counts`), to be added to those of other tasks.
    """

    at: dict[int, Curve]
    right: dict[str, list[int]]
    together: dict[int, Array]

    @property
    def k(self) -> int:
        """The largest."""
        return max(self.at)


def along(name: str, initial: Marks, others: Mapping[Key, Marks], ks: Sequence[int], least: int = 1) -> Along:
    """A task of each policy.

    Args:
        name: of the task.
        initial: the first policy's samples, at least max(ks) of each problem.
        others: policy -> its samples of the same problems; of a run in the order of its steps.
        ks: how many samples of a problem count, from the first on.
        least: how many of them must be right for the problem to be solved.
    """

    def counts(marks: Marks, k: int) -> dict[str, int]:
        return {problem: sum(marks[problem][:k]) for problem in initial}

    sorted_at = {}
    for k in sorted(set(ks)):
        first = counts(initial, k)
        sorted_at[k] = {key: sort_problems(first, counts(marks, k), least) for key, marks in others.items()}
    draws = draw_counts(name, [*initial], [part for parts in sorted_at.values() for part in parts.values()])
    drawn = dict(zip(sorted_at, np.split(draws, len(sorted_at), axis=1), strict=True))
    all_marks = [initial, *others.values()]
    return Along(
        at={k: curve(parts, drawn[k]) for k, parts in sorted_at.items()},
        right={problem: [sum(marks[problem][: max(ks)]) for marks in all_marks] for problem in initial},
        together=drawn,
    )


def all_together(tasks: Sequence[Along]) -> dict[int, Curve]:
    """k -> all tasks as one, of the ks that they have in common; problems are drawn within their tasks."""
    common = set.intersection(*(set(task.at) for task in tasks))
    curves = {}
    for k in sorted(common):
        points = [task.at[k].points for task in tasks]
        parts = {key: together([each[key].support for each in points]) for key in points[0]}
        curves[k] = curve(parts, np.sum([task.together[k] for task in tasks], axis=0))
    return curves


def draw_counts(name: str, problems: Sequence[str], parts: Sequence[Support]) -> Array:
    """(R, S, 4) how many of the problems that are drawn are of each category, in each of R draws.

    The draws depend on the task's name and the number of its problems alone: another checkpoint, another k or another
    task beside it changes no interval, and two tasks of one size are drawn independently.

    Args:
        name: of the task.
        problems: of it.
        parts: S ways to sort them.
    """
    place = {problem: index for index, problem in enumerate(problems)}
    categories = np.zeros((len(problems), len(parts), len(Support._fields)), dtype=np.float32)
    for index, part in enumerate(parts):
        for category, ids in enumerate(part):
            categories[[place[problem] for problem in ids], index, category] = 1
    generator = np.random.default_rng([SEED, *name.encode(errors="surrogatepass")])
    evenly = np.full(len(problems), 1 / len(problems))
    block = max(1, BLOCK_VALUES // len(problems))
    found = []
    for start in range(0, RESAMPLES, block):
        times = generator.multinomial(len(problems), evenly, size=min(block, RESAMPLES - start))
        found.append(np.tensordot(times.astype(np.float32), categories, axes=1))
    drawn: Array = np.concatenate(found).astype(np.float64)
    return drawn


def curve(parts: Mapping[Key, Support], draws: Array) -> Curve:
    """The numbers of each policy, and what changes from the first to the last.

    Args:
        parts: policy -> problems by who solves them.
        draws: (R, S, 4) counts of draws, in the order of the policies.
    """
    counts = np.array([[*map(len, part)] for part in parts.values()], dtype=np.float64)
    metrics, drawn_metrics = rates(counts), rates(draws)
    totals = counts.sum(axis=-1, keepdims=True)
    points: dict[Key, Point] = {}
    for index, (key, part) in enumerate(parts.items()):
        shares = _estimates(Support._fields, (counts / totals)[index], draws[:, index] / totals[index])
        points[key] = Point(
            part,
            {name: share for name, share in shares.items() if share},
            _estimates(METRICS, metrics[index], drawn_metrics[:, index]),
        )
    change = dict.fromkeys(METRICS)
    if len(points) > 1:
        change = _estimates(METRICS, metrics[-1] - metrics[0], drawn_metrics[:, -1] - drawn_metrics[:, 0])
    return Curve(points, change)


def _estimates(names: Sequence[str], values: Array, draws: Array) -> dict[str, Estimate | None]:
    """Each value and its interval, over the draws (R, len(names)) in which it is defined."""
    found: dict[str, Estimate | None] = {}
    for name, value, column in zip(names, values, draws.T, strict=True):
        defined = column[~np.isnan(column)]
        low, high = np.percentile(defined, ENDS) if not np.isnan(value) else (np.nan, np.nan)
        found[name] = None if np.isnan(value) else Estimate(float(value), float(low), float(high))
    return found
