"""Tables of results in documents of the project: between two marks, from the records alone.

    <!-- laboratory: methods grpo maxrl pacs_authors -->
    ...
    <!-- end of laboratory -->

names a question and, after it, arms of it in their order; without any, all of them.
"""

import re
from pathlib import Path
from statistics import fmean

from pacs.base.errors import UserError, did_you_mean
from pacs.base.files import write_atomically
from pacs.base.markdown import ABSENT, table
from recipes.laboratory import questions, tables
from recipes.laboratory.compared import Comparison, compare
from recipes.laboratory.differences import compares
from recipes.laboratory.digests import ROOT
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records

#: The documents that have such tables.
DOCUMENTS = (Path("docs/choosing.md"), Path("recipes/arithmetic/README.md"), Path("recipes/laboratory/README.md"))
MARKED = re.compile(r"(<!-- laboratory: (?P<words>[\w. ]+) -->\n).*?(\n<!-- end of laboratory -->)", re.DOTALL)
#: A difference from the first arm that an arm is compared with is marked where its p-value, corrected for its page, is
#: below this.
CLEAR = 0.05
BETTER, WORSE = "▲", "▼"


def rewrite(records: Records, root: Path = ROOT) -> list[Path]:
    """Write the tables of all documents anew; returns the documents.

    Raises:
        UserError: a mark names a question or an arm that does not exist.
    """
    texts = {root / document: rewritten((root / document).read_text(), records) for document in DOCUMENTS}
    for file, text in texts.items():
        write_atomically(file, text)
    return list(texts)


def rewritten(text: str, records: Records) -> str:
    """A document with its tables written anew."""
    return MARKED.sub(lambda found: f"{found[1]}\n{_of_mark(found['words'].split(), records)}\n{found[3]}", text)


def _of_mark(words: list[str], records: Records) -> str:
    question, arms = questions.read(words[0]), words[1:]
    for arm in arms:
        if arm not in question.arms:
            raise UserError(
                f"<!-- laboratory: {' '.join(words)} -->: {question.name} has no arm {arm}."
                f"{did_you_mean(arm, question.arms)}"
            )
    return summary(question, arms or list(question.arms), records)


def summary(question: Question, arms: list[str], records: Records) -> str:
    """Where arms ended on each task whose runs are complete, as a table."""
    every = [compare(question, task, records) for task in question.tasks]
    # Of a task whose runs are not complete nothing is concluded yet.
    compared = [each for each in every if not each.missing and {arm.name for arm in each.with_runs} & {*arms}]
    heads, columns = [], []
    for comparison in compared:
        seeds = sorted({len(arm.runs) for arm in comparison.with_runs if arm.name in arms})
        of = f"{comparison.task}, {' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))} seeds"
        for name, cells in _columns(comparison, arms).items():
            heads.append(f"{name} ({of})")
            columns.append(cells)
            of = comparison.task
    rows = [[arm, *(column.get(arm, ABSENT) for column in columns)] for arm in arms]
    return table(["arm", *heads], rows)


def _columns(comparison: Comparison, arms: list[str]) -> dict[str, dict[str, str]]:
    """Head -> arm -> its mean and half of its interval, marked where it is clearly another than what it is beside."""
    question, bar = comparison.question, comparison.question.bar
    clear = {
        (one.ours.name, f"pass@{one.k}"): BETTER if one.found.mean > 0 else WORSE
        for one in compares(comparison)
        if one.base.name == question.first_against(one.ours.name) and one.p is not None and one.p < CLEAR
    }
    measures = comparison.shown if bar is None else [bar[0], "pass@1"]
    finals = {arm.name: arm.finals for arm in comparison.with_runs}
    columns = {
        measure: {
            name: f"{tables.plus_minus(list(found[measure].values()))} {clear.get((name, measure), '')}".rstrip()
            for name, found in finals.items()
        }
        for measure in measures
    }
    spent = {name: fmean(found["rollouts"].values()) for name, found in finals.items()}
    if len({spent[name] for name in arms if name in spent}) > 1:  # what is not at equal rollouts is not to look so
        columns["rollouts"] = {name: f"{mean:,.0f}" for name, mean in spent.items()}
    if bar is not None:
        measure, least = bar
        columns[f"{measure} at least {least:g}"] = {
            arm.name: f"{sum(value >= least for value in finals[arm.name][measure].values())} of {arm.ended}"
            for arm in comparison.with_runs
        }
        columns[f"lowest {measure}"] = {name: f"{min(found[measure].values()):.3f}" for name, found in finals.items()}
    return columns
