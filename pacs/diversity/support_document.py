"""support.json and support.md."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pacs.base.markdown import ABSENT, table
from pacs.base.terminal import visible
from pacs.diversity.document import interval
from pacs.diversity.support import ZETA, Support, TaskSupport, threshold, together

#: Problems that the page lists of a category; all are in the JSON.
LISTED = 20

EXPLANATION = """\
Problems by whether at least {3} of the first k samples {4} right: *kept* by both models, *gained* by {1} alone, *lost*
by {1} and solved by {0}, *neither*. SRR = kept / (kept + lost), NDR = gained / (kept + gained), SDS their harmonic
mean, NSCR = (gained - lost) / (kept + gained + lost), as Wu et al. (arXiv 2507.14843) define them. What is not seen in
k samples has at most the probability ε, with {2:.0%} confidence. docs/evaluation.md says what each number means."""

ENTROPY_NAMES = {"answer_entropy": "answer entropy, nats", "token_entropy": "token entropy, nats"}


def to_json(
    settings: Mapping[str, Any], names: Sequence[str], results: Mapping[str, TaskSupport], least: int
) -> dict[str, Any]:
    """Everything, the problems of each category included.

    Args:
        settings: the evaluations.
        names: the base model's and the trained one's.
        results: of each task.
        least: right samples that a problem needs.
    """
    tasks = {
        task: {
            "k": {
                str(k): {
                    "epsilon": threshold(k, least),
                    "counts": {name: len(problems) for name, problems in part._asdict().items()},
                    "metrics": part.metrics,
                    "problems": {name: list(problems) for name, problems in part._asdict().items()},
                }
                for k, part in result.at.items()
            },
            "right_of_k": {"k": result.k, "base_and_model": {problem: list(r) for problem, r in result.right.items()}},
            "entropies": {name: asdict(entropy) for name, entropy in result.entropies.items()},
        }
        for task, result in results.items()
    }
    return {"settings": {**settings, "names": list(names), "right_samples_needed": least, "zeta": ZETA}, "tasks": tasks}


def to_markdown(
    settings: Mapping[str, Any], names: Sequence[str], results: Mapping[str, TaskSupport], least: int, picture: str
) -> str:
    """The page, with a newline at its end; `picture` is the file's name, the rest as `to_json` takes it."""
    parts = [
        f"# Support: {names[1]} against {names[0]}",
        EXPLANATION.format(*names, 1 - ZETA, least, "is" if least == 1 else "are"),
        support_table(results, least),
        f"![Problems kept, gained and lost]({picture})",
        "## Entropy of answers and of tokens",
        _entropies(names, results),
    ]
    for task, result in results.items():
        part = result.at[result.k]
        parts.append(f"## {task}, k = {result.k}")
        parts += [
            f"{category} ({len(problems)}): {_listed(problems, result)}"
            for category, problems in (("gained", part.gained), ("lost", part.lost))
        ]
    parts += ["## Evaluations", table(["", ""], [[*item] for item in settings.items()])]
    return visible("\n\n".join(parts)) + "\n"


def support_table(results: Mapping[str, TaskSupport], least: int) -> str:
    """A row a task and k; all tasks together where they have a k in common."""
    rows = [_row(task, k, part, least) for task, result in results.items() for k, part in result.at.items()]
    if len(results) > 1:
        common = set.intersection(*(set(result.at) for result in results.values()))
        rows += [_row("all", k, together([result.at[k] for result in results.values()]), least) for k in sorted(common)]
    return table(["", "k", "ε", "problems", *Support._fields, "SRR", "NDR", "SDS", "NSCR"], rows)


def _row(name: str, k: int, part: Support, least: int) -> list[str]:
    counts = list(map(len, part))
    shares = [f"{count} ({count / sum(counts):.1%})" for count in counts]
    values = [ABSENT if value is None else f"{value:.3f}" for value in part.metrics.values()]
    return [name, str(k), f"{threshold(k, least):.2g}", str(sum(counts)), *shares, *values]


def _entropies(names: Sequence[str], results: Mapping[str, TaskSupport]) -> str:
    rows = []
    for task, result in results.items():
        for name, each in result.entropies.items():
            values = interval(each.base), interval(each.model), interval(each.difference, signed=True)
            rows.append([f"{task}: {ENTROPY_NAMES[name]}", *values])
    return table(["", *names, "difference"], rows)


def _listed(problems: Sequence[str], result: TaskSupport) -> str:
    """Names, and how many of their samples are right with each model."""
    listed = [f"{problem} ({result.right[problem][0]} → {result.right[problem][1]})" for problem in problems[:LISTED]]
    more = len(problems) - len(listed)
    return (", ".join(listed) or "none") + (f", and {more} more in support.json" if more else "")
