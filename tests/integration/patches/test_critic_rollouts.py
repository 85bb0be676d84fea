"""What a critic is asked about a response, and what its traces make of it, in verl's own worker; engine and queue are
stubs."""

import asyncio
import random
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.workers.rollout.replica import TokenOutput

from pacs.algorithm.genac.template import CriticTemplate
from pacs.integration.exchange import CRITIC_TRACES, SUCCESS_RATE
from pacs.integration.patches.agent_loops import parts_of, worker_class
from pacs.integration.patches.critic_rollouts import CriticRollouts, Traces
from pacs.integration.patches.lean_rollouts import LeanWorker
from pacs.integration.patches.seeded_rollouts import Seeds
from pacs.runs.genac_settings import GenacSettings
from recipes.arithmetic.tokenizer import build_tokenizer

TOKENIZER = build_tokenizer(512)
TEMPLATE = CriticTemplate("{model_size} {success_rate} {problem} [{partial_solution}] score:")
RESPONSE = "one, two, three, four"
MESSAGES = [{"role": "user", "content": "27+45"}]
RATE = 0.25


class Engine:
    r"""Writes `\boxed{n}` or nothing of use, by the request's seed; notes what it is asked."""

    def __init__(self, *, scores: bool = True) -> None:
        self.asked: list[tuple[str, list[int], dict[str, Any]]] = []
        self.scores = scores

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        self.asked.append((request_id, prompt_ids, sampling_params))
        drawn = random.Random(sampling_params.get("seed", 0))
        text = rf"so \boxed{{{drawn.randrange(11)}}}" if self.scores and drawn.random() < 0.7 else "no idea"
        ids = TOKENIZER.encode(text)
        return TokenOutput(token_ids=ids, log_probs=[-drawn.random() for _ in ids])


def make_worker(engine: Engine, **segments: Any) -> Any:
    genac = {"trace_tokens": 32, "segments": {"delimiter": ",", "least_tokens": 1, "most_tokens": 6, **segments}}
    rollout = {"seed": 7, "n": 2, "val_kwargs": {"n": 1}}
    config = OmegaConf.create(
        {
            "actor_rollout_ref": {"rollout": rollout},
            "run": {"rollouts": {"seeded": True, "dars": {"schedule": None}, "vine": {"completions": None}}},
            "genac": genac,
        }
    )
    assert parts_of(config) == (CriticRollouts, Seeds)
    worker = object.__new__(worker_class(parts_of(config)))
    worker.config, worker.tokenizer, worker._text = config, TOKENIZER, lambda token: TOKENIZER.decode([token])
    worker._genac = GenacSettings.from_mapping({**genac, "critic": None})
    worker._template, worker._critic, worker._critic_sampling = TEMPLATE, engine, {"temperature": 0.9}
    worker._tail = TOKENIZER.encode(TEMPLATE.tail, add_special_tokens=False)
    return worker


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, dict[str, Any]]]:
    """What goes on to the queue: outputs, and the fields of their rows."""
    rows: list[tuple[Any, dict[str, Any]]] = []

    async def store(self: Any, output: Any, validate: bool, **fields: Any) -> None:
        rows.append((output, fields))

    monkeypatch.setattr(LeanWorker, "_agent_loop_postprocess", store)
    return rows


def judge(worker: Any, *, session: int = 0, validate: bool = False, masked: bool = False) -> None:
    ids = TOKENIZER.encode(RESPONSE)
    mask = [1] * len(ids)
    mask[2] = int(not masked)
    output = AgentLoopOutput(
        prompt_ids=[1], response_ids=ids, response_mask=mask, metrics=AgentLoopMetrics(), extra_fields={"a": 1}
    )
    fields = {"uid": "3-5", "session_id": session, "raw_prompt": MESSAGES, "global_steps": 3, SUCCESS_RATE: RATE}
    asyncio.run(worker._agent_loop_postprocess(output, validate, **fields))


def test_the_critic_reads_its_template_around_each_state(stored: list) -> None:
    engine = Engine()
    judge(make_worker(engine))
    output, fields = stored[0]
    states = ["", "one,", "one, two,", "one, two, three", "one, two, three,"]  # " three" is as long as a segment may be
    head = TEMPLATE.head("27+45", RATE, "8B")
    asked = [TOKENIZER.decode(ids) for _, ids, _ in engine.asked]
    assert asked == [f"{head}{state}{TEMPLATE.tail}" for state in states]
    assert {request for request, _, _ in engine.asked} == {"3-5_0"}  # one engine, which has the beginning in its cache
    for _, _, params in engine.asked:
        assert (params["max_tokens"], params["logprobs"], params["temperature"]) == (32, True, 0.9)
    traces = Traces.of(output.extra_fields)
    assert output.extra_fields["a"] == 1
    assert traces.starts == [len(state) for state in states]
    assert [traces.head + TOKENIZER.encode(state) + traces.tail for state in states] == [
        ids for _, ids, _ in engine.asked
    ]
    assert [len(tokens) for tokens in traces.traces] == [len(values) for values in traces.log_probs]
    lengths = [end - start for start, end in zip(traces.starts, [*traces.starts[1:], len(RESPONSE)], strict=True)]
    steps = [number for number, length in enumerate(lengths) for _ in range(length)]
    assert fields["step"].tolist() == steps


def test_a_state_without_a_score_has_that_before_it_and_the_first_the_rate(stored: list) -> None:
    for session in range(20):
        judge(make_worker(Engine()), session=session)
    unscored = 0
    for output, fields in stored:
        traces, last, expected = Traces.of(output.extra_fields), RATE, []
        ends = [*traces.starts[1:], len(RESPONSE)]
        for start, end, tokens, score in zip(traces.starts, ends, traces.traces, traces.scores, strict=True):
            text = TOKENIZER.decode(tokens)
            said = text.removeprefix(r"so \boxed{").removesuffix("}") if "boxed" in text else None
            assert score == (None if said is None else int(said))
            unscored += said is None
            last = last if said is None else int(said) / 10
            expected += [last] * (end - start)
        assert fields["step_value"].tolist() == pytest.approx(expected)
    assert unscored > 5


def test_each_trace_has_a_seed_of_its_own_and_the_same_when_it_is_asked_again(stored: list) -> None:
    engines = [Engine(), Engine(), Engine()]
    for engine, session in zip(engines, (0, 0, 1), strict=True):
        judge(make_worker(engine), session=session)
    first, again, other = ([params["seed"] for _, _, params in engine.asked] for engine in engines)
    assert first == again
    assert len({*first, *other}) == len(first) + len(other)


def test_validation_asks_nothing(stored: list) -> None:
    engine = Engine()
    judge(make_worker(engine), validate=True)
    output, fields = stored[0]
    assert engine.asked == []
    assert CRITIC_TRACES not in output.extra_fields
    assert "step_value" not in fields


def test_several_turns_are_refused(stored: list) -> None:
    with pytest.raises(ValueError, match="genac: an agent loop returned several turns"):
        judge(make_worker(Engine()), masked=True)
