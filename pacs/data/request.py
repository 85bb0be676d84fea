"""What is asked of `pacs data prepare`, and all of it that decides what is prepared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.data.filters import EvaluationSet
from pacs.data.livecodebench import RELEASE, RELEASES, WINDOW, LiveCodeBench
from pacs.data.sources import INSTRUCTIONS, MAX_PROMPT_LENGTH, Source, find_source


@dataclass(frozen=True)
class Request:
    """One source, and how it is to be prepared.

    Attributes:
        given: the name or the path, as it was given.
        source: its declaration; that of a local file is made of the arguments.
        out: folder to write.
        instruction: ends the user's message.
        revision: of the repository, None for the newest; of what is local, a hash.
        local: file or folder to read in place of the hub.
        options: what the source's reader was made with.
        system: the system message in place of the source's; None for the source's own, if it has one.
        model: whose tokenizer and template measure the prompts; None for no measure.
        max_prompt_length: in tokens of the model.
        thinking: the template's `enable_thinking`.
    """

    given: str
    source: Source
    out: Path
    instruction: str
    revision: str | None = None
    local: Path | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    system: str | None = None
    model: str | None = None
    max_prompt_length: int = MAX_PROMPT_LENGTH
    thinking: bool = True

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


def with_options(
    source: Source, release: str | None = None, window: Sequence[date] | None = None
) -> tuple[Source, dict[str, Any]]:
    """The declaration of a source, changed as far as it has options, and the options as JSON has them.

    Raises:
        UserError: a window that ends before it begins.
    """
    if not isinstance(source.read, LiveCodeBench):
        return source, {}
    release, (first, last) = release or RELEASE, window or WINDOW
    if first > last:
        raise UserError(f"--window {first} {last}: the first day is after the last")
    changed = replace(source, read=LiveCodeBench((first, last)), files=RELEASES[release])
    return changed, {"release": release, "window": [str(first), str(last)]}


def plain_request(name: str, out: Path) -> Request:
    """That of `pacs data prepare NAME --out OUT`, without another option, for a known source."""
    source, options = with_options(find_source(name))
    return Request(name, source, out, INSTRUCTIONS.get(source.verifier, ""), source.revision, options=options)
