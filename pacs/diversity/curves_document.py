"""support.json and support.md of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import Estimate
from pacs.base.terminal import visible
from pacs.diversity.curves import Along, Curve, Point
from pacs.diversity.policies import Policy
from pacs.diversity.support import METRICS, ZETA, Support, threshold

ALL = "all tasks"

EXPLANATION = """\
Each checkpoint of the run against the policy that the run began with. A problem is solved if at least {least} of the
first k samples {is_are} right. *kept*: solved by both; *gained*: by the checkpoint alone; *lost*: by the initial
policy alone; *neither*: by none. SRR = kept / (kept + lost): of what the initial policy solves, the share that the
checkpoint still solves. NDR = gained / (kept + gained): of what the checkpoint solves, the share that is new. SDS is
their harmonic mean, high only if both are. NSCR = (gained - lost) / (kept + gained + lost): above 0 more is gained
than lost. So Wu et al. (arXiv 2507.14843) define them; most of their trained models have a high SRR and an NDR near
0: they solve what the base model can solve, more surely. In brackets: the 95% interval of the bootstrap over
problems, paired: each draw has the same problems for the initial policy and for every checkpoint."""

CAVEAT = """\
**What this does not say.** It is *empirical* support: of k samples, not of the model. A problem that a model solves
once in k samples on average is missed by all k of another draw 37% of the time. So some problems are gained and some
lost between two draws of one model that did not change, and fewer the larger k is. What is not solved may still have
a probability of up to ε (with {confidence:.0%} confidence). Compare equal k, and give more samples (--samples)
before a problem is called lost. The intervals are of the choice of problems, not of the samples; one of no width
(nothing lost, say) means that it is so of all problems here, not of all such problems. docs/evaluation.md says more."""


def to_json(
    settings: Mapping[str, Any],
    policies: Sequence[Policy],
    results: Mapping[str, Along],
    together: Mapping[int, Curve],
    least: int,
) -> dict[str, Any]:
    """Everything, the problems of each category included.

    Args:
        settings: what is shown of the run and of the comparison.
        policies: the initial one first.
        results: of each task.
        together: k -> all tasks as one; empty of one task.
        least: right samples that a problem needs.
    """
    about = {
        "policies": [
            {"step": policy.step, "model": policy.model, "evaluation": str(policy.evaluation)} for policy in policies
        ],
        "right_samples_needed": least,
        "zeta": ZETA,
    }
    tasks = {
        task: {
            "k": {str(k): _curve_json(k, curve, least) for k, curve in result.at.items()},
            "right_of_k": {"k": result.k, "steps": [policy.step for policy in policies], "problems": result.right},
        }
        for task, result in results.items()
    }
    found: dict[str, Any] = {"settings": {**settings, **about}, "tasks": tasks}
    if together:
        found["all_tasks"] = {"k": {str(k): _curve_json(k, curve, least) for k, curve in together.items()}}
    return found


def _curve_json(k: int, curve: Curve, least: int) -> dict[str, Any]:
    return {
        "epsilon": threshold(k, least),
        "steps": {str(step): _point_json(point) for step, point in curve.points.items()},
        "change_from_first_to_last": {name: value and asdict(value) for name, value in curve.change.items()},
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "counts": {name: len(problems) for name, problems in point.support._asdict().items()},
        "shares": {name: asdict(share) for name, share in point.shares.items()},
        "metrics": {name: value and asdict(value) for name, value in point.metrics.items()},
        "problems": {name: list(problems) for name, problems in point.support._asdict().items()},
    }


def to_markdown(
    settings: Mapping[str, Any],
    policies: Sequence[Policy],
    results: Mapping[str, Along],
    together: Mapping[int, Curve],
    least: int,
    picture: str,
) -> str:
    """The page, with a newline at its end; `picture` is the file's name, the rest as `to_json` takes it."""
    parts = [
        f"# Support along {settings['run']}",
        EXPLANATION.format(least=least, is_are="is" if least == 1 else "are"),
        CAVEAT.format(confidence=1 - ZETA),
        f"![Problems gained and lost, and the four metrics, over the steps]({picture})",
    ]
    for task, result in results.items():
        parts += [f"## {task}", meaning(result, least), *tables(result.at, least)]
    if together:
        parts += [f"## {ALL}", *tables(together, least)]
    rows = [[policy.label, policy.model or ABSENT, str(policy.evaluation)] for policy in policies]
    parts += ["## Evaluations", table(["", "model", "evaluation"], rows)]
    parts.append(table(["setting", "value"], [[key, str(value)] for key, value in settings.items()]))
    return visible("\n\n".join(parts)) + "\n"


def summary(results: Mapping[str, Along], together: Mapping[int, Curve], least: int) -> str:
    """What a terminal gets: the tables, and what they mean."""
    parts = []
    for task, result in results.items():
        parts += [task, *tables(result.at, least), meaning(result, least)]
    if together:
        parts += [ALL, *tables(together, least)]
    return "\n\n".join([*parts, "Empirical support: of k samples, not of the model; the page says what that means."])


def tables(curves: Mapping[int, Curve], least: int) -> list[str]:
    """A table a k, the largest first: a row a checkpoint."""
    found = []
    for k, curve in sorted(curves.items(), reverse=True):
        rows = [
            [f"step {step}", *(str(len(problems)) for problems in point.support), *map(number, point.metrics.values())]
            for step, point in curve.points.items()
        ]
        problems = sum(map(len, curve.last[1].support))
        head = f"k = {k}, {problems} problems, ε = {threshold(k, least):.2g}:"
        found += [head, table(["", *Support._fields, *METRICS], rows)]
    return found


def meaning(result: Along, least: int) -> str:
    """What the largest k says of a task, in sentences."""
    curve = result.at[result.k]
    step, point = curve.last
    kept, gained, lost, neither = map(len, point.support)
    said = [
        f"Within {result.k} samples the policy of step {step} solves {kept} of the {kept + lost} problems that the "
        f"initial policy solves, and {gained} of the {gained + neither} that it does not. {verdict(point.metrics)}"
    ]
    changes = [
        f"{name} by {number(value, signed=True)}{', more than the choice of problems explains' * value.excludes_zero}"
        for name in ("SRR", "NDR")
        if (value := curve.change[name])
    ]
    if changes:
        said.append(f"From step {min(curve.points)} to step {step} it changes {' and '.join(changes)}.")
    right = result.right
    barely = (
        ("the initial policy", "lost", [name for name in point.support.lost if right[name][0] == least]),
        (f"step {step}", "gained", [name for name in point.support.gained if right[name][-1] == least]),
    )
    hang = [f"{len(problems)} of the {kind} ones ({who})" for who, kind, problems in barely if problems]
    if hang:
        said.append(
            f"No more than {least} of the {result.k} samples {'is' if least == 1 else 'are'} right in "
            f"{' and '.join(hang)}: with other samples these may be sorted otherwise."
        )
    return " ".join(said)


def verdict(metrics: Mapping[str, Estimate | None]) -> str:
    """Whether support has grown or shrunk, as far as NSCR's interval tells."""
    change = metrics["NSCR"]
    if change is None:
        return "Neither solves any: nothing can be said."
    if not change.excludes_zero:
        return f"That its support has grown or shrunk cannot be told from these problems (NSCR {number(change)})."
    grown = "grown: it gains more than it loses" if change.mean > 0 else "shrunk: it loses more than it gains"
    return f"Its support has {grown} (NSCR {number(change)})."


def number(value: Estimate | None, *, signed: bool = False) -> str:
    """A metric and its interval, with three decimals as the paper prints them."""
    sign = "+" if signed else ""
    return ABSENT if value is None else f"{value.mean:{sign}.3f} [{value.low:{sign}.3f}, {value.high:{sign}.3f}]"
