"""Settings of turns and tools that nothing would read, tools that do not load, templates that cannot go on."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.prompts import prompt_problems
from pacs.integration.checks.run import warnings
from pacs.integration.checks.turns import (
    CHANGED_ARGUMENTS,
    OF_TOOLS,
    format_problems,
    template_problems,
    tool_files,
    turns_problems,
    turns_warnings,
)
from pacs.integration.checks.user_code import own_code_problems, tool_schemas
from pacs.integration.preflight.user_code import give_answer
from tests.integration.tool_task import CALCULATOR, TEMPLATE, WITHOUT_TOOLS, tool_tokenizer

TURNS, LOOP = "actor_rollout_ref.rollout.multi_turn", "actor_rollout_ref.rollout.agent.default_agent_loop"
WITH_TOOLS = {LOOP: "tool_agent", f"{TURNS}.function_tool_path": "calculator.py"}


def config_of(**changes: object) -> Any:
    config = OmegaConf.create(
        {
            "data": {"apply_chat_template_kwargs": {}, "max_prompt_length": 12, "prompt_key": "prompt"},
            "actor_rollout_ref": {
                "rollout": {
                    "multi_turn": {"enable": False, **OF_TOOLS},
                    "agent": {"default_agent_loop": "single_turn_agent"},
                },
                "model": {"path": "model"},
            },
            "run": {"turns": {"graded": "last", "tokens": None}},
        }
    )
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    return config


def test_turns_need_not_be() -> None:
    assert list(turns_problems(config_of())) == []
    assert list(turns_problems(config_of(**WITH_TOOLS, **{f"{TURNS}.enable": True, "run.turns.tokens": 9}))) == []
    assert list(turns_problems(config_of(**{LOOP: "mine", f"{TURNS}.max_user_turns": 2}))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{TURNS}.enable": True}, ["multi_turn.enable=true says nothing", f"{LOOP}=single_turn_agent", "tool_agent"]),
        ({f"{TURNS}.function_tool_path": "x.py"}, ["function_tool_path=x.py is not read", "leave this out"]),
        ({f"{TURNS}.max_user_turns": 3}, ["max_user_turns=3 is not read"]),
        ({f"{TURNS}.format": "gemma4"}, ["format=gemma4 is not read"]),
        ({"run.turns.graded": "conversation"}, ["run.turns.graded=conversation is of responses of several turns"]),
        ({"run.turns.tokens": 7}, ["run.turns.tokens=7 is of responses of several turns"]),
        ({LOOP: "tool_agent"}, ["tool_agent without a tool", f"{TURNS}.function_tool_path", "single_turn_agent"]),
        ({LOOP: "mine", "run.turns.tokens": 7}, ["run.turns.tokens=7 is read by the loop tool_agent alone"]),
        (WITH_TOOLS | {f"{TURNS}.max_assistant_turns": 0}, ["max_assistant_turns=0: use", "or null for no limit"]),
        (WITH_TOOLS | {f"{TURNS}.max_parallel_calls": 0}, ["max_parallel_calls=0: use a whole number of at least 1."]),
        (WITH_TOOLS | {f"{TURNS}.tool_response_truncate_side": "top"}, ["side=top: use one of left, middle, right"]),
    ],
)
def test_what_nothing_would_read_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = turns_problems(config_of(**changes))
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_a_format_is_verls_or_the_tools_own() -> None:
    config = config_of(**{LOOP: "tool_agent", f"{TURNS}.tool_config_path": "x.yaml", f"{TURNS}.format": "hermse"})
    (problem,) = format_problems(config)
    assert "format=hermse: verl reads calls of tools as one of hermes, " in problem
    assert problem.endswith("Did you mean hermes?")
    assert list(format_problems(config_of(**WITH_TOOLS, **{f"{TURNS}.format": "mine"}))) == []
    assert list(format_problems(config_of())) == []


def test_a_format_whose_arguments_verl_changes_is_told(tmp_path: Path) -> None:
    (warning,) = turns_warnings(config_of(**WITH_TOOLS, **{f"{TURNS}.format": "glm"}))
    assert "multi_turn.format=glm: verl gives tools other arguments than the model wrote: a text that can be" in warning
    assert list(turns_warnings(config_of(**WITH_TOOLS))) == []
    assert list(turns_warnings(config_of())) == []
    (tmp_path / "calculator.py").write_text(CALCULATOR)
    tools = {**WITH_TOOLS, f"{TURNS}.function_tool_path": tmp_path / "calculator.py", f"{TURNS}.format": "kimi"}
    config, _ = compose_run("grpo", ["recipe=arithmetic", *(f"{key}={value}" for key, value in tools.items())])
    assert any("the tool is called without arguments where they cannot be read" in said for said in warnings(config))


#: Format -> a call of f(x) in it, with what is to be x in braces; what x is to be; what verl makes of the arguments.
CALLS = {
    "glm": ("<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>", "1.10", {"x": 1.1}),
    "seed": (
        "<seed:tool_call>\n<function=f>\n<parameter=x>{}</parameter>\n</function>\n</seed:tool_call>",
        "1.10", {"x": 1.1},
    ),
    "minimax": (
        '<minimax:tool_call>\n<invoke name="f">\n<parameter name="x">{}</parameter>\n</invoke>\n</minimax:tool_call>',
        "1.10", {"x": 1.1},
    ),
    "qwen3_coder": (
        "<tool_call>\n<function=f>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>", "null", {"x": None},
    ),
    "gemma4": ("<|tool_call>call:f{{x:{}}}<tool_call|>", "[1,2]", {"x": "[1"}),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>",
        '{"x": "1', {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGED_ARGUMENTS)
def test_verls_parser_changes_arguments_as_is_told(name: str) -> None:
    """A warning that no longer holds is to go."""
    from verl.experimental.agent_loop.tool_parser import ToolParser
    from verl.tools.schemas import OpenAIFunctionToolSchema

    kind = "array" if name == "gemma4" else "string"
    parameters = {"type": "object", "properties": {"x": {"type": kind}}, "required": ["x"]}
    function = {"name": "f", "description": "", "parameters": parameters}
    tool = OpenAIFunctionToolSchema.model_validate({"type": "function", "function": function})
    call, value, made = CALLS[name]
    # The parser asks the tokenizer for nothing else than the text.
    tokenizer = SimpleNamespace(decode=lambda text, **_: text, convert_tokens_to_ids=lambda _: 0, pad_token=None)
    text: Any = call.format(value)
    _, calls = asyncio.run(ToolParser.get_tool_parser(name, tokenizer).extract_tool_calls(text, [tool]))
    assert [json.loads(each.arguments) for each in calls] == [made]


def test_a_whole_config_is_refused_for_what_nothing_reads() -> None:
    with pytest.raises(ValueError, match=r"multi_turn.enable=true says nothing to verl's V1 trainer"):
        compose_run("grpo", ["recipe=arithmetic", f"{TURNS}.enable=true"])
    with pytest.raises(ValueError, match=r"num_repeat_rollouts=4: nothing in verl"):
        compose_run("pacs", ["recipe=arithmetic", f"{TURNS}.num_repeat_rollouts=4"])


def test_a_template_goes_on_after_a_tool_or_is_refused() -> None:
    config, tools = config_of(**WITH_TOOLS), [{"type": "function", "function": {"name": "add"}}]
    assert list(template_problems(config, tool_tokenizer(), tools)) == []
    assert list(template_problems(config_of(), tool_tokenizer(WITHOUT_TOOLS), tools)) == []
    (problem,) = template_problems(config, tool_tokenizer(WITHOUT_TOOLS), tools)
    assert "cannot go on with a message of the role tool (no tools here)" in problem
    assert "actor_rollout_ref.model.custom_chat_template" in problem
    own = config_of(**{LOOP: "mine"})
    assert list(template_problems(own, tool_tokenizer(WITHOUT_TOOLS), [])) == []
    (problem,) = template_problems(own, tool_tokenizer(TEMPLATE.replace("['content']", "['content'].bad.worse")), [])
    assert "of the role user" in problem


def test_prompts_are_as_long_as_their_tools_make_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacs.integration.checks.prompts.tokenizer_of", lambda _: tool_tokenizer())
    row = {"prompt": [{"role": "user", "content": "7+5+3"}]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "data.parquet")
    config = config_of(**WITH_TOOLS)
    OmegaConf.update(config, "data.truncation", "error")
    OmegaConf.update(config, "data.filter_overlong_prompts", False)
    OmegaConf.update(config, "data.train_batch_size", 1)
    files, tools = [tmp_path / "data.parquet"], [{"type": "function", "function": {"name": "calculator"}}]
    assert list(prompt_problems(config, files, files, [])) == []
    (problem,) = prompt_problems(config, files, files, tools)
    assert "has 19 tokens, more than data.max_prompt_length=12" in problem


def test_tools_are_loaded_before_the_run(tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text(CALCULATOR)
    overrides = ["recipe=arithmetic", f"{LOOP}=tool_agent", f"{TURNS}.function_tool_path={file}"]
    config, _ = compose_run("pacs", overrides)
    assert list(own_code_problems(config, None, print)) == []
    (schema,) = tool_schemas(config, None)
    assert schema["function"]["name"] == "add"
    assert schema["function"]["parameters"]["required"] == ["a", "b"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\n", "there is no tool in it: write a function with @verl.tools.function_tool.function_tool"),
        ("import no_such_package\n", "its import raises ModuleNotFoundError"),
        (CALCULATOR.replace("a: one.", "").replace("b: the other.", ""), "its import raises DocstringParsingException"),
    ],
)
def test_tools_that_do_not_load_are_refused(code: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "tools.py"
    file.write_text(code)
    config, _ = compose_run("pacs", ["recipe=arithmetic", f"{LOOP}=tool_agent", f"{TURNS}.function_tool_path={file}"])
    ((key, path, _),) = tool_files(config)
    assert (key, path) == (f"{TURNS}.function_tool_path", str(file))
    answer: dict[str, Any] = {}
    request = {"objects": tool_files(config), "tools": {"function_tool_path": path}, "function": "none"}
    give_answer(request, answer, lambda: None)
    assert answer["key"] == key
    assert said in answer["problem"]
