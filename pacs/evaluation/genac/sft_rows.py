"""Questions about states, a teacher's traces on them, and these as rows for an SFT."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.evaluation.genac.states import State
from pacs.evaluation.genac.teacher import Reply


@dataclass(frozen=True)
class Question:
    """A state of a task, and what the teacher is asked about it."""

    task: str
    state: State
    text: str

    @property
    def key(self) -> str:
        """Of it in the file of traces."""
        return f"{self.task}/{self.state.id}"


@dataclass(frozen=True)
class SftTrace:
    """What the teacher says of a state.

    Attributes:
        key: of the question.
        score: that it ends in; None where that cannot be read.
        reply: of the teacher; None where the server refused the question.
        refused: what the server said then.
    """

    key: str
    score: int | None
    reply: Reply | None
    refused: str | None = None

    @property
    def outcome(self) -> str:
        """In a word, for counts."""
        if self.reply is None:
            return "refused by the server"
        if self.score is not None:
            return "read"
        return "cut off" if self.reply.finish == "length" else "without a score"


def row_of(question: Question, trace: SftTrace, *, chat: bool) -> dict[str, Any]:
    """For an SFT: the question and the trace, and what is known of the state.

    Args:
        question: about a state.
        trace: that can be read.
        chat: they are a conversation, for the chat template; else plain text, as training asks. Never both: a trainer
            that takes the one it knows would teach a form that the critic is not asked in.
    """
    assert trace.reply is not None
    state = question.state
    messages = [{"role": "user", "content": question.text}, {"role": "assistant", "content": trace.reply.text}]
    texts = {"messages": messages} if chat else {"prompt": question.text, "response": trace.reply.text}
    return {
        **texts,
        "data_source": question.task,
        "extra_info": {
            "id": question.key,
            "problem": state.problem,
            "segment": state.segment,
            "outcome": state.outcome,
            "score": trace.score,
        },
    }


def write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a parquet, as a whole or not at all."""
    aside = file.with_name(f".{file.name}.tmp")
    pq.write_table(pa.Table.from_pylist(list(rows)), aside)
    aside.replace(file)
