"""verl's loop with tools as it is here: how turns end, what is said of them, and the seed of each."""

import asyncio
import json
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap, _agent_loop_registry
from verl.tools.function_tool import load_function_tools_from_path
from verl.workers.config import RolloutConfig
from verl.workers.rollout.replica import TokenOutput

from pacs.integration.exchange import TURNS
from pacs.integration.patches.seeded_rollouts import _CALLS, TurnSeeds
from pacs.integration.patches.tool_turns import ToolTurns
from pacs.metrics.turns import Turns, turn_columns, turns_of
from tests.integration.tool_task import CALCULATOR, call_of, tool_tokenizer

LONGEST = 200
TOKENIZER = tool_tokenizer()
PROMPT = [{"role": "user", "content": "7+5"}]


class Engine:
    """Says what it is to say, cut off where it may not say so much; notes what it is asked."""

    def __init__(self, *turns: str) -> None:
        self.turns = list(turns)
        self.asked: list[dict[str, Any]] = []

    async def generate(self, request_id: str, *, prompt_ids: Any, sampling_params: Any, **_: Any) -> TokenOutput:
        self.asked.append({**sampling_params, "prompt": TOKENIZER.decode(prompt_ids)})
        tokens = TOKENIZER(self.turns.pop(0))["input_ids"][: sampling_params["max_tokens"]]
        return TokenOutput(token_ids=tokens, log_probs=[-0.5] * len(tokens), extra_fields={"global_steps": 3})


@cache
def calculator() -> list[Any]:
    """verl registers a tool once a process."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "calculator.py"
        file.write_text(CALCULATOR)
        return load_function_tools_from_path(str(file))


END = "<|im_end|>"


def config_of(tokens: int | None = None, **turns: Any) -> Any:
    rollout = {"response_length": LONGEST, "prompt_length": 40, "multi_turn": {"format": "hermes", **turns}}
    made = OmegaConf.structured(RolloutConfig(name="vllm"))
    rollout = OmegaConf.merge(made, rollout)
    return OmegaConf.create(
        {"actor_rollout_ref": {"rollout": rollout}, "data": {}, "run": {"turns": {"tokens": tokens, "graded": "last"}}}
    )


def run(engine: Any, config: Any) -> Any:
    async def one() -> Any:
        loop = ToolTurns(
            trainer_config=DictConfigWrap(config),
            server_manager=engine,
            tokenizer=TOKENIZER,
            processor=None,
            dataset_cls=object,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen3",
            tools=ToolListWrap(calculator()),
        )
        return await loop.run({"temperature": 1.0, "seed": 4}, raw_prompt=PROMPT)

    return asyncio.run(one())


def turns(output: Any) -> Turns:
    return turns_of(output.response_mask, output.extra_fields[TURNS])


def written(output: Any) -> list[str]:
    """What the model wrote, a text a turn, by the mask."""
    texts, before = [], 0
    for token, writes in zip(output.response_ids, output.response_mask, strict=True):
        if writes and not before:
            texts.append([])
        if writes:
            texts[-1].append(token)
        before = writes
    return [TOKENIZER.decode(text) for text in texts]


def test_verls_loop_with_tools_is_ours() -> None:
    assert _agent_loop_registry["tool_agent"] == {"_target_": f"{ToolTurns.__module__}.ToolTurns"}


def test_a_response_of_three_turns() -> None:
    said = [call_of(7, 5) + END, call_of(7, 5) + END, r"\boxed{12}" + END]
    engine = Engine(*said)
    output = run(engine, config_of())
    assert written(output) == said
    whole = TOKENIZER.decode(output.response_ids)
    assert whole == f"\n<|tool|>12{END}<|assistant|>".join(said)
    found = turns(output)
    assert (found.turns, found.calls, found.failed, found.cut) == (3, 2, 0, False)
    assert TOKENIZER.decode(output.response_ids[found.last :]) == said[-1]
    assert len(output.response_ids) == len(output.response_mask) == len(output.response_logprobs)
    assert engine.asked[1]["prompt"] == f"add <|user|>7+5{END}<|assistant|>{said[0]}\n<|tool|>12{END}<|assistant|>"
    # Each turn has what the response has left.
    before = [TOKENIZER.decode(output.response_ids).index(text) for text in said[:1]]
    assert engine.asked[0]["max_tokens"] == LONGEST - before[0]
    rest = len(TOKENIZER(said[0] + f"\n<|tool|>12{END}<|assistant|>")["input_ids"])
    assert engine.asked[1]["max_tokens"] == LONGEST - rest


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        (call_of(7, 9), 1),  # the tool raises
        (call_of(7, 5).replace("add", "sub"), 1),
        (call_of(7, 5), 0),
        (call_of(7, 5).replace('"a": 7', '"c": 7'), 1),
    ],
)
def test_calls_that_no_tool_answers_are_counted(said: str, failed: int) -> None:
    found = turns(run(Engine(said + END, r"\boxed{12}" + END), config_of()))
    assert (found.calls, found.failed, found.turns, found.cut) == (1, failed, 2, False)


def test_a_turn_that_is_too_long_ends_the_response_though_it_has_a_call() -> None:
    call = call_of(7, 5)
    length = len(TOKENIZER(call)["input_ids"])
    output = run(Engine(call + " and more" + END), config_of(tokens=length + 3))
    assert written(output) == [call + " an"]
    assert (turns(output).cut, turns(output).calls) == (True, 0)
    # One that ends with the last token it may have is whole.
    whole = run(Engine(call + END, "12" + END), config_of(tokens=length + 1))
    assert (turns(whole).cut, turns(whole).calls, turns(whole).turns) == (False, 1, 2)


def test_a_response_is_as_long_as_it_may_be() -> None:
    long = "x" * 2 * LONGEST
    output = run(Engine(call_of(7, 5) + END, long), config_of())
    assert len(output.response_ids) == LONGEST
    assert (turns(output).cut, turns(output).turns) == (True, 2)


def test_what_a_tool_says_without_room_cuts_the_response() -> None:
    call = call_of(7, 5) + END
    call = "x" * (LONGEST - 3 - len(TOKENIZER(call)["input_ids"])) + call
    output = run(Engine(call), config_of())
    assert output.response_mask == [1] * len(TOKENIZER(call)["input_ids"])
    assert (turns(output).cut, turns(output).calls) == (True, 1)


@pytest.mark.parametrize("limit", ["max_assistant_turns", "max_user_turns"])
def test_a_call_in_the_last_turn_that_may_be_is_a_cut(limit: str) -> None:
    call = call_of(7, 5) + END
    most = 2 if limit == "max_assistant_turns" else 1
    assert turns(run(Engine(call, call), config_of(**{limit: most}))) == Turns(
        last=len(TOKENIZER(call + f"\n<|tool|>12{END}<|assistant|>")["input_ids"]), turns=2, calls=1, cut=True
    )
    assert not turns(run(Engine(call, "12" + END), config_of(**{limit: most}))).cut


def test_each_turn_has_its_seed_and_repeats() -> None:
    said = (call_of(7, 5) + END, call_of(7, 5) + END, "12" + END)

    def seeds() -> list[int]:
        engine, token = Engine(*said), _CALLS.set((4, count()))
        run(TurnSeeds(engine), config_of())
        _CALLS.reset(token)
        return [asked["seed"] for asked in engine.asked]

    first = seeds()
    assert first[0] == 4  # as of a response of one turn
    assert len(set(first)) == 3
    assert all(0 <= seed < 2**63 for seed in first)
    assert seeds() == first


def test_the_columns_of_turns() -> None:
    assert turn_columns([None, None]) == {}
    several = vars(turns_of([1, 1, 0, 0, 1], {"calls": 2, "failed": 1, "cut": True}))
    assert several == {"last": 4, "turns": 2, "calls": 2, "failed": 1, "cut": True}
    columns = {name: values.tolist() for name, values in turn_columns([several, None]).items()}
    assert columns == {"turns": [2, 1], "calls": [2, 0], "failed": [1, 0], "cut": [1, 0]}
    assert vars(turns_of([], {})) == {"last": 0, "turns": 0, "calls": 0, "failed": 0, "cut": False}
    assert json.dumps(several)
