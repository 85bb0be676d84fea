"""What is asked of `pacs data prepare`, and all of it that decides what is prepared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.data.evaluation import EvaluationSet
from pacs.data.sources import Source


@dataclass(frozen=True)
class Request:
    """One source, and how it is to be prepared.

    Attributes:
        given: the name or the path, as it was given.
        source: its declaration; that of a local file is made of the arguments.
        local: file or folder to read in place of the hub.
        revision: of the repository, None for the newest; of what is local, a hash.
        options: what the source's reader was made with.
        out: folder to write.
        instruction: ends the user's message.
        system: the system message in place of the source's; None for the source's own, if it has one.
        model: whose tokenizer and template measure the prompts; None for no measure.
        max_prompt_length: in tokens of the model.
        thinking: the template's `enable_thinking`.
    """

    given: str
    source: Source
    local: Path | None
    revision: str | None
    options: Mapping[str, Any]
    out: Path
    instruction: str
    system: str | None
    model: str | None
    max_prompt_length: int
    thinking: bool

    @property
    def split(self) -> str:
        """What the problems are for, `train` or `test`, whatever the repository calls it."""
        return "train" if self.source.training else "test"

    def settings(self, evaluation: Sequence[EvaluationSet]) -> dict[str, Any]:
        """All that decides what is prepared, as JSON has it."""
        measured = {"max_prompt_length": self.max_prompt_length, "thinking": self.thinking}
        return {
            "source": self.source.name,
            "repo": self.source.repo,
            "revision": self.revision,
            "split": self.split,
            **self.options,
            "verifier": self.source.verifier,
            "instruction": self.instruction,
            **({} if self.system is None else {"system": self.system}),
            "model": self.model,
            **(measured if self.model else {}),
            "evaluation": [{"name": each.name, "sha256": each.sha256} for each in evaluation],
        }
