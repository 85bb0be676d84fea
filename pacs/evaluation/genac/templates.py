"""The critic's template as a command names it, and what it is filled with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacs.algorithm.genac.template import SHIPPED, CriticTemplate
from pacs.base.errors import UserError, did_you_mean
from pacs.data.chat_template import Messages


@dataclass(frozen=True)
class Asking:
    """What a critic is asked.

    Attributes:
        template: around the partial solution.
        model_size: of the actor, as 8B.
        success_rate: of the actor; None: as measured.
    """

    template: CriticTemplate
    model_size: str
    success_rate: float | None = None

    def words(self, problem: Messages, partial: str, rate: float) -> str:
        """The whole question on a state, as text."""
        return f"{self.template.head(problem_of(problem), rate, self.model_size)}{partial}{self.template.tail}"


def template_named(given: str, setting: str = "--template ") -> CriticTemplate:
    """A shipped template by its name, or the text of a file.

    Args:
        given: either.
        setting: what gave it, in errors.

    Raises:
        UserError: there is neither, or the text is no template.
    """
    if given in SHIPPED:
        return CriticTemplate(SHIPPED[given])
    file = Path(given).expanduser()
    if not file.is_file():
        raise UserError(
            f"{setting}{given}: no such file, and none of {', '.join(SHIPPED)}.{did_you_mean(given, SHIPPED)}"
        )
    try:
        return CriticTemplate(file.read_text(encoding="utf-8").removesuffix("\n"))
    except (UserError, UnicodeDecodeError) as error:
        raise UserError(f"{setting}{given}: {error}") from None


def problem_of(messages: Sequence[dict[str, str]]) -> str:
    """What the user says in a prompt: the problem as the critic reads it."""
    return "\n\n".join(message["content"] for message in messages if message["role"] == "user")
