"""What runs are compared by, and how far it may be off by the choice of seeds."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from pacs.report.validation import smallest_and_largest

SEEDS = "95% interval of the mean over seeds (Student's t, n - 1 degrees of freedom)"
PROBLEMS = "95% interval over problems (bootstrap of the one run's evaluation); it says nothing of other seeds"
#: What the mean over tasks is called, before the tasks where runs do not have the same.
MEAN = "mean pass@1"
#: What the kinds of interval are, for results.json.
KINDS = {"seeds": SEEDS, "problems": PROBLEMS}


def over_seeds(values: Sequence[float]) -> dict[str, Any]:
    """Mean and 95% interval over the runs of a setting; of one run the interval is null.

    Args:
        values: of one measure, at least one.
    """
    mean, n = fmean(values), len(values)
    if n < 2:
        return {"n": n, "mean": mean, "low": None, "high": None, "interval": None}
    from scipy.stats import t  # slow to import

    half = float(t.ppf(0.975, n - 1)) * stdev(values) / math.sqrt(n)
    return {"n": n, "mean": mean, "low": mean - half, "high": mean + half, "interval": "seeds"}


def of_setting(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each measure that a finished run has -> its mean and interval over the finished runs of one setting."""
    finished = [run["measures"] for run in runs if run["state"] == "finished"]
    names = dict.fromkeys(name for measures in finished for name in measures)
    found = {}
    for name in names:
        having = [measures[name] for measures in finished if name in measures]
        found[name] = over_seeds([one["mean"] for one in having])
        if len(having) == 1 and having[0]["low"] is not None:
            found[name] |= {"low": having[0]["low"], "high": having[0]["high"], "interval": "problems"}
    return found


def mean_of(evaluations: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """The mean over tasks that runs can be compared by: its name, and the tasks that each evaluated run has.

    Args:
        evaluations: of each run, by task; empty of a run that has none.
    """
    evaluated = [evaluation for evaluation in evaluations if evaluation]
    tasks = [task for task in (evaluated[0] if evaluated else ()) if all(task in each for each in evaluated)]
    alike = all(len(each) == len(tasks) for each in evaluated)
    return MEAN if alike else f"{MEAN} of {', '.join(tasks)}", tasks


def over_tasks(
    evaluation: Mapping[str, Mapping[str, Any]], mean: tuple[str, Sequence[str]]
) -> dict[str, dict[str, float | None]]:
    """The mean over tasks of one run, if it has all of several; arguments as of `of_run`."""
    name, common = mean
    together = [evaluation[task] for task in common if task in evaluation]
    if len(together) < 2 or not all("pass@1" in at for at in together):
        return {}
    return {name: _plain(fmean(at["pass@1"]["mean"] for at in together))}


def of_run_elsewhere(run: Mapping[str, Any], mean: tuple[str, Sequence[str]]) -> dict[str, dict[str, float | None]]:
    """The measures of a run as another results.json has it, but its mean over tasks by `mean_of` of all runs here."""
    others = {name: value for name, value in run["measures"].items() if name.split(" of ")[0] != MEAN}
    return over_tasks({task: about.get("pass_at", {}) for task, about in run["evaluation"].items()}, mean) | others


def of_run(
    evaluation: Mapping[str, Mapping[str, Any]],
    validation: Mapping[str, Mapping[str, float]],
    training: float | None,
    mean: tuple[str, Sequence[str]],
) -> dict[str, dict[str, float | None]]:
    """The measures of one run: name -> mean, and its interval over problems where it has one.

    Args:
        evaluation: task -> "pass@k" -> mean, low, high; ascending in k.
        validation: source -> "pass@k" -> the value at the end, where there is one; ascending in k.
        training: share of right answers in the last step, if it is known.
        mean: the name of the mean over tasks, and the tasks, by `mean_of`.

    Returns:
        What matters most first. Of several k the smallest and the largest.
    """
    measures = over_tasks(evaluation, mean)
    for task, at in evaluation.items():
        measures |= {f"{task} {k}": dict(at[k]) for k in smallest_and_largest(at)}
    for source, values in validation.items():
        if values:
            measures |= {f"{source} {k}, validation": _plain(values[k]) for k in smallest_and_largest(values)}
    if training is not None:
        measures["training, last step"] = _plain(training)
    return measures


def _plain(value: float) -> dict[str, float | None]:
    return {"mean": value, "low": None, "high": None}
