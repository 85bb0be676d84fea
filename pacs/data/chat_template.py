"""A model's own tokenizer and chat template."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError

from pacs.base.errors import UserError, first_line
from pacs.data.rebuilt import rebuilt_problem
from pacs.rewards.find_reasoning import find_reasoning
from pacs.rewards.reasoning import Reasoning

Messages = list[dict[str, str]]
#: Stands for the place in a prompt; of Unicode's private use, and in no prompt.
PLACE = "\ue0c5\ue0c6"


class Template:
    """Renders prompts as the training does.

    Args:
        model: a folder, or a name on the Hugging Face Hub.
        thinking: passed to the template as `enable_thinking`, as `data.apply_chat_template_kwargs` does.

    Raises:
        UserError: If there is no tokenizer, or it has no chat template; in the methods, if that refuses a prompt.
    """

    def __init__(self, model: str, thinking: bool = True) -> None:
        self._model = model
        self._tokenizer = load_tokenizer(model)
        self._arguments = {"add_generation_prompt": True, "enable_thinking": thinking}
        if not self._tokenizer("1")["input_ids"]:  # what transformers makes up where there is none
            raise UserError(f"--model {model} has no tokenizer (no tokenizer.json): save the model's own with it")
        if not self._tokenizer.chat_template:
            raise UserError(f"--model {model}: its tokenizer has no chat template")

    def render(self, messages: Messages) -> str:
        """The prompt as text."""
        return str(self._apply(messages, tokenize=False))

    def tokens(self, prompts: list[Messages]) -> list[list[int]]:
        """Each prompt as tokens."""
        return [list(each) for each in self._apply(prompts, tokenize=True, return_dict=False)]

    def around(self, before: str, after: str) -> tuple[list[int], list[int]]:
        """A prompt with a place in it, whose tokens stand by themselves: the tokens before and behind that.

        Args:
            before, after: what the user says before and behind the place.
        """
        rendered = self.render([{"role": "user", "content": before + PLACE + after}])
        parts = rendered.split(PLACE)
        if len(parts) != 2:
            raise UserError(
                f"--model {self._model}: its chat template has the prompt {len(parts) - 1} times, and not once"
            )
        head, tail = (list(self._tokenizer.encode(part, add_special_tokens=False)) for part in parts)
        return head, tail

    def reasoning(self, named: Sequence[Sequence[str]] | None) -> Reasoning:
        """How the model marks its reasoning.

        Args:
            named: the user's delimiters, None to find them.

        Raises:
            CannotTell: As `find_reasoning`.
        """
        options = {key: value for key, value in self._arguments.items() if key != "add_generation_prompt"}
        return find_reasoning(self._tokenizer, options, named)

    def lengths(self, prompts: list[Messages]) -> list[int]:
        """The number of tokens of each prompt."""
        return [len(each) for each in self.tokens(prompts)]

    def _apply(self, messages: Messages | list[Messages], **how: bool) -> Any:
        try:
            return self._tokenizer.apply_chat_template(messages, **how, **self._arguments)
        except TemplateError as error:
            why = " ".join(str(error).split())
            raise UserError(f"--model {self._model}: its chat template refuses a prompt: {why}") from error


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a folder, or of a name on the Hugging Face Hub.

    Raises:
        UserError: There is none, or it is not that of its tokenizer.json.
    """
    tokenizer = _load(model)
    if (problem := rebuilt_problem(tokenizer)) is not None:
        raise UserError(f"--model {model} {problem}.")
    return tokenizer


def _load(model: str) -> Any:
    from huggingface_hub import HfApi
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model, local_files_only=True)
    except Exception as error:  # of a damaged file whatever transformers makes of it
        if Path(model).exists():
            raise UserError(f"--model {model} has no tokenizer that transformers loads") from error
        if not isinstance(error, OSError | ValueError):
            raise
        if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", model):
            raise UserError(f"--model {model}: no such folder") from error
    try:
        # Asked first: transformers would try for half a minute.
        HfApi().model_info(model, timeout=10)
        return AutoTokenizer.from_pretrained(model)
    except Exception as error:
        why = f"cannot be had from the Hugging Face Hub ({first_line(error)})"
        raise UserError(f"--model {model} is no folder, and {why}: give a local folder") from error


def template_of(model: str | None, *, no_thinking: bool) -> Template | None:
    """The template that --model and --no-thinking of a command name.

    Raises:
        UserError: --no-thinking without a model, or a model that has none.
    """
    if no_thinking and model is None:
        raise UserError("--no-thinking is for a chat template: give --model too")
    return None if model is None else Template(model, not no_thinking)
