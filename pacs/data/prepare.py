"""From a source to a folder of problems: read, filter, verify, write."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import datasets
import transformers
from tqdm import tqdm

import pacs
from pacs.base.errors import UserError
from pacs.data.asking import without_asking
from pacs.data.chat_template import Template
from pacs.data.filters import Duplicates, EvaluationSet, Overlap, form_of_mathematics, read_overlap
from pacs.data.load import hub_revision, source_rows
from pacs.data.output import MARK, Output, settings_sha256
from pacs.data.problem import Dropped, Problem, Row, prompt
from pacs.data.request import Request
from pacs.data.sources import ABILITIES
from pacs.data.tally import Tally, shown
from pacs.data.verify import gold_problems
from pacs.rewards.math import PLACEHOLDER, SENTENCE, is_placeholder

#: What is in memory at a time, and a row group of the file.
BATCH_ROWS = 1000
BATCH_CHARS = 32_000_000
#: What the verifier of mathematics says of a gold answer -> the reason for which it is dropped.
REASONS = {PLACEHOLDER: "placeholder", SENTENCE: "a sentence"}


def prepare(request: Request, evaluation: Sequence[EvaluationSet]) -> dict[str, Any]:
    """Prepare the problems; with any error nothing is left behind.

    Args:
        request: what is asked for.
        evaluation: sets to keep a training set apart from.

    Returns:
        The manifest.

    Raises:
        UserError: If the source cannot be read, or nothing of it is left.
        OSError: If the folder cannot be written.
    """
    with Output(request.out, request.split) as output:
        revision = (request.revision if request.local else None) or hub_revision(request.source, request.revision)
        template = Template(request.model, request.thinking) if request.model else None
        overlap = read_overlap(evaluation, request.instruction)
        tally = Tally()
        for batch in _batches(_problems(request, revision, overlap, tally)):
            output.write(_finish(batch, request, revision, template, tally))
        if not tally.kept:
            lines = [f"{request.given}: nothing is left of {tally.rows_in:,} rows ({tally.reasons()})"]
            raise UserError(
                "\n    ".join([*lines, *(line for each in tally.examples.values() for line in shown(each))])
            )
        manifest = _manifest(request, revision, evaluation, tally)
        output.publish(manifest)
    return manifest


def _problems(request: Request, revision: str, overlap: Overlap, tally: Tally) -> Iterator[Problem]:
    """Those that the row alone, and the questions before it, do not rule out."""
    duplicates = Duplicates(form_of_mathematics if request.source.verifier == "math" else str)
    rows = source_rows(request.source, revision, request.local)
    progress = tqdm(rows, desc=request.source.name, total=request.source.rows, unit=" rows", disable=None)
    for place, row in enumerate(progress):
        if place == 0:
            _check_columns(request, row)
        tally.rows_in += 1
        try:
            problem = request.source.read(row, str(place))
        except Dropped as reason:
            tally.drop(str(reason), id=str(place), row=dict(row))
            continue
        if request.instruction and problem.content is None:
            bare = without_asking(problem.question)
            tally.asked += bare != problem.question
            problem = replace(problem, question=bare)
        if request.source.verifier == "math" and is_placeholder(problem.gold):
            # Here already, since a copy of it may have the answer.
            tally.drop_problem(REASONS[PLACEHOLDER], problem, why=PLACEHOLDER)
            continue
        try:
            if not problem.question:
                raise Dropped("empty question")
            if request.source.training:
                duplicates.check(problem)
                overlap.check(problem)
        except Dropped as reason:
            tally.drop_problem(str(reason), problem)
            continue
        yield problem


def _check_columns(request: Request, row: Row) -> None:
    columns = request.source.read.required
    missing = [column for column in columns if column not in row and column.partition(".")[0] not in row]
    if missing:
        hint = ": name the columns with --question-column and the like, or places in them, as prompt.0.content"
        hint = hint if "columns" in request.options else ""
        raise UserError(f"{request.given} has no column {', '.join(missing)}; it has {', '.join(row)}{hint}")


def _batches(problems: Iterator[Problem]) -> Iterator[list[Problem]]:
    batch: list[Problem] = []
    chars = 0
    for problem in problems:
        batch.append(problem)
        chars += len(problem.question) + len(problem.gold)
        if len(batch) == BATCH_ROWS or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _finish(
    batch: list[Problem], request: Request, revision: str, template: Template | None, tally: Tally
) -> list[dict[str, Any]]:
    """The rows of the problems whose prompts are short enough and whose answers the verifier takes."""
    prompts = [prompt(problem, request.instruction, request.system) for problem in batch]
    if template is None:
        lengths = [sum(len(message["content"]) for message in messages) for messages in prompts]
        fitting = list(range(len(batch)))
    else:
        lengths = template.lengths(prompts)
        fitting = [i for i, length in enumerate(lengths) if length <= request.max_prompt_length]
        for i in sorted(set(range(len(batch))) - set(fitting)):
            tally.drop_problem("overlong", batch[i], tokens=str(lengths[i]))
    problems = gold_problems([batch[i].gold for i in fitting], request.source.verifier)
    rows = []
    for i, problem in zip(fitting, problems, strict=True):
        if problem is None:
            rows.append(_row(batch[i], prompts[i], request, revision, index=tally.kept))
            tally.keep(lengths[i])
        else:
            tally.drop_problem(REASONS.get(problem, "unverifiable"), batch[i], why=problem)
    return rows


def _row(
    problem: Problem, messages: list[dict[str, str]], request: Request, revision: str, index: int
) -> dict[str, Any]:
    return {
        "data_source": request.source.name,
        "prompt": messages,
        "ability": ABILITIES.get(request.source.verifier, "general"),
        "reward_model": {"style": "rule", "ground_truth": problem.gold},
        "extra_info": {
            "index": index,
            "split": request.split,
            "id": problem.id,
            "source": request.source.repo,
            "revision": revision,
            "difficulty": problem.difficulty,
            "verifier": request.source.verifier,
            "choices": problem.choices,
        },
    }


def _manifest(request: Request, revision: str, evaluation: Sequence[EvaluationSet], tally: Tally) -> dict[str, Any]:
    settings = request.settings(evaluation)
    return {
        "source": request.source.name,
        "repo": request.source.repo,
        "revision": revision,
        "split": request.split,
        "settings": settings,
        MARK: settings_sha256(settings),
        "versions": {
            "pacs": pacs.__version__,
            "datasets": datasets.__version__,
            "transformers": transformers.__version__,
        },
        "rows_in": tally.rows_in,
        "kept": tally.kept,
        "instructions_taken_off": tally.asked,
        "dropped": dict(tally.dropped.most_common()),
        "dropped_examples": tally.examples,
        "overlong": f"measured by {request.model}" if request.model else "not measured: no --model was given",
        "prompt_length": {
            "unit": "tokens, with the chat template" if request.model else "characters, without the chat template",
            "histogram": tally.histogram(),
        },
    }
