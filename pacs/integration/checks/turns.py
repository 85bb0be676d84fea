"""What responses of several turns need of a config, and of the model's chat template.

Which agent loop makes a response says `rollout.agent.default_agent_loop` (or the row's `agent_name`), and nothing else:
`rollout.multi_turn.enable` is of verl's older trainer. What the chosen loop would not read is refused.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from omegaconf import DictConfig

from pacs.base.errors import did_you_mean, one_line
from pacs.integration.checks.wording import spell, spelled
from pacs.runs.settings import TurnSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import chat_template_options, has_turns

TOOL_FILES: Final = ("rollout.multi_turn.tool_config_path", "rollout.multi_turn.function_tool_path")
#: verl's keys for turns with tools, and what they are where nobody has set them.
OF_TOOLS: Final[dict[str, object]] = {
    "tool_config_path": None, "function_tool_path": None, "max_assistant_turns": None, "max_user_turns": None,
    "max_parallel_calls": 1, "max_tool_response_length": 256, "tool_response_truncate_side": "middle",
    "format": "hermes",
}  # fmt: skip
NUMBERS: Final = ("max_assistant_turns", "max_user_turns", "max_parallel_calls", "max_tool_response_length")
TOOL_LOOP: Final = "tool_agent"
_READ_AS_JSON: Final = "a text that can be read as JSON becomes a number or an object"
#: Formats whose parsers in verl 0.9.1 give a tool other arguments than the model wrote
#: (findings/verl_tools_get_other_arguments.sh), and how.
CHANGED_ARGUMENTS: Final = {
    "glm": _READ_AS_JSON,
    "seed": _READ_AS_JSON,
    "minimax": _READ_AS_JSON,
    "qwen3_coder": "a list with true, false or null in it becomes a text, and the text null becomes nothing",
    "gemma4": "a list, an object or a text of several lines ends at its first comma or brace",
    "kimi": "the tool is called without arguments where they cannot be read",
}
#: What a conversation may end with when a tool answers, or one's own loop asks again.
_ANSWERS: Final = {"tool": "1", "user": "Go on."}


@spelled
def turns_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the settings of turns and tools, a sentence each with the setting and the mend."""
    turns, loop = config.actor_rollout_ref.rollout.multi_turn, config.actor_rollout_ref.rollout.agent.default_agent_loop
    if not has_turns(config):
        if turns.enable:
            yield (
                "@rollout.multi_turn.enable=true says nothing to verl's V1 trainer: which loop makes the turns is "
                "@rollout.agent.default_agent_loop=; set that to tool_agent, or to one of yours, or leave this out."
            )
        for name, left in OF_TOOLS.items():
            if turns[name] != left:
                yield (
                    f"@rollout.multi_turn.{name}= is not read by @rollout.agent.default_agent_loop=: set that to "
                    "tool_agent (a row may name another loop as its agent_name), or leave this out."
                )
        for name, default in TurnSettings():
            if config.run.turns[name] != default:
                yield (
                    f"@run.turns.{name}= is of responses of several turns: set @rollout.agent.default_agent_loop to "
                    "tool_agent, or leave this out."
                )
        return
    for name in NUMBERS:
        value = turns[name]
        if value != OF_TOOLS[name] and (type(value) is not int or value < 1):
            least = " or null for no limit" if OF_TOOLS[name] is None else ""
            yield f"@rollout.multi_turn.{name}=: use a whole number of at least 1{least}."
    if loop != TOOL_LOOP:
        if config.run.turns.tokens is not None:
            yield (
                "@run.turns.tokens= is read by the loop tool_agent alone: leave it out, or have your loop give "
                "max_tokens to the engine."
            )
        return
    if not any(turns[name.rpartition(".")[2]] for name in TOOL_FILES):
        yield (
            f"@rollout.agent.default_agent_loop={TOOL_LOOP} without a tool is a loop of one turn: name a file of tools "
            f"({' or '.join(f'@{name}' for name in TOOL_FILES)}), or use single_turn_agent."
        )
    sides = ("left", "middle", "right")
    if turns.tool_response_truncate_side not in sides:
        yield f"@rollout.multi_turn.tool_response_truncate_side=: use one of {', '.join(sides)}."


@spelled
def turns_warnings(config: DictConfig) -> Iterator[str]:
    """What verl's parser of the chosen format makes of a tool's arguments."""
    rollout = config.actor_rollout_ref.rollout
    if rollout.agent.default_agent_loop == TOOL_LOOP and (changed := CHANGED_ARGUMENTS.get(rollout.multi_turn.format)):
        yield (
            f"@rollout.multi_turn.format=: verl gives tools other arguments than the model wrote: {changed}. Check and "
            "convert them in your tools, or use a model that writes hermes (docs/rewards.md)."
        )


@spelled
def format_problems(config: DictConfig) -> Iterator[str]:
    """Whether verl can read a call of a tool; it takes seconds to import what says so."""
    if not has_turns(config):
        return
    from verl.experimental.agent_loop.tool_parser import ToolParser

    # A file of tools may register another format, which is known when it has been imported.
    turns, known = config.actor_rollout_ref.rollout.multi_turn, list(ToolParser._registry)
    if turns.format not in known and turns.function_tool_path is None:
        hint = did_you_mean(str(turns.format), known)
        yield f"@rollout.multi_turn.format=: verl reads calls of tools as one of {', '.join(known)}.{hint}"


def template_problems(config: DictConfig, tokenizer: Any, tools: list[dict[str, Any]]) -> Iterator[str]:
    """Whether the chat template can go on with a conversation, as verl asks it to after a turn.

    Args:
        config: of the run.
        tokenizer: of the run, with its template.
        tools: their schemas; none where a loop of one's own is not known to have any.
    """
    if not has_turns(config):
        return
    from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

    builder = create_continuous_token_builder(
        tokenizer, hf_model_type=_model_type(config), chat_template_kwargs=chat_template_options(config)
    )
    asked = [{"role": "user", "content": "1"}, {"role": "assistant", "content": "1"}]
    role = "tool" if tools else "user"
    try:
        builder.merge_context_tokens(
            asked, [*asked, {"role": role, "content": _ANSWERS[role]}], [], tools=tools or None
        )
    except Exception as error:  # a template's own, or verl's; verl tries another form then, which fails otherwise
        first = error.__context__ or error
        yield spell(
            f"@rollout.agent.default_agent_loop=: the chat template of {tokenizer.name_or_path} cannot go on with a "
            f"message of the role {role} ({one_line(first)}): use a model whose template can, or give one that can "
            "(@model.custom_chat_template).",
            config,
        )


def _model_type(config: DictConfig) -> str | None:
    """By which verl chooses how turns are joined; None where the model is not here."""
    file = Path(str(config.actor_rollout_ref.model.path)).expanduser() / "config.json"
    return json.loads(file.read_text()).get("model_type") if file.is_file() else None


def tool_files(config: DictConfig) -> list[tuple[str, str, None]]:
    """The setting and the path of each file of tools that the run's loop reads, as `own_objects` has them."""
    if not has_turns(config):
        return []
    turns = plain(config.actor_rollout_ref.rollout)["multi_turn"]
    named = ((f"actor_rollout_ref.{name}", turns[name.rpartition(".")[2]]) for name in TOOL_FILES)
    return [(key, str(path), None) for key, path in named if path]
