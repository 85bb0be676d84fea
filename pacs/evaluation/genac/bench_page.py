"""The results of a bench of values, as Markdown and for JSON."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pacs.base.markdown import ABSENT, percent, table
from pacs.base.terminal import visible
from pacs.evaluation.genac.quality import Quality, SetResult

EXPLANATION = """\
MSE: mean squared difference between a critic's value and the true one, with the 95% interval of the bootstrap over
problems. The true value is known by the mean of K continuations, whose noise v(1-v)/(K-1) is taken out, so that a small
MSE may come out below 0. It does not compare over sets, whose values differ more or less; the explained share of their
variance does. Where a value could not be read, the actor's success rate stands in. Top-1 of n: how often the candidate
segment that is valued highest is the best of n, over all choices of n of a state's candidates; several that are valued
alike count as right if one of them is the best. In brackets one of those is drawn by lot. Percent, but for MSE."""


def page(results: Mapping[str, SetResult]) -> str:
    """The page, with a newline at its end."""
    parts = ["# Values beside continuations", EXPLANATION]
    for task, result in results.items():
        sizes = sorted({size for quality in result.qualities.values() for size in quality.top})
        header = ["", "MSE", "explained", "unreadable", *(f"top-1 of {size}" for size in sizes)]
        rows = [[name, *_cells(quality, sizes)] for name, quality in result.qualities.items()]
        if sizes:
            tops = [quality.top for quality in result.qualities.values() if quality.top]
            rows.append(["a candidate by lot", *[ABSENT] * 3, *(percent(tops[0][size].chance) for size in sizes)])
        parts += [
            f"## {task}",
            f"{result.problems:,} problems, {result.states:,} states, {result.continuations} continuations of each. "
            f"True values: mean {result.mean:.3f}, variance {result.variance:.4f}; noise {result.noise:.4f}. Success "
            f"rate that critics are told: {result.rate:.2f}.",
            table(header, rows),
        ]
        for name, quality in result.qualities.items():
            if quality.bins:
                lines = [[str(b.score), f"{b.states:,}", f"{b.predicted:.3f}", f"{b.value:.3f}"] for b in quality.bins]
                parts += [f"### {task}: {name}", table(["score", "states", "said", "true"], lines)]
    return visible("\n\n".join(parts)) + "\n"


def to_json(results: Mapping[str, SetResult]) -> dict[str, Any]:
    """For JSON; shares from 0 to 1."""
    return {task: asdict(result) for task, result in results.items()}


def _cells(quality: Quality, sizes: list[int]) -> list[str]:
    error = quality.error
    tops = [
        f"{percent(top.right)} ({percent(top.by_lot)})" if (top := quality.top.get(size)) else ABSENT for size in sizes
    ]
    return [
        f"{error.mean:.4f} [{error.low:.4f}, {error.high:.4f}]",
        percent(quality.explained),
        percent(quality.unparsable) if quality.bins else ABSENT,
        *tops,
    ]
