"""Retries with guidance, in verl's own worker; generation, the grades and the queue are stubs."""

import asyncio
import random
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, _agent_loop_registry
from verl.trainer.ppo.v1 import agent_loop_tq, replay_buffer

from pacs.integration.exchange import GUIDED
from pacs.integration.patches.agent_loops import worker_class
from pacs.integration.patches.guided_rollouts import GuidedRollouts
from pacs.integration.patches.seeded_rollouts import Seeds, response_seed
from pacs.runs.settings import GuidedSettings
from tests.integration.patches.test_dars_rollouts import Queue
from tests.integration.tool_task import tool_tokenizer

N, SEED = 4, 7
TOKENIZER = tool_tokenizer()


class Loop:
    """An agent loop that answers right where `right` says so, by session and by whether and how it was guided."""

    asked: ClassVar[list[dict[str, Any]]]
    right: ClassVar[set[tuple[int, str]]]
    fails: ClassVar[set[int]]
    outputs: ClassVar[int]
    order: ClassVar[random.Random]

    def __init__(self, **_: Any) -> None:
        pass

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        messages, session = kwargs["raw_prompt"], kwargs["session_id"]
        said = "\n".join(f"{message['role']}: {message['content']}" for message in messages)
        times = sum(asked["said"] == said and asked["session"] == session for asked in self.asked)
        self.asked.append({**sampling_params, "said": said, "session": session})
        for _ in range(self.order.randrange(20)):
            await asyncio.sleep(0)
        if session in self.fails:
            raise RuntimeError("the sampler failed")
        is_right = any(session == of and what in said for of, what in self.right)
        text = f"{session}.{times}" + ("right" if is_right else "wrong")
        ids = TOKENIZER(text)["input_ids"]
        output = AgentLoopOutput(
            prompt_ids=TOKENIZER(said)["input_ids"],
            response_ids=ids,
            response_mask=[1] * len(ids),
            response_logprobs=[-0.5 - len(messages)] * len(ids),
            reward_score=float(is_right) - 0.25,
            metrics=AgentLoopMetrics(),
            extra_fields={
                "reward_extra_info": {"score": float(is_right), "status": "correct" if is_right else "wrong"}
                | ({} if is_right else {"feedback": f"session {session} is off"})
            },
        )
        return output if self.outputs == 1 else [output, output]


class Rows(Queue):
    """Keeps the rows, too."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, Any] = {}

    async def async_kv_batch_put(self, keys: list[str], fields: Any, tags: Any, partition_id: str) -> None:
        await super().async_kv_batch_put(keys, fields, tags, partition_id)
        for i, key in enumerate(keys):
            self.rows[key] = fields[i]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Rows:
    queue = Rows()
    for module in (agent_loop_tq, replay_buffer):
        monkeypatch.setattr(module, "tq", queue)
    monkeypatch.setitem(_agent_loop_registry, "stub", {"_target_": f"{__name__}.Loop"})
    for name, value in (("asked", []), ("right", set()), ("fails", set()), ("outputs", 1), ("order", random.Random(0))):
        monkeypatch.setattr(Loop, name, value, raising=False)
    return queue


def make_worker(*, seeded: bool = False, longest: int = 200, **guided: Any) -> Any:
    settings = GuidedSettings(**{"after": "failed", "share": 1.0} | guided).model_dump()
    config = {
        "actor_rollout_ref": {
            "rollout": {"n": N, "val_kwargs": {"n": 2}, "seed": SEED, "prompt_length": longest},
            "model": {},
        },
        "data": {},
        "run": {"rollouts": {"seeded": seeded, "guided": settings}},
    }
    worker = object.__new__(worker_class((GuidedRollouts, Seeds) if seeded else (GuidedRollouts,)))
    worker.config, worker._groups, worker.tokenizer = OmegaConf.create(config), {}, TOKENIZER
    worker.llm_client = worker.processor = worker.hf_model_type = worker.dataset_cls = None
    worker.reward_loop_worker_handles, worker.tools, worker.distillation_enabled = None, [], False
    return worker


def run(worker: Any, *, validate: bool = False, **row: Any) -> None:
    prompt = {
        "uid": "u-0",
        "raw_prompt": [{"role": "user", "content": "7+5"}],
        "agent_name": "stub",
        "global_steps": 3,
        "extra_info": {"hint": "it is even", "solution": "one\ntwo\nthree"},
    }
    about = {"step": 3, "sample_index": 0, "rollout_n": 0, "validate": validate}
    # A session that waits for ever is to fail.
    asyncio.run(asyncio.wait_for(worker._run_prompt(prompt | row, {"top_p": 1.0}, trajectory=about), 20))


def told(queue: Rows, session: int) -> SimpleNamespace:
    """What is in the queue of a session."""
    row = queue.rows[f"u-0_{session}_0"]
    extra = row["extra_fields"].data if hasattr(row["extra_fields"], "data") else row["extra_fields"]
    return SimpleNamespace(
        prompt=TOKENIZER.decode(row["prompts"]),
        text=TOKENIZER.decode(row["responses"]),
        reward=float(row["rm_scores"].sum()),
        logged=row["rollout_log_probs"][0].item(),
        info=extra["reward_extra_info"],
        guided=extra.get(GUIDED),
        asked=row["raw_prompt"],
    )


def test_the_first_right_retry_takes_the_place_of_a_wrong_response(queue: Rows) -> None:
    Loop.right = {(0, "user: 7+5"), (1, "Hint: it is even")}
    run(make_worker())
    right, rescued, wrong = (told(queue, session) for session in (0, 1, 2))
    assert (right.text, right.guided, right.reward) == ("0.0right", None, 0.75)
    # Behind the prompt without guidance, as it was sampled, with the reward of a right one; the verdict is the first's.
    assert (rescued.text, rescued.prompt, rescued.reward) == ("1.0right", "user: 7+5", 0.75)
    assert rescued.info == {"score": 0.0, "status": "wrong", "feedback": "session 1 is off"}
    assert rescued.guided == {"retries": 1, "rescued": True, "tokens": len("1.0wrong")}
    assert rescued.logged == -1.5
    assert (wrong.text, wrong.reward, wrong.info["score"]) == ("2.0wrong", -0.25, 0.0)
    assert wrong.guided == {"retries": 1, "rescued": False, "tokens": len("2.0wrong")}
    assert [asked["said"] for asked in Loop.asked].count("user: 7+5\n\nHint: it is even") == 3
    assert queue.put[-1] == ("u-0", "finished")
    assert len(queue.rows) == N


def test_an_error_answers_the_response_before(queue: Rows) -> None:
    Loop.right = {(2, "user: Look: session 2 is off")}
    run(make_worker(guidance="error", text="Look: {guidance}", retries=3))
    first = "user: 7+5\nassistant: 2.0wrong\nuser: Look: session 2 is off"
    assert [asked["said"] for asked in Loop.asked if asked["session"] == 2] == ["user: 7+5", first]
    assert told(queue, 2).text == "2.0right"
    assert told(queue, 2).prompt == "user: 7+5"
    assert told(queue, 0).guided["retries"] == 3
    # Each retry answers the one before it.
    assert [asked["said"].partition("assistant: ")[2][:3] for asked in Loop.asked if asked["session"] == 0] == [
        "", "0.0", "0.0", "0.1",
    ]  # fmt: skip


@pytest.mark.parametrize(("part", "lines"), [(0.1, "one"), (0.5, "one\ntwo"), (1.0, "one\ntwo\nthree")])
def test_the_first_lines_of_a_solution(queue: Rows, part: float, lines: str) -> None:
    run(make_worker(guidance="solution", part=part, text="Begin:\n{guidance}"))
    assert {asked["said"] for asked in Loop.asked} == {"user: 7+5", f"user: 7+5\n\nBegin:\n{lines}"}


@pytest.mark.parametrize(("after", "retries"), [("failed", 3), ("unsolved", 0)])
def test_a_prompt_with_a_right_response_is_not_unsolved(queue: Rows, after: str, retries: int) -> None:
    Loop.right = {(3, "7+5"), (1, "Hint")}
    run(make_worker(after=after))
    assert len(Loop.asked) == N + retries
    assert told(queue, 1).text == ("1.0right" if retries else "1.0wrong")


def test_an_unsolved_prompt_is_tried_again_up_to_its_share(queue: Rows) -> None:
    Loop.right = {(session, "Hint") for session in range(N)}
    run(make_worker(after="unsolved", share=0.6))
    assert [bool(told(queue, session).guided) for session in range(N)] == [True, True, True, False]


@pytest.mark.parametrize("after", ["failed", "unsolved"])
def test_a_session_that_fails_keeps_nobody_waiting(queue: Rows, after: str) -> None:
    Loop.fails, Loop.right = {2}, {(0, "Hint")}
    run(make_worker(after=after))
    assert queue.put[-1] == ("u-0", "failure")
    assert sorted(queue.rows) == ["u-0_0_0", "u-0_1_0", "u-0_3_0"]
    assert told(queue, 0).guided["rescued"]


def test_without_guidance_or_room_there_is_no_retry(queue: Rows) -> None:
    run(make_worker(), extra_info={"hint": "  "})
    assert len(Loop.asked) == N
    assert told(queue, 1).guided == {"retries": 0, "rescued": False, "tokens": 0}
    queue.rows.clear()
    queue.tags.clear()
    run(make_worker(longest=5))
    assert len(Loop.asked) == 2 * N


def test_validation_is_sampled_once(queue: Rows) -> None:
    run(make_worker(), validate=True)
    assert len(Loop.asked) == 2


def test_every_retry_has_its_seed(queue: Rows) -> None:
    run(make_worker(seeded=True, retries=2))
    seeds = [asked["seed"] for asked in Loop.asked]
    assert len(set(seeds)) == len(seeds) == 3 * N
    # A first response has the seed that it would have without retries.
    firsts = {asked["seed"] for asked in Loop.asked if "Hint" not in asked["said"]}
    assert firsts == {response_seed(SEED, 3, False, [{"role": "user", "content": "7+5"}], i) for i in range(N)}
    again, queue.tags = sorted(seeds), type(queue.tags)(dict)
    Loop.asked.clear()
    Loop.order.seed(9)
    run(make_worker(seeded=True, retries=2))
    assert sorted(asked["seed"] for asked in Loop.asked) == again


def test_a_loop_of_several_outputs_fails(queue: Rows, caplog: pytest.LogCaptureFixture) -> None:
    Loop.outputs = 2
    run(make_worker())
    assert queue.put[-1] == ("u-0", "failure")
    assert "an agent loop returned 2 outputs for one response" in caplog.text
