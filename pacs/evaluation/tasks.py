"""Which problems are sampled, how often, and where they come from."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError, did_you_mean
from pacs.base.terminal import print
from pacs.data.request import plain_request
from pacs.data.schema import schema_problems
from pacs.data.sources import SOURCES
from pacs.evaluation.sample import Problem

#: Of a prepared source.
FILE = "test.parquet"
COLUMNS = ("data_source", "prompt", "reward_model", "extra_info")
#: What verl's rows may have beside their text, by its names.
BESIDE_TEXT = ("images", "videos", "audios")
#: The paper's (Sec. 4.1, Table 2).
SAMPLES = 128
KS = (1, 4, 8, 16, 32, 64)
#: The tasks that have a name: the sources of `pacs data list` that are not for training.
NAMES = tuple(dict.fromkeys(source.name for source in SOURCES if not source.training))


@dataclass(frozen=True)
class Task:
    """A task that is asked for.

    Attributes:
        name: of a source, or given with a file.
        file: parquet in verl's schema; of a source, where `pacs data prepare` puts it.
        samples: of each problem.
        ks: of pass@k.
    """

    name: str
    file: Path
    samples: int
    ks: tuple[int, ...]


def parse_tasks(given: str, data: Path, samples: Sequence[str], ks: Sequence[str]) -> list[Task]:
    """What --tasks, --data, --samples and --k ask for.

    Args:
        given: names and NAME=FILE, with commas between them.
        data: folder with a folder of each source.
        samples: `128`, `math500=16`.
        ks: `1,4,8`, `math500=1,4`.

    Raises:
        UserError: If they name no task, or a k is larger than the task's number of samples.
    """
    files = dict(_name_and_file(word.strip(), data) for word in given.split(","))
    if len(files) < len(given.split(",")):
        raise UserError(f"--tasks {given}: a task is named twice")
    counts, lists = _by_task("--samples", samples, files), _by_task("--k", ks, files)
    tasks = []
    for name, file in files.items():
        number = counts.get(name) or counts.get("") or [SAMPLES]
        if len(number) > 1:
            raise UserError(f"--samples {','.join(map(str, number))}: give one number")
        wanted = lists.get(name) or lists.get("")
        if wanted and max(wanted) > number[0]:
            raise UserError(
                f"--k {max(wanted)} of {name} needs as many samples a problem, and it has {number[0]}: raise "
                f"--samples {name}={max(wanted)}, or leave that k out"
            )
        kept = wanted or [k for k in KS if k <= number[0]]
        tasks.append(Task(name, file, number[0], tuple(sorted(set(kept)))))
    return tasks


def prepare_missing(tasks: Sequence[Task], data: Path) -> None:
    """Prepare the sources whose files are not there, as `pacs data prepare NAME --out DATA/NAME` does.

    Raises:
        UserError: If a file that was given is not there, or a source cannot be prepared.
    """
    for task in tasks:
        if task.file.is_file():
            continue
        if task.file != data / task.name / FILE:
            raise UserError(f"--tasks {task.name}={task.file}: no such file")
        command = f"pacs data prepare {task.name} --out {data / task.name}"
        print(f"{task.file} is not there: {command}", flush=True)
        _prepare(task.name, data / task.name, command)


def _prepare(name: str, folder: Path, command: str) -> None:
    # Imported late: `datasets` takes seconds.
    from pacs.data.prepare import prepare

    try:
        manifest = prepare(plain_request(name, folder), [])
    except UserError as error:
        raise UserError(f"{command}: {error}") from error
    print(f"{manifest['kept']:,} of {manifest['rows_in']:,} problems of {name} prepared", flush=True)


def _name_and_file(word: str, data: Path) -> tuple[str, Path]:
    name, equals, file = word.partition("=")
    if equals:
        if not re.fullmatch(r"\w[\w.-]*", name) or not file:
            raise UserError(f"--tasks {word}: give NAME=FILE with a name of letters, digits, dots and dashes")
        return name, Path(file)
    if name not in NAMES:
        hint = did_you_mean(name, NAMES, count=3, cutoff=0.4)
        raise UserError(f"--tasks {name}: no such task.{hint} There are {', '.join(NAMES)}, and NAME=FILE.parquet")
    return name, data / name / FILE


def _by_task(option: str, values: Sequence[str], files: dict[str, Path]) -> dict[str, list[int]]:
    """The numbers for one task by its name, and those for all others by an empty one, as far as they were given."""
    by_task: dict[str, list[int]] = {}
    for value in values:
        task, equals, text = value.rpartition("=")
        if equals and task not in files:
            raise UserError(f"{option} {value}: {task} is not among --tasks {','.join(files)}")
        try:
            numbers = [int(word) for word in text.split(",")]
        except ValueError:
            numbers = []
        if not numbers or min(numbers) < 1:
            raise UserError(f"{option} {value}: give whole numbers above 0, or TASK= and such numbers")
        by_task[task] = numbers
    return by_task


def load_problems(file: Path) -> list[Problem]:
    """The problems of a file; each is named by its `extra_info.id`, or, unless all have one of their own, by its row.

    Raises:
        UserError: If it is not in verl's schema, has no rows, a problem has no prompt or no right answer, asks for a
            verifier that does not exist, or has what is no text.
    """
    for problem in schema_problems(file):
        raise UserError(f"{file} {problem}")
    try:
        _check_text(file, pq.read_schema(file))
        rows = pq.read_table(file, columns=list(COLUMNS)).to_pylist()
        names = [str((row["extra_info"] or {}).get("id")) for row in rows]
        if len(set(names)) < len(rows) or "None" in names:
            names = [str(number) for number in range(len(rows))]
        return [_problem(row, name) for row, name in zip(rows, names, strict=True)]
    except (pa.ArrowException, LookupError, TypeError, AttributeError, OSError) as error:
        raise UserError(f"{file} is not a parquet file in verl's schema: `pacs data prepare` makes one") from error


def _check_text(file: Path, schema: pa.Schema) -> None:
    """Raise UserError if messages or right answers are lists or structs, or there are pictures beside the prompts."""
    messages, reward = schema.field("prompt").type.value_type, schema.field("reward_model").type
    places = {
        "prompt's content": messages.field("content"),
        "reward_model's ground_truth": reward.field("ground_truth"),
    }
    for place, column in places.items():
        if pa.types.is_nested(column.type):
            raise UserError(
                f"{file} has {column.type} in its {place}: evaluations take text alone, so write it as text"
            )
    if beside := [name for name in BESIDE_TEXT if name in schema.names]:
        raise UserError(
            f"{file} has a column {beside[0]}: evaluations take text alone, and would not show the model any: "
            "leave out the rows that need it, and the column"
        )


def _problem(row: dict[str, Any], name: str) -> Problem:
    messages = [{"role": str(each["role"]), "content": _text(each["content"])} for each in row["prompt"]]
    gold = _text(row["reward_model"]["ground_truth"])
    # As the folder will have it, whose JSON knows neither dates nor bytes.
    extra_info = json.loads(json.dumps(row["extra_info"] or {}, default=str))
    return Problem(name, messages, str(row["data_source"]), gold, extra_info)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
