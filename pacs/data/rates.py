"""Pass rates of a file's problems under a model: `train.rates.jsonl`, beside `train.parquet`.

The first line says what they are of and how they were sampled, each other line is a problem's.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import read_lines, to_line, write_atomically

SUFFIX = ".rates.jsonl"
#: Of a group, in what is said of a file.
GROUP = 8


@dataclass(frozen=True)
class Rate:
    """How often a problem was solved.

    Attributes:
        key: `problem_key`.
        id: the problem's, for its reader.
        correct: samples that were right.
        samples: of it.
    """

    key: str
    id: str
    correct: int
    samples: int


@dataclass(frozen=True)
class Rates:
    """The rates of a file's problems, in its order.

    Attributes:
        data_sha256: of the file.
        model: as the command named it.
        model_sha256: of its files' contents.
        sampling: its settings.
        verifiers: with what settings they graded.
        made_by: versions, and the commit.
        problems: a rate each.
    """

    data_sha256: str
    model: str
    model_sha256: str
    sampling: Mapping[str, Any]
    verifiers: Mapping[str, Any]
    made_by: Mapping[str, Any]
    problems: list[Rate]


def rates_file(data: Path) -> Path:
    """Where the rates of a data file's problems are."""
    return data.with_name(data.name.removesuffix(".parquet") + SUFFIX)


def problem_key(messages: Iterable[Mapping[str, Any]], ground_truth: Any) -> str:
    """What a problem is known by, in whatever order and beside whatever other ones it is read."""
    said = [[str(message["role"]), _text(message["content"])] for message in messages]
    return hashlib.sha256(json.dumps([said, _text(ground_truth)]).encode()).hexdigest()[:32]


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def write_rates(file: Path, rates: Rates) -> None:
    """Write them, as a whole or not at all."""
    about = {name: value for name, value in vars(rates).items() if name != "problems"}
    write_atomically(file, to_line(about) + "".join(to_line(asdict(rate)) for rate in rates.problems))


def read_rates(file: Path) -> Rates:
    """Those of a file.

    Raises:
        UserError: It is not there, or not as `write_rates` writes it.
    """
    if not file.is_file():
        raise UserError(f"{file}: no such file")
    lines = list(read_lines(file, dict, "write it again by `pacs data rate`"))
    try:
        rates = Rates(**lines[0], problems=[Rate(**line) for line in lines[1:]])
        if any(not 0 <= rate.correct <= rate.samples for rate in rates.problems):
            raise ValueError("a problem was solved more often than it was sampled")
        return rates
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(f"{file} is not what `pacs data rate` writes ({error}): write it again") from error


def summary(rates: Sequence[Rate]) -> str:
    """How the pass rates are spread, and which share of groups of 8 responses would be mixed.

    Args:
        rates: at least one.
    """
    shares = [rate.correct / rate.samples for rate in rates]
    ends = (("never right", 0, 0), ("up to 1/4", 0, 0.25), ("up to 1/2", 0.25, 0.5), ("up to 3/4", 0.5, 0.75))
    counts = [(name, sum(low < share <= high or share == low == high for share in shares)) for name, low, high in ends]
    always = sum(share == 1 for share in shares)
    counts += [("above", len(shares) - always - sum(count for _, count in counts)), ("always right", always)]
    spread = ", ".join(f"{name} {count / len(shares):.1%}" for name, count in counts)
    said = f"{len(shares):,} problems, pass rate {sum(shares) / len(shares):.3f} in the mean: {spread}"
    if min(rate.samples for rate in rates) < GROUP:
        return said
    return f"{said}. Of groups of {GROUP} responses {_mixed(rates):.1%} would be mixed, were all drawn alike"


def _mixed(rates: Sequence[Rate]) -> float:
    """The mean over problems of the share of all choices of a group from the samples that have right and wrong ones."""
    alike = [
        (comb(rate.correct, GROUP) + comb(rate.samples - rate.correct, GROUP)) / comb(rate.samples, GROUP)
        for rate in rates
    ]
    return 1 - sum(alike) / len(alike)
