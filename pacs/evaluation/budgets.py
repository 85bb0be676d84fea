"""What a model would have scored with fewer tokens: its samples, cut at each of several budgets and graded again.

A response of a budget begins as one without does: each sample's first tokens are what the model writes until it is cut
off. Where the budget ends within the reasoning there is no answer, as in a run whose max_tokens it is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from pacs.base.errors import UserError, first_line, one_line
from pacs.base.files import write_json
from pacs.base.statistics import Estimate, estimate
from pacs.evaluation.compare import check_same_problems, common_tasks, folder_notes
from pacs.evaluation.folder import read_task
from pacs.evaluation.grade import grade_all
from pacs.evaluation.sample import GradedTask, Sample
from pacs.evaluation.settings import read_settings
from pacs.evaluation.summary import summarize
from pacs.rewards.reasoning import UNENDED

JSON = "budgets.json"
#: Of a text and so many of its sample's tokens: the text of these.
Cut = Callable[[Sample, int], str]


@dataclass(frozen=True)
class AtBudget:
    """A task within a budget.

    Attributes:
        accuracy: pass@1.
        cut: share of samples that are cut off, those among them that the evaluation itself had cut off.
        tokens: of a response in the mean, cut ones with the budget.
        difference: pass@1 less that of the first evaluation, by the same draws of problems; None of the first.
    """

    accuracy: Estimate
    cut: float
    tokens: float
    difference: Estimate | None = None


@dataclass(frozen=True)
class Budgets:
    """Evaluations within budgets.

    Attributes:
        curves: task -> label of an evaluation -> budget -> what it comes to.
        problems: of each task.
        notes: what makes a comparison of the evaluations doubtful.
    """

    curves: dict[str, dict[str, dict[int, AtBudget]]]
    problems: dict[str, int]
    notes: list[str]


_JSON = TypeAdapter(Budgets)


def write(file: Path, budgets: Budgets) -> None:
    """As JSON; shares from 0 to 1."""
    write_json(file, _JSON.dump_python(budgets, mode="json"))


def read(folder: Path) -> Budgets:
    """What `pacs evaluate budgets` wrote to a folder.

    Raises:
        UserError: that folder has none.
    """
    file, mend = folder / JSON, "give the --out folder of `pacs evaluate budgets`"
    try:
        budgets = _JSON.validate_json(file.read_bytes())
        if not budgets.curves or not all(budgets.curves.values()) or budgets.curves.keys() != budgets.problems.keys():
            raise ValueError("it has no curves")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{folder} has no {JSON}: {mend}") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error)}): {mend}") from error
    return budgets


def budget_curves(folders: dict[str, Path], budgets: Sequence[int], tokenizer: Path | None = None) -> Budgets:
    """Cut and grade the samples of the tasks that all evaluations have.

    Args:
        folders: of the evaluations, by their labels.
        budgets: tokens of a response, ascending; each at most the smallest `--max-tokens` of the evaluations.
        tokenizer: of all models; None: each evaluation's model has it.

    Raises:
        UserError: an evaluation that is not complete, has other problems than the first, or whose tokenizer is gone; a
            budget that no response may have.
    """
    tasks = common_tasks({label: list(read_settings(folder).tasks) for label, folder in folders.items()})
    for label, folder in folders.items():
        limit = read_settings(folder).sampling.max_tokens
        if budgets[-1] > limit:
            raise UserError(
                f"--budgets {budgets[-1]}: the responses of {label} were cut off at --max-tokens {limit}; give no "
                "budget above that"
            )
    cuts = {label: cut_of(tokenizer or Path(read_settings(folder).model.folder)) for label, folder in folders.items()}
    curves = {task: _of_task(task, folders, cuts, budgets) for task in tasks}
    first = read_settings(next(iter(folders.values())))
    problems = {task: first.tasks[task].problems for task in tasks}
    return Budgets(curves, problems, folder_notes(folders) if len(folders) > 1 else [])


def _of_task(
    task: str, folders: dict[str, Path], cuts: dict[str, Cut], budgets: Sequence[int]
) -> dict[str, dict[int, AtBudget]]:
    graded = {label: read_task(folder, task) for label, folder in folders.items()}
    counts = {label: summarize(some, [1]).problems for label, some in graded.items()}
    check_same_problems(task, {label: {c.id: c.gold for c in some} for label, some in counts.items()})
    order = [count.id for count in next(iter(counts.values()))]
    found: dict[str, dict[int, AtBudget]] = {label: {} for label in folders}
    for budget in budgets:
        first: NDArray[np.float64] | None = None
        for label, some in graded.items():
            verifiers = read_settings(folders[label]).verifiers
            right = rights(some, budget, cuts[label], f"{label}, {task}, {budget:,} tokens", verifiers)
            values = np.array([right[problem] for problem in order])
            drawn = [graded.sample for samples in some.samples.values() for graded in samples]
            lengths, truncated = np.array([[sample.tokens, sample.truncated] for sample in drawn]).T
            found[label][budget] = AtBudget(
                accuracy=estimate(values),
                cut=float(((lengths > budget) | (truncated > 0)).mean()),
                tokens=float(np.minimum(lengths, budget).mean()),
                difference=None if first is None else estimate(values - first),
            )
            first = values if first is None else first
    return found


def rights(task: GradedTask, budget: int, cut: Cut, said: str, verifiers: Any) -> dict[str, float]:
    """The share of right samples of each problem within a budget; samples that are not cut keep their grades."""
    kept = {problem.id: [g for g in task.samples[problem.id] if g.sample.tokens <= budget] for problem in task.problems}

    def shortened() -> Iterator[Sample]:
        for samples in task.samples.values():
            for graded in samples:
                if graded.sample.tokens > budget:
                    yield within(graded.sample, budget, cut)

    right = {problem: sum(g.status == "correct" for g in some) for problem, some in kept.items()}
    if any(len(kept[problem]) < len(some) for problem, some in task.samples.items()):
        for grade in grade_all(said, task.problems, shortened(), verifiers):
            right[grade.problem] += grade.status == "correct"
    return {problem: number / len(task.samples[problem]) for problem, number in right.items()}


def within(sample: Sample, budget: int, cut: Cut) -> Sample:
    """The sample as it is when its tokens end: cut off, and without an answer that begins later."""
    text, begins = cut(sample, budget), sample.answer_begins
    if begins is not None and begins > len(text):
        begins = UNENDED
    return replace(sample, response=text, tokens=budget, truncated=True, answer_begins=begins)


def cut_of(folder: Path) -> Cut:
    """What cuts texts by a model's tokenizer.

    A response is stored as text, whose tokens are not always those that were sampled: where their numbers differ, the
    same share of them is kept.

    Raises:
        UserError: there is no tokenizer.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{folder} has no tokenizer any more ({first_line(error)}): name the model's folder by --tokenizer"
        ) from error

    def cut(sample: Sample, budget: int) -> str:
        written = sample.tokens - (0 if sample.truncated else 1)  # without the token that ends it
        encoded = tokenizer(
            sample.response, add_special_tokens=False, verbose=False, return_offsets_mapping=tokenizer.is_fast
        )
        ids = encoded["input_ids"]
        number = min(len(ids), round(budget * len(ids) / max(1, written)))
        if not tokenizer.is_fast:
            text: str = tokenizer.decode(ids[:number])
            return text
        return sample.response[: encoded["offset_mapping"][number - 1][1]] if number else ""

    return cut
