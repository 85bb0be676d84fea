"""metrics.jsonl, read by whoever reads it: a flat JSON object a line, a line a step.

A line may be damaged: the last one of a run that was killed was not written to its end, and a disk may give zeros. Such
a line is passed over and named; the others say what they say.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pacs.base.files import to_line, write_atomically


class Line(NamedTuple):
    """One line that is not blank.

    Attributes:
        number: from 1.
        raw: without its line break.
        step: None of a damaged line.
        values: metric -> value, NaN where the line says null; what is no number is left out.
        damage: why it is no step's metrics, or None.
    """

    number: int
    raw: bytes
    step: int | None
    values: dict[str, float]
    damage: str | None


def read_lines(file: Path) -> list[Line]:
    """The lines of metrics.jsonl, the damaged ones among them.

    Raises:
        OSError: It cannot be read.
    """
    lines = enumerate(file.read_bytes().split(b"\n"), start=1)
    return [parse_line(raw, number) for number, raw in lines if raw.strip()]


def parse_line(raw: bytes, number: int = 0) -> Line:
    """One line, without its line break."""
    try:
        record = json.loads(raw.decode())  # of bytes json guesses the encoding
        step, values = _step_and_values(record)
    except (ValueError, OverflowError, RecursionError) as error:
        return Line(number, raw, None, {}, " ".join(str(error).split()))
    return Line(number, raw, step, values, None)


def _step_and_values(record: Any) -> tuple[int, dict[str, float]]:
    if not isinstance(record, dict):
        raise ValueError(f"not a JSON object but a {type(record).__name__}")
    step = record.get("step")
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise ValueError(f'"step" must be a whole number from 0, found {step!r}')
    values = {
        key: math.nan if value is None else float(value)
        for key, value in record.items()
        if key != "step" and (value is None or isinstance(value, int | float))
    }
    return step, values


def go_on_after(file: Path, step: int, metrics: Mapping[str, float] | None) -> None:
    """Make metrics.jsonl that of a run that goes on after `step`: without later lines, and with the line of that step.

    Damaged lines up to there stay, since they may be all that is left of something.

    Args:
        file: metrics.jsonl; nothing is done where there is none.
        step: the last one that is not taken again; 0: none.
        metrics: of that step, for a run that was killed before it had written the step's line; None: of a new run,
            or of a checkpoint that does not say.

    Raises:
        OSError: It cannot be read or written.
    """
    if not file.exists():
        return
    lines = read_lines(file) if step > 0 else []
    if lines and lines[-1].step is None:
        lines.pop()  # a run that was killed did not write it to its end
    kept = [number + 1 for number, line in enumerate(lines) if line.step is not None and line.step <= step]
    later = [number for number, line in enumerate(lines) if line.step is not None and line.step > step]
    end = max([*kept[-1:], *(later[:1] or [len(lines)])])
    lines = [line for line in lines[:end] if line.step is None or line.step <= step]
    content = b"".join(line.raw + b"\n" for line in lines)
    if metrics is not None and step not in [line.step for line in lines]:
        content += to_line({"step": step, **metrics}).encode()
    write_atomically(file, content)
