"""The prepared evaluation sets that a training set is kept apart from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.data.filters import Overlap
from pacs.data.output import read_manifest

FILE = "test.parquet"


@dataclass(frozen=True)
class EvaluationSet:
    """A parquet file in verl's schema, and the hash of its bytes."""

    file: Path
    sha256: str

    @property
    def name(self) -> str:
        """Folder and file."""
        return f"{self.file.absolute().parent.name}/{self.file.name}"


def find_evaluation_sets(given: Sequence[Path], out: Path) -> list[EvaluationSet]:
    """The evaluation sets that are given, or else those that lie prepared in folders beside `out`.

    Args:
        given: parquet files, or folders with a `test.parquet`.
        out: folder of the training set.

    Raises:
        UserError: If one that is given is not there.
    """
    files = [path / FILE if path.is_dir() else path for path in given]
    for file in files:
        if not file.is_file():
            raise UserError(f"--evaluation {file}: no such file; prepare it first with `pacs data prepare`")
    if not given:
        beside = sorted(out.absolute().parent.glob(f"*/{FILE}"))
        files = [file for file in beside if file.parent != out.absolute() and read_manifest(file.parent)]
    return [EvaluationSet(file, file_sha256(file)) for file in files]


def read_overlap(sets: Sequence[EvaluationSet], instruction: str) -> Overlap:
    """Index the questions of evaluation sets.

    Args:
        sets: to be read.
        instruction: what ends the prompts of a file that has no manifest to say it.

    Raises:
        UserError: If one is not in verl's schema.
    """
    overlap = Overlap()
    for each in sets:
        manifest = read_manifest(each.file.parent)
        ending = "\n" + (manifest["settings"]["instruction"] if manifest else instruction)
        try:
            table = pq.read_table(each.file, columns=["data_source", "prompt"])
            for row in table.to_pylist():
                overlap.add(row["prompt"][-1]["content"].removesuffix(ending), str(row["data_source"]))
        except (pa.ArrowException, OSError, LookupError, TypeError, AttributeError) as error:
            raise UserError(
                f"--evaluation {each.file} is not a parquet file in verl's schema; `pacs data prepare` makes one"
            ) from error
    return overlap
