"""support.json and support.md: policies against the one that they began with, on some tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import Estimate
from pacs.base.terminal import visible
from pacs.diversity.curves import Along, Curve, Point, label
from pacs.diversity.document import interval
from pacs.diversity.support import METRICS, ZETA, Entropy, Support, sign_test, threshold

ALL = "all tasks"
#: Problems that the page lists of a category; all are in the JSON.
LISTED = 20
#: A metric and its interval.
number = partial(interval, decimals=3)
ENTROPY_NAMES = {"answer_entropy": "answer entropy, nats", "token_entropy": "token entropy, nats"}

EXPLANATION = """\
Each policy below against {first}. A problem is solved if at least {least} of the first k samples {is_are} right.
*kept*: solved by both; *gained*: by the policy alone; *lost*: by {first} alone; *neither*: by none.
SRR = kept / (kept + lost): of what {first} solves, the share that the policy still solves.
NDR = gained / (kept + gained): of what the policy solves, the share that is new. SDS is their harmonic mean, high only
if both are. NSCR = (gained - lost) / (kept + gained + lost): above 0 more is gained than lost. So Wu et al. (arXiv
2507.14843) define them; most of their trained models have a high SRR and an NDR near 0: they solve what the base model
can solve, more surely. In brackets: the 95% interval of the bootstrap over problems, paired: each draw has the same
problems for all policies."""

CAVEAT = """\
**What this does not say.** It is *empirical* support: of k samples, not of the model. A problem that a model solves
once in k samples on average is missed by all k of another draw 37% of the time. So some problems are gained and some
lost between two draws of one model that did not change, and fewer the larger k is. What is not solved may still have
a probability of up to ε (with {confidence:.0%} confidence). Compare equal k, and give more samples (--samples)
before a problem is called lost. The intervals are of the choice of problems, not of the samples; one of no width
(nothing lost, say) means that it is so of all problems here, not of all such problems. docs/evaluation.md says more."""


@dataclass(frozen=True)
class Comparison:
    """What is written of a run's checkpoints, or of one model, against the first policy.

    Attributes:
        title: of the page.
        first: the first policy in words.
        policies: what is known of each, the first one at the head.
        settings: what else is shown.
        results: of each task.
        together: k -> all tasks as one; empty of one task.
        least: right samples that a problem needs.
        entropies: task -> entropies of its samples, where both of two models are read.
    """

    title: str
    first: str
    policies: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any]
    results: Mapping[str, Along]
    together: Mapping[int, Curve]
    least: int
    entropies: Mapping[str, Mapping[str, Entropy]] = field(default_factory=dict)


def to_json(found: Comparison) -> dict[str, Any]:
    """Everything, the problems of each category included."""
    about = {"policies": list(found.policies), "right_samples_needed": found.least, "zeta": ZETA}
    tasks = {
        task: {
            "k": _curves_json(result.at, found.least),
            "right_of_k": {"k": result.k, "problems": result.right},
            "entropies": {name: asdict(entropy) for name, entropy in found.entropies.get(task, {}).items()},
        }
        for task, result in found.results.items()
    }
    together = {"all_tasks": {"k": _curves_json(found.together, found.least)}} if found.together else {}
    return {"settings": {**found.settings, **about}, "tasks": tasks, **together}


def _curves_json(curves: Mapping[int, Curve], least: int) -> dict[str, Any]:
    return {
        str(k): {
            "epsilon": threshold(k, least),
            "steps": {str(key): _point_json(point) for key, point in curve.points.items()},
            "change_from_first_to_last": {name: value and asdict(value) for name, value in curve.change.items()},
        }
        for k, curve in curves.items()
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "counts": {name: len(problems) for name, problems in point.support._asdict().items()},
        "shares": {name: asdict(share) for name, share in point.shares.items()},
        "metrics": {name: value and asdict(value) for name, value in point.metrics.items()},
        "problems": {name: list(problems) for name, problems in point.support._asdict().items()},
    }


def to_markdown(found: Comparison, picture: str) -> str:
    """The page, with a newline at its end; `picture` is the file's name."""
    parts = [
        f"# {found.title}",
        EXPLANATION.format(first=found.first, least=found.least, is_are="is" if found.least == 1 else "are"),
        CAVEAT.format(confidence=1 - ZETA),
        f"![Problems gained and lost, and the four metrics]({picture})",
    ]
    for task, result in found.results.items():
        parts += [f"## {task}", meaning(found, task), *tables(result.at, found.least), *_listed(result)]
    if found.together:
        parts += [f"## {ALL}", *tables(found.together, found.least)]
    if found.entropies:
        parts += ["## Entropy of answers and of tokens", _entropies(found)]
    rows = [[str(value or ABSENT) for value in policy.values()] for policy in found.policies]
    parts += ["## Evaluations", table([*found.policies[0]], rows)]
    if found.settings:
        parts.append(table(["setting", "value"], [[key, str(value)] for key, value in found.settings.items()]))
    return visible("\n\n".join(parts)) + "\n"


def summary(found: Comparison) -> str:
    """What a terminal gets: the tables, and what they mean."""
    parts = []
    for task, result in found.results.items():
        parts += [task, *tables(result.at, found.least), meaning(found, task)]
    if found.together:
        parts += [ALL, *tables(found.together, found.least)]
    return "\n\n".join([*parts, "Empirical support: of k samples, not of the model; the page says what that means."])


def tables(curves: Mapping[int, Curve], least: int) -> list[str]:
    """A table a k, the largest first: a row a policy."""
    found = []
    for k, curve in sorted(curves.items(), reverse=True):
        rows = [
            [label(key), *(str(len(problems)) for problems in point.support), *map(number, point.metrics.values())]
            for key, point in curve.points.items()
        ]
        problems = sum(map(len, curve.last[1].support))
        head = f"k = {k}, {problems} problems, ε = {threshold(k, least):.2g}:"
        found += [head, table(["", *Support._fields, *METRICS], rows)]
    return found


def meaning(found: Comparison, task: str) -> str:
    """What the largest k says of a task, in sentences."""
    result, least = found.results[task], found.least
    curve = result.at[result.k]
    key, point = curve.last
    kept, gained, lost, neither = map(len, point.support)
    said = [
        f"Within {result.k} samples {label(key)} solves {kept} of the {kept + lost} problems that {found.first} "
        f"solves, and {gained} of the {gained + neither} that it does not. {verdict(point)}"
    ]
    changes = [
        f"{name} by {number(value, signed=True)}{_beyond_chance(value)}"
        for name in ("SRR", "NDR")
        if (value := curve.change[name])
    ]
    if changes:
        said.append(f"From {label(next(iter(curve.points)))} to {label(key)} it changes {' and '.join(changes)}.")
    right = result.right
    barely = (
        (found.first, "lost", [name for name in point.support.lost if right[name][0] == least]),
        (label(key), "gained", [name for name in point.support.gained if right[name][-1] == least]),
    )
    hang = [f"{len(problems)} of the {kind} ones ({who})" for who, kind, problems in barely if problems]
    if hang:
        said.append(
            f"No more than {least} of the {result.k} samples {'is' if least == 1 else 'are'} right in "
            f"{' and '.join(hang)}: with other samples these may be sorted otherwise."
        )
    return " ".join(said)


def _beyond_chance(change: Estimate) -> str:
    """Said of a change whose interval excludes 0; one of no width, as of a single problem, excludes nothing."""
    return " (more than the choice of problems explains)" * (change.excludes_zero and change.low < change.high)


def _listed(result: Along) -> list[str]:
    """The problems that the last policy gains and loses, and how many of the samples are right before and after."""
    support, lines = result.at[result.k].last[1].support, []
    for kind, problems in (("gained", support.gained), ("lost", support.lost)):
        names = [f"{name} ({result.right[name][0]} → {result.right[name][-1]})" for name in problems[:LISTED]]
        more = f", and {len(problems) - LISTED} more in support.json" if len(problems) > LISTED else ""
        lines.append(f"{kind} ({len(problems)}): {', '.join(names) or 'none'}{more}")
    return lines


def _entropies(found: Comparison) -> str:
    rows = []
    for task, entropies in found.entropies.items():
        for name, each in entropies.items():
            values = interval(each.base), interval(each.model), interval(each.difference, signed=True)
            rows.append([f"{task}: {ENTROPY_NAMES[name]}", *values])
    return table(["", "before", "after", "difference"], rows)


def verdict(point: Point) -> str:
    """Whether support has grown or shrunk, as far as NSCR's interval and the sign test of gained and lost tell."""
    change = point.metrics["NSCR"]
    if change is None:
        return "Neither solves any: nothing can be said."
    p = sign_test(len(point.support.gained), len(point.support.lost))
    found = f"(NSCR {number(change)}; sign test of gained and lost: p = {p:.2g})"
    if not change.excludes_zero or p >= ZETA:
        return f"That its support has grown or shrunk cannot be told from these problems {found}."
    grown = "grown: it gains more than it loses" if change.mean > 0 else "shrunk: it loses more than it gains"
    return f"Its support has {grown} {found}."
