"""How many responses rows of the data ask for themselves, by verl's column `__rollout_n__`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from omegaconf import DictConfig

from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import method, responses_per_prompt

COLUMN: Final = "__rollout_n__"


@spelled
def number_problems(config: DictConfig, train_files: Sequence[Path]) -> Iterator[str]:
    """Numbers that the trainer would refuse in the step that comes to them; a sentence for each file.

    A group may have fewer responses than the others, not more: blocks of rows are made for the largest. Completions
    that are trained on, and DARS's further responses, are numbered from @rollout.n on, and told from others by that.
    """
    if method(config) != "pacs":
        return
    most = responses_per_prompt(config)
    for file in train_files:
        if COLUMN not in pq.read_schema(file).names:
            continue
        numbers = pq.read_table(file, columns=[COLUMN])[0]
        if not pa.types.is_integer(numbers.type) or numbers.null_count or pc.min(numbers).as_py() < 1:
            yield (
                f"data.train_files={file}: {COLUMN}, by which a row says how many responses it gets, is not a whole "
                "number of at least 1 in every row: write it anew, or leave that column out."
            )
        elif (largest := pc.max(numbers).as_py()) > most:
            yield (
                f"data.train_files={file}: {COLUMN} asks for {largest} responses to a prompt, and a group begins with "
                "no more than @rollout.n=: raise that, or lower the numbers."
            )
