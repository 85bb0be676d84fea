"""How probable each right answer of a file is under a model without any reasoning: `train.baseline.jsonl`, beside
`train.parquet`.

The first line says of what data and by which model, each other line is a problem's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import read_lines, to_line, write_atomically

SUFFIX = ".baseline.jsonl"
_AGAIN = "write it again by `pacs data baseline`"


@dataclass(frozen=True)
class Baseline:
    """Of one problem.

    Attributes:
        key: `pacs.data.rates.problem_key`.
        id: the problem's, for its reader.
        probability: mean probability of its right answer's tokens behind the bare prompt.
    """

    key: str
    id: str
    probability: float


@dataclass(frozen=True)
class Baselines:
    """Those of a file's problems, in its order.

    Attributes:
        data_sha256: of the file.
        model: as the command named it.
        model_sha256: of its files' contents.
        opens: what opens an answer.
        thinking: given to the chat template.
        dtype: in which the model calculated.
        made_by: versions, and the commit.
        problems: a baseline each.
    """

    data_sha256: str
    model: str
    model_sha256: str
    opens: str
    thinking: bool
    dtype: str
    made_by: Mapping[str, Any]
    problems: list[Baseline]

    def about(self) -> dict[str, Any]:
        """All but the problems."""
        return {name: value for name, value in vars(self).items() if name != "problems"}


def baseline_file(data: Path) -> Path:
    """Where the baselines of a data file's problems are."""
    return data.with_name(data.name.removesuffix(".parquet") + SUFFIX)


def write_baselines(file: Path, baselines: Baselines) -> None:
    """Write them, as a whole or not at all."""
    write_atomically(file, to_line(baselines.about()) + "".join(to_line(asdict(each)) for each in baselines.problems))


def read_baseline_file(file: Path) -> Baselines:
    """Those of a file.

    Raises:
        UserError: It is not there, or not as `write_baselines` writes it.
    """
    if not file.is_file():
        raise UserError(f"{file}: no such file")
    lines = list(read_lines(file, dict, _AGAIN))
    try:
        baselines = Baselines(**lines[0], problems=[Baseline(**line) for line in lines[1:]])
        if any(not 0 <= each.probability <= 1 for each in baselines.problems):
            raise ValueError("a probability is not from 0 to 1")
        return baselines
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(f"{file} is not what `pacs data baseline` writes ({error}): {_AGAIN}") from error


def read_baselines(files: Sequence[Path]) -> dict[str, float]:
    """The probability by each problem's key, of those data files that have baselines beside them.

    Raises:
        UserError: One is not as `write_baselines` writes it.
    """
    there = [baseline_file(file) for file in files if baseline_file(file).is_file()]
    return {each.key: each.probability for file in there for each in read_baseline_file(file).problems}
