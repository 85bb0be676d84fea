"""Prompts that a chat template makes into other turns than their messages say."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from omegaconf import DictConfig

from pacs.integration.checks.prompts import tokenizer_of

#: Those that the templates of most models know.
ROLES: Final = ("system", "developer", "user", "assistant", "tool")


def turn_problems(
    config: DictConfig, prompts: Sequence[tuple[int, list[dict[str, Any]]]]
) -> Iterator[tuple[str, str, list[int]]]:
    """What is wrong with messages: a clause that goes on from the file's name, the mend, and the rows.

    Args:
        config: of the run.
        prompts: the number of the row, and its messages.
    """
    tokens = _control_tokens(config)
    found: dict[str, list[int]] = {}
    last: list[int] = []
    roles: dict[str, list[int]] = {}
    for number, messages in prompts:
        text = "\n".join(str(message["content"]) for message in messages)
        for token in dict.fromkeys(tokens.findall(text)) if tokens is not None else ():
            found.setdefault(token, []).append(number)
        for role in {str(message["role"]) for message in messages} - set(ROLES):
            roles.setdefault(role, []).append(number)
        if messages[-1]["role"] == "assistant":
            last.append(number)
    for token, numbers in found.items():
        yield (
            f"has the tokenizer's control token {token} in a message",
            f"row {numbers[0]} first. The model would read it as the end or the beginning of a turn, and not as text: "
            "take it out; messages hold what is said, and the chat template adds the rest",
            numbers,
        )
    for role, numbers in roles.items():
        yield (
            f'has messages of the role "{role}"',
            f"row {numbers[0]} first. Models are trained on {', '.join(ROLES)}: rename it",
            numbers,
        )
    if last:
        yield (
            "ends with a message of the assistant",
            f"row {last[0]} first. verl has the model begin another turn behind it, and not go on with this one: end "
            "with what the user says",
            last,
        )


def _control_tokens(config: DictConfig) -> re.Pattern[str] | None:
    """The special tokens that the run's tokenizer makes of text; None where no tokenizer is here."""
    try:
        tokenizer = tokenizer_of(config)
    except Exception:  # said of the model
        return None
    if tokenizer is None or tokenizer.split_special_tokens:
        return None
    tokens = {token.content for token in tokenizer.added_tokens_decoder.values() if token.special}
    return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True)))) if tokens else None
