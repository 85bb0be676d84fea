"""results.md: an evaluation in the layout of the paper's tables, and all that decided it."""

from collections.abc import Mapping, Sequence
from typing import Any

from pacs.base.markdown import interval, number, percent, table
from pacs.base.settings import flatten
from pacs.base.terminal import visible
from pacs.evaluation.grading import sentences
from pacs.evaluation.summary import TaskResult

EXPLANATION = """\
In percent, with the 95% interval of the bootstrap over problems. pass@k is the unbiased estimate from all samples of a
problem; maj@k the probability that the majority of k of them is right (ties shared, no vote without an answer)."""


def results_page(settings: Mapping[str, Any], results: Sequence[TaskResult], date: str) -> str:
    """The page as Markdown, with a newline at its end.

    Args:
        settings: as `write_results` takes them.
        results: of each task.
        date: of the page.
    """
    name = settings["model"]["name"]
    mean = sum(result.accuracy.mean for result in results) / len(results)
    parts = [
        f"# Evaluation of {name}",
        f"{date}. {EXPLANATION}",
        "## pass@1",
        table(
            ["", *(result.task for result in results), "mean"],
            [[name, *(percent(result.accuracy.mean) for result in results), percent(mean)]],
        ),
        "## pass@k",
        _by_k("pass", results),
    ]
    if any(result.maj_at for result in results):
        parts += ["## maj@k", _by_k("maj", results)]
    parts += [
        "## Samples",
        _samples(results),
        sentences(settings.get("grading")),
        "Statuses are the verifier's; *truncated* is cut off at the limit of tokens, with an answer or without. "
        "Tokens are the mean of a response; tokens a second those generated.",
        "## Settings",
        table(["setting", "value"], [[key, str(value)] for key, value in flatten(settings).items()]),
    ]
    return visible("\n\n".join(parts)) + "\n"


def _by_k(what: str, results: Sequence[TaskResult]) -> str:
    at = {result.task: result.pass_at if what == "pass" else result.maj_at for result in results}
    ks = sorted({k for values in at.values() for k in values})
    return table(
        ["", "problems", "samples", *(f"{what}@{k}" for k in ks)],
        [
            [result.task, str(len(result.problems)), str(result.samples)]
            + [interval(at[result.task].get(k)) for k in ks]
            for result in results
        ],
    )


def _samples(results: Sequence[TaskResult]) -> str:
    statuses = list(results[0].statuses)
    names = ["truncated", *statuses, "tokens", "of right", "of wrong", "seconds", "tokens/s"]
    rows = []
    for result in results:
        lengths = (result.mean_tokens, result.mean_tokens_right, result.mean_tokens_wrong)
        shares = [percent(result.truncated), *(percent(result.statuses.get(status, 0.0)) for status in statuses)]
        rows.append([result.task, *shares, *map(number, (*lengths, result.seconds, result.tokens_per_second))])
    return table(["", *(name.replace("_", " ") for name in names)], rows)
