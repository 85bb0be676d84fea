"""Completions that value a response's steps, in verl's own worker; engine, grader and queue are stubs."""

import asyncio
import itertools
import math
import random
from collections import Counter, defaultdict
from statistics import fmean, pstdev
from typing import Any, ClassVar

import pytest
import torch
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, _agent_loop_registry
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.workers.rollout.replica import TokenOutput

from pacs.algorithm.vineppo import step_advantages
from pacs.integration.exchange import VINE_COLUMNS
from pacs.integration.patches.agent_loops import worker_class
from pacs.integration.patches.seeded_rollouts import Seeds
from pacs.integration.patches.vine_rollouts import VineRollouts
from pacs.integration.trainer.step_rows import group_uid
from pacs.verl_keys.config import most_responses

N, K, LONGEST, SEED = 3, 5, 12, 7
#: Tokens: END ends a step; the others have a value of their own.
END = 9
PROMPT = [1, 2]
#: The responses of a prompt, of one, two and three steps.
RESPONSES = ([3, 4], [3, END, 5], [3, END, 4, END, 6, 7])
STARTS = ([0], [0, 2], [0, 2, 4])


#: Of a row in the queue.
KEPT = ("step", "step_value", "prompts", "responses", "response_mask", "rollout_log_probs")


class Queue:
    """TransferQueue as far as rollouts use it; keeps the rows."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.status: dict[str, str] = {}

    async def async_kv_put(self, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.status[key] = tag["status"]

    async def async_kv_batch_put(self, keys: list[str], fields: Any, tags: Any, partition_id: str) -> None:
        for number, key in enumerate(keys):
            self.rows[key] = {name: fields[name][number] for name in KEPT if name in fields}


class Loop:
    """An agent loop with known responses."""

    turns: ClassVar[int] = 1
    order: ClassVar[random.Random] = random.Random(0)

    def __init__(self, **_: Any) -> None:
        pass

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        for _ in range(self.order.randrange(20)):
            await asyncio.sleep(0)
        response = RESPONSES[kwargs["session_id"]]
        mask = [1] * len(response)
        mask[1:2] = [0 if self.turns > 1 else 1]
        return AgentLoopOutput(
            prompt_ids=PROMPT,
            response_ids=response,
            response_mask=mask,
            response_logprobs=[-token / 10 for token in response],
            metrics=AgentLoopMetrics(),
            extra_fields={},
        )


class Engines:
    """Completes a prefix by random tokens of the request's seed; notes what it is asked for."""

    def __init__(self, fails: int | None = None) -> None:
        self.asked: list[tuple[str, list[int], dict[str, Any]]] = []
        self.fails, self.running = fails, 0

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        self.asked.append((request_id, prompt_ids, sampling_params))
        if len(self.asked) == self.fails:
            raise RuntimeError("the engine is gone")
        self.running += 1
        for _ in range(50):  # longer than a failure takes to be told of
            await asyncio.sleep(0)
        self.running -= 1
        drawn = random.Random(sampling_params["seed"])
        tokens = [drawn.randrange(3, 9) for _ in range(min(4, sampling_params["max_tokens"]))]
        log_probs = [-token / 10 for token in tokens] if sampling_params["logprobs"] else None
        cached = {"num_cached_tokens": len(prompt_ids) - 1}
        return TokenOutput(token_ids=tokens, log_probs=log_probs, extra_fields=cached)


class Tokenizer:
    """A text for each token."""

    def decode(self, ids: list[int]) -> str:
        return "".join("\n\n" if token == END else f"<{token}>" for token in ids)


def reward_of(response: list[int]) -> float:
    return (sum(response) % 8) / 4


def make_worker(engines: Engines, **vine: Any) -> tuple[Any, list[list[int]]]:
    """A worker that is not asked to load a model; and the responses that it has graded."""
    settings = {"completions": K, "delimiter": "\n\n", "least_tokens": 1, "most_steps": 25, **vine}
    rollout = {"n": N, "val_kwargs": {"n": 1}, "seed": SEED, "response_length": LONGEST}
    config = {
        "actor_rollout_ref": {"rollout": rollout, "model": {}},
        "data": {},
        "run": {"rollouts": {"seeded": True, "vine": settings, "dars": {"schedule": None}}},
        "algorithm": {},
    }
    worker = object.__new__(worker_class((VineRollouts, Seeds)))
    worker.config, worker.llm_client, worker.tokenizer = OmegaConf.create(config), engines, Tokenizer()
    worker._sampling, worker._prompt_values, worker.lean = {}, {}, False
    worker._text = lambda token: worker.tokenizer.decode([token])
    worker.processor = worker.hf_model_type = worker.dataset_cls = None
    worker.reward_loop_worker_handles, worker.tools, worker.distillation_enabled = None, [], False
    graded: list[list[int]] = []

    async def grade(outputs: list[Any], kwargs: dict[str, Any]) -> None:
        (output,) = outputs
        graded.append(list(output.response_ids))
        if output.reward_score is not None:
            graded.pop()
            return
        output.reward_score = reward_of(output.response_ids)
        output.extra_fields["reward_extra_info"] = {}

    worker._grade = grade
    return worker, graded


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    queue = Queue()
    monkeypatch.setattr(agent_loop_tq, "tq", queue)
    monkeypatch.setitem(_agent_loop_registry, "stub", {"_target_": f"{__name__}.Loop"})
    return queue


def run(worker: Any, *uids: str, validate: bool = False) -> None:
    async def prompts() -> None:
        about = {"step": 3, "sample_index": 0, "rollout_n": 0, "validate": validate}
        asked = [
            {"uid": uid, "raw_prompt": [{"role": "user", "content": uid}], "agent_name": "stub", "global_steps": 3}
            for uid in uids
        ]
        await asyncio.gather(*(worker._run_prompt(each, {"logprobs": True}, trajectory=about) for each in asked))

    asyncio.run(prompts())


def test_a_step_has_the_mean_reward_of_completions_of_what_stands_before_it(queue: Queue) -> None:
    engines = Engines()
    worker, graded = make_worker(engines)
    run(worker, "3-0", "3-1")
    assert queue.status == {"3-0": "finished", "3-1": "finished"}
    by_prefix: dict[tuple[str, tuple[int, ...]], list[float]] = defaultdict(list)
    for request_id, prompt_ids, params in engines.asked:
        assert prompt_ids[: len(PROMPT)] == PROMPT
        prefix = prompt_ids[len(PROMPT) :]
        assert (params["max_tokens"], params["logprobs"]) == (LONGEST - len(prefix), False)
        drawn = random.Random(params["seed"])
        tail = [drawn.randrange(3, 9) for _ in range(min(4, params["max_tokens"]))]
        assert prefix + tail in graded
        uid, session = request_id.split("_")
        by_prefix[uid if not prefix else f"{uid}_{session}", tuple(prefix)].append(reward_of(prefix + tail))
    assert {len(rewards) for rewards in by_prefix.values()} == {K}
    assert len(by_prefix) == 2 * (1 + 1 + 2)  # each prompt once, then the later steps of each response
    assert len({params["seed"] for _, _, params in engines.asked}) == len(engines.asked)
    for uid in ("3-0", "3-1"):
        for session, (response, starts) in enumerate(zip(RESPONSES, STARTS, strict=True)):
            row = queue.rows[f"{uid}_{session}_0"]
            steps = [sum(start <= t for start in starts) - 1 for t in range(len(response))]
            assert row["step"].tolist() == steps
            means = []
            for start in starts:
                rewards = by_prefix[uid if start == 0 else f"{uid}_{session}", tuple(response[:start])]
                means.append(sum(rewards) / K)
            assert row["step_value"].tolist() == pytest.approx([means[step] for step in steps])
    assert worker._prompt_values == {}
    assert worker._sampling == {}


def test_values_and_advantages_are_the_exact_ones_within_sampling_error(queue: Queue) -> None:
    """The engine draws four tokens of six, as far as there is room: every tail of a prefix is enumerated."""
    number = 400
    worker, _ = make_worker(Engines(), completions=number)
    run(worker, "3-0")
    wrong = []
    for session, (response, starts) in enumerate(zip(RESPONSES, STARTS, strict=True)):
        row = queue.rows[f"3-0_{session}_0"]
        values, errors = [], []
        for start in starts:
            tails = itertools.product(range(3, 9), repeat=min(4, LONGEST - start))
            rewards = [reward_of([*response[:start], *tail]) for tail in tails]
            values.append(fmean(rewards))
            errors.append(pstdev(rewards) / number**0.5)
        mask, steps = torch.ones(1, len(response), dtype=torch.bool), row["step"].int()
        label = torch.tensor([reward_of(response)], dtype=torch.float64)
        found = step_advantages(label, row["step"][None], row["step_value"][None].double(), mask)[0]
        exact = [after - before for before, after in itertools.pairwise([*values, float(label)])]
        for step, (before, after) in enumerate(itertools.pairwise([*errors, 0.0])):
            (advantage,) = found[steps == step].unique().tolist()
            assert advantage == pytest.approx(exact[step], abs=4 * math.hypot(before, after))
            wrong.append(abs(advantage - exact[step]))
        assert float(found[(steps.diff(append=torch.tensor([-1])) != 0)].sum()) == pytest.approx(
            float(label) - float(row["step_value"][0])
        )
    assert max(wrong) > 0  # they are sampled


def test_the_same_run_draws_the_same_completions_in_any_order(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []
    for number, uids in enumerate((("3-0", "3-1"), ("3-1", "3-0"), ("3-0", "3-1"))):
        monkeypatch.setattr(Loop, "order", random.Random(number))
        engines = Engines()
        run(make_worker(engines)[0], *uids)
        seeds.append(Counter((tuple(prompt), params["seed"]) for _, prompt, params in engines.asked))
    assert seeds[0] == seeds[1] == seeds[2]


def test_what_completions_took_is_said_of_the_rows_and_counted_once(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[dict[str, Any]] = []
    as_dict = AgentLoopOutput.as_dict

    def noting(self: AgentLoopOutput) -> dict[str, Any]:
        said.append(dict(self.extra_fields))
        return as_dict(self)

    monkeypatch.setattr(AgentLoopOutput, "as_dict", noting)
    engines = Engines()
    run(make_worker(engines)[0], "3-0")
    steps, *costs = ([extra[name] for extra in said] for name in VINE_COLUMNS)
    assert sorted(steps) == [1, 2, 3]
    assert list(map(sum, costs)) == [
        sum(min(4, params["max_tokens"]) for _, _, params in engines.asked),
        sum(len(prompt) for _, prompt, _ in engines.asked),
        sum(len(prompt) - 1 for _, prompt, _ in engines.asked),
    ]


def test_completions_are_rows_of_groups_of_their_prefixes(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with the prefix in its prompt, trained on what follows that, graded as the whole response."""
    rewards: dict[tuple[int, ...], float] = {}
    as_dict = AgentLoopOutput.as_dict

    def noting(self: AgentLoopOutput) -> dict[str, Any]:
        rewards[tuple(self.prompt_ids + self.response_ids)] = float(self.reward_score)
        return as_dict(self)

    monkeypatch.setattr(AgentLoopOutput, "as_dict", noting)
    engines = Engines()
    worker, graded = make_worker(engines, train_completions=True, most_steps=4)
    run(worker, "3-0", "3-1")
    groups: dict[str, list[list[int]]] = defaultdict(list)
    for key, row in queue.rows.items():
        session = int(key.split("_")[1])
        sequence = row["prompts"].tolist() + row["responses"].tolist()
        assert row["response_mask"].tolist() == [1] * len(row["responses"])
        assert row["rollout_log_probs"].tolist() == pytest.approx([-token / 10 for token in row["responses"].tolist()])
        assert "step" not in row
        assert rewards[tuple(sequence)] == reward_of(sequence[len(PROMPT) :])
        if session >= N:
            groups[group_uid(key, worker.config)].append(sequence[: len(row["prompts"])])
        else:
            assert group_uid(key, worker.config) == key.split("_")[0]
            assert row["prompts"].tolist() == PROMPT
    # A group for each later step of each response; of its prompts all are the same.
    wanted = sorted(
        PROMPT + response[:start] for response, starts in zip(RESPONSES, STARTS, strict=True) for start in starts[1:]
    )
    for uid in ("3-0", "3-1"):
        of_prompt = [prompts for group, prompts in groups.items() if group.startswith(f"{uid}/")]
        assert sorted(prompts[0] for prompts in of_prompt) == wanted
        assert all(len(prompts) == K and prompts == [prompts[0]] * K for prompts in of_prompt)
    assert len(groups) == 2 * 3
    # Nothing is asked of the prompt itself, whose group its responses are; and each is graded once.
    assert len(engines.asked) == 2 * 3 * K
    assert len(graded) == len(queue.rows) == 2 * (N + 3 * K)
    assert most_responses(worker.config) == N * (1 + 3 * K)


def test_a_failed_completion_that_is_trained_fails_its_prompt(queue: Queue) -> None:
    engines = Engines(fails=2)
    run(make_worker(engines, train_completions=True)[0], "3-0", "3-1")
    assert sorted(queue.status.values()) == ["failure", "finished"]
    assert engines.running == 0


def test_a_validation_values_nothing(queue: Queue) -> None:
    engines = Engines()
    run(make_worker(engines)[0], "3-0", validate=True)
    assert engines.asked == []
    assert list(queue.rows) == ["3-0_0_0"]


def test_a_failed_completion_fails_its_prompt_when_all_others_have_settled(queue: Queue) -> None:
    engines = Engines(fails=K + 2)
    worker, _ = make_worker(engines)
    run(worker, "3-0", "3-1")
    assert sorted(queue.status.values()) == ["failure", "finished"]
    assert engines.running == 0
    assert worker._prompt_values == {}
    assert worker._sampling == {}


def test_no_completion_goes_on_behind_a_failure(queue: Queue) -> None:
    """Of a prompt with one response of one step: the others of its completions take longer than the one that fails."""
    engines = Engines(fails=2)
    worker, _ = make_worker(engines)
    worker.config.actor_rollout_ref.rollout.n = 1
    put, running = queue.async_kv_put, []

    async def noting(key: str, partition_id: str, tag: dict[str, Any]) -> None:
        running.append((tag["status"], engines.running))
        await put(key, partition_id, tag)

    queue.async_kv_put = noting
    run(worker, "3-0")
    assert running == [("running", 0), ("failure", 0)]


def test_several_turns_are_refused_by_the_setting_and_the_mend(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Loop, "turns", 2)
    run(make_worker(Engines())[0], "3-0")
    assert queue.status == {"3-0": "failure"}
    assert "run.rollouts.vine" in caplog.text
    assert "single_turn_agent" in caplog.text


def test_the_settings_cut_the_steps(queue: Queue) -> None:
    run(make_worker(Engines(), most_steps=2)[0], "3-0")
    assert queue.rows["3-0_2_0"]["step"].tolist() == [0, 0, 1, 1, 1, 1]
    queue.rows.clear()
    run(make_worker(Engines(), delimiter="<4>", least_tokens=2)[0], "3-0")
    assert queue.rows["3-0_2_0"]["step"].tolist() == [0, 0, 0, 1, 1, 1]
    assert torch.equal(queue.rows["3-0_0_0"]["step"], torch.zeros(2))
