"""Whether a run's prompts, as the model's chat template makes them, can be trained on, and are what they say.

And whether it can be told where an answer begins: how the run's model marks its reasoning.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet
from jinja2 import TemplateError
from omegaconf import DictConfig

from pacs.base.errors import one_line
from pacs.data.rebuilt import rebuilt_problem
from pacs.integration.checks.turns import template_problems
from pacs.integration.checks.wording import spell, spelled
from pacs.rewards.find_reasoning import CannotTell, find_reasoning
from pacs.rewards.reasoning import EXAMPLE, SETTING, Reasoning
from pacs.rewards.registry import PATH
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import chat_template_options

#: Those that the templates of most models know.
ROLES: Final = ("system", "developer", "user", "assistant", "tool")
#: Arguments of a chat template's call that are no setting.
GIVEN_BY_VERL: Final = ("add_generation_prompt", "conversation", "return_dict", "return_tensors", "tokenize", "tools")
#: A text has at most as many tokens as bytes, and these, which a tokenizer may put before it.
MARGIN = 8


def prompt_problems(
    config: DictConfig, train_files: list[Path], val_files: list[Path], tools: list[dict[str, Any]]
) -> Iterator[str]:
    """What is wrong with the prompts, a sentence each with the setting and the mend; none where no tokenizer is here.

    verl leaves out what is too long (`data.filter_overlong_prompts`), and then what is left must fill a batch, or stops
    at it in the midst of the run. As many prompts are looked at as that takes.

    Args:
        config: of the run.
        train_files: its data, in verl's schema.
        val_files: for its validation, likewise.
        tools: what the template is told of each.
    """
    try:
        tokenizer = tokenizer_of(config)
    except Exception as error:  # whatever transformers or a tokenizer's own code makes of a damaged file
        why = f"{type(error).__name__}: {one_line(error)}"
        yield spell(f"@model.path=: its tokenizer does not load ({why}): save it anew.", config)
        return
    if tokenizer is None:
        return
    if (problem := rebuilt_problem(tokenizer)) is not None:
        setting = "tokenizer_path" if config.actor_rollout_ref.model.get("tokenizer_path") else "path"
        yield spell(f"@model.{setting}= {problem}.", config)
        return
    if problems := list(template_problems(config, tokenizer, tools)):
        yield from problems
        return
    data = config.data
    options = chat_template_options(config) | ({"tools": tools} if tools else {})
    longest, key = data.max_prompt_length, data.prompt_key
    for name, files, least in (("train_files", train_files, data.train_batch_size), ("val_files", val_files, 1)):
        looked_at, fitting, words = 0, 0, ""
        for where, messages in _prompts(files, key):
            looked_at += 1
            problem = _problem(tokenizer, messages, options, longest, cut=data.truncation != "error")
            if problem is not None and not data.filter_overlong_prompts:
                yield f"data.{name}={where}: {problem}, or set data.filter_overlong_prompts=true."
                return
            words = words or problem or ""
            fitting += problem is None
            if data.filter_overlong_prompts and fitting >= least:
                break
        if fitting < least:
            wanted = f"data.train_batch_size={least}" if name == "train_files" else "needed for a validation"
            few = f"of {looked_at} prompts {fitting} can be used, fewer than {wanted}"
            yield f"data.{name}: {few}. The first of the others {words}."


@spelled
def prompt_setting_problems(config: DictConfig) -> Iterator[str]:
    """What verl would not heed of the settings of prompts, or stumble over; a sentence each."""
    data = config.data
    for name in GIVEN_BY_VERL:
        if name in chat_template_options(config):
            yield f"@data.apply_chat_template_kwargs.{name}=: verl gives that to the template itself: leave it out."
    if data.truncation in ("right", "middle") and not data.filter_overlong_prompts:
        yield (
            "@data.truncation=: verl's V1 trainer cuts off the beginning of a longer prompt, whatever this says: set "
            "data.filter_overlong_prompts=true, which leaves such prompts out, or @data.truncation=left."
        )


def tokenizer_of(config: DictConfig) -> Any:
    """The run's, of a folder or of the Hugging Face Hub's cache here, with the run's chat template.

    None where it is not here, or where a dataset of its own makes the prompts.

    Raises:
        Exception: what transformers or a tokenizer's own code makes of a damaged file.
    """
    if (config.data.get("custom_cls") or {}).get("path") is not None:
        return None
    from transformers import AutoTokenizer

    model = config.actor_rollout_ref.model
    name, trusted = str(model.get("tokenizer_path") or model.path), bool(model.get("trust_remote_code"))
    folder = Path(name).expanduser()
    place = folder if folder.is_dir() else name
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=trusted)
    except OSError:  # transformers': not in the cache
        if folder.is_dir():
            raise
        return None
    if model.get("custom_chat_template") is not None:
        tokenizer.chat_template = model.custom_chat_template
    return tokenizer


def _prompts(files: list[Path], key: str) -> Iterator[tuple[str, Any]]:
    """Each prompt's place and messages."""
    for file in files:
        row = 0
        for batch in pyarrow.parquet.ParquetFile(file).iter_batches(batch_size=1000, columns=[key]):
            for messages in batch.column(0).to_pylist():
                yield f"{file}, row {row}", messages
                row += 1


def _problem(tokenizer: Any, messages: Any, options: dict[str, Any], longest: int, *, cut: bool) -> str | None:
    """Why a prompt cannot be used, as a clause, with the mend."""
    try:
        text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **options)
    except TemplateError as error:
        template = f"the chat template of {tokenizer.name_or_path} ({one_line(error)})"
        return f"is refused by {template}: mend the template, or the prompt"
    if cut or len(text.encode()) <= longest - MARGIN:
        return None
    tokens = len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
    if tokens <= longest:
        return None
    return f"has {tokens} tokens, more than data.max_prompt_length={longest}: raise that, or leave out such prompts"


def turn_problems(
    config: DictConfig, prompts: Sequence[tuple[int, list[dict[str, Any]]]]
) -> Iterator[tuple[str, str, list[int]]]:
    """What is wrong with messages: a clause that goes on from the file's name, the mend, and the rows.

    Args:
        config: of the run.
        prompts: the number of the row, and its messages.
    """
    tokens = _control_tokens(config)
    of_tokens = (
        "The model would read it as the end or the beginning of a turn, and not as text: take it out; messages hold "
        "what is said, and the chat template adds the rest"
    )
    of_roles = f"Models are trained on {', '.join(ROLES)}: rename it"
    of_ends = "verl has the model begin another turn, and not go on with this one: end with what the user says"
    found: dict[tuple[str, str], list[int]] = {}
    for number, messages in prompts:
        text = "\n".join(str(message["content"]) for message in messages)
        control = dict.fromkeys(tokens.findall(text)) if tokens is not None else ()
        wrong = [(f"has the tokenizer's control token {token} in a message", of_tokens) for token in control]
        roles = dict.fromkeys(str(message["role"]) for message in messages)
        wrong += [(f'has messages of the role "{role}"', of_roles) for role in roles if role not in ROLES]
        if messages[-1]["role"] == "assistant":
            wrong.append(("ends with a message of the assistant", of_ends))
        for problem in wrong:
            found.setdefault(problem, []).append(number)
    for (what, mend), numbers in found.items():
        yield what, f"row {numbers[0]} first. {mend}", numbers


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


def reasoning_of(config: DictConfig) -> Reasoning | None:
    """How the run's model marks its reasoning, as the run's reward manager will find it; None without a tokenizer here.

    Raises:
        CannotTell: As `find_reasoning`.
        Exception: As `tokenizer_of`.
    """
    tokenizer = tokenizer_of(config)
    if tokenizer is None:
        return None
    return find_reasoning(tokenizer, chat_template_options(config), plain(config.run.reasoning)["delimiters"])


def reasoning_problems(config: DictConfig) -> Iterator[str]:
    """Why it cannot be told, a sentence with the setting and the mend. Not for a tokenizer that does not load."""
    try:
        reasoning = reasoning_of(config)
    except CannotTell as error:
        yield f"{SETTING}: {error}: name both, {SETTING}='{EXAMPLE}', or [] if it opens none."
        return
    unknown = config.reward.reward_manager.source != "register" and config.reward.custom_reward_function.path == PATH
    if reasoning is not None and unknown and (reasoning.lost or reasoning.opened_by(reasoning.prompt_end)):
        yield (
            "reward.reward_manager is a manager of your own, which gives our verifiers the text alone, by which they "
            f"cannot tell what is {reasoning.sentence()}: leave it out, or grade by a function of your own "
            "(reward.custom_reward_function)."
        )


def reasoning_outlook(config: DictConfig) -> str:
    """What was found, a sentence; why nothing was, where that is so."""
    try:
        reasoning = reasoning_of(config)
    except Exception as error:  # said as a problem
        return f"reasoning: not known ({type(error).__name__})"
    if reasoning is None:
        return "reasoning: the tokenizer is not here; the run finds its delimiters when it starts"
    return reasoning.sentence()
