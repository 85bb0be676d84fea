"""A task's problems, from parquet in verl's schema."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError
from pacs.evaluation.sample import Problem
from pacs.rewards.registry import DEFAULT, VERIFIERS

COLUMNS = ("data_source", "prompt", "reward_model", "extra_info")


def load_problems(file: Path) -> list[Problem]:
    """The problems of a file; each is named by its `extra_info.id`, or, unless all have one of their own, by its row.

    Raises:
        UserError: If it is not in verl's schema, has no rows, a problem has no prompt or no right answer, or asks
            for a verifier that does not exist.
    """
    try:
        rows = pq.read_table(file, columns=list(COLUMNS)).to_pylist()
        names = [str((row["extra_info"] or {}).get("id")) for row in rows]
        if len(set(names)) < len(rows) or "None" in names:
            names = [str(number) for number in range(len(rows))]
        problems = [_problem(row, name) for row, name in zip(rows, names, strict=True)]
    except (pa.ArrowException, LookupError, TypeError, AttributeError, OSError) as error:
        raise UserError(f"{file} is not a parquet file in verl's schema: `pacs data prepare` makes one") from error
    if not problems:
        raise UserError(f"{file} has no problems")
    for problem in problems:
        if not any(message["content"].strip() for message in problem.prompt):
            raise UserError(f"{file}: {problem.id} has no prompt: leave it out of the file")
        if not problem.ground_truth.strip():
            raise UserError(
                f"{file}: {problem.id} has no right answer (reward_model.ground_truth): leave it out of the file"
            )
        verifier = problem.extra_info.get("verifier") or DEFAULT
        if verifier not in VERIFIERS:
            raise UserError(f"{file}: {problem.id} names the verifier {verifier}; there are {', '.join(VERIFIERS)}")
    return problems


def _problem(row: dict[str, Any], name: str) -> Problem:
    messages = [{"role": str(each["role"]), "content": _text(each["content"])} for each in row["prompt"]]
    gold = _text(row["reward_model"]["ground_truth"])
    # As the folder will have it, whose JSON knows neither dates nor bytes.
    extra_info = json.loads(json.dumps(row["extra_info"] or {}, default=str))
    return Problem(name, messages, str(row["data_source"]), gold, extra_info)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
