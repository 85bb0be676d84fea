"""The second stage of rollouts, in verl's own worker and replay buffer; generation and the queue are stubs."""

import asyncio
import logging
import random
from collections import defaultdict
from typing import Any, ClassVar

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, _agent_loop_registry
from verl.trainer.ppo.v1 import agent_loop_tq, replay_buffer
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from pacs.algorithm.dars import extra_responses
from pacs.integration.patches.agent_loops import worker_class
from pacs.integration.patches.dars_rollouts import DarsRollouts
from pacs.integration.patches.seeded_rollouts import Seeds, response_seed

N, MOST, SEED = 4, 14, 7
#: Of each prompt: the rewards of all the responses that could be sampled, by session.
REWARDS = {
    "none": [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    "one": [0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0],
    "half": [1, 0, 1, 0] + [1] * 10,
    "all": [1] * 14,
}


class Queue:
    """TransferQueue as far as rollouts use it, in this process; notes what is put, in order."""

    def __init__(self) -> None:
        self.tags: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        self.put: list[tuple[str, str]] = []

    async def async_kv_put(self, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.put.append((key, tag["status"]))
        self.tags[partition_id].setdefault(key, {"is_prompt": True, "global_steps": 1}).update(tag)

    async def async_kv_batch_put(self, keys: list[str], fields: Any, tags: Any, partition_id: str) -> None:
        await asyncio.sleep(0)
        for key, tag in zip(keys, tags, strict=True):
            assert key not in self.tags[partition_id], f"{key} was put twice"
            self.put.append((key, tag["status"]))
            self.tags[partition_id][key] = tag

    def kv_list(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {partition: dict(tags) for partition, tags in self.tags.items()}

    def kv_clear(self, partition_id: str, keys: list[str]) -> None:
        for key in keys:
            del self.tags[partition_id][key]


class Loop:
    """An agent loop whose responses take random time, and whose rewards are known."""

    asked: ClassVar[list[dict[str, Any]]]
    fails: ClassVar[set[tuple[str, int]]]
    outputs: ClassVar[int]
    shaped: ClassVar[bool]
    order: ClassVar[random.Random]

    def __init__(self, **_: Any) -> None:
        pass

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        self.asked.append({**sampling_params, "uid": kwargs["uid"], "session": kwargs["session_id"]})
        for _ in range(self.order.randrange(20)):
            await asyncio.sleep(0)
        if (kwargs["uid"], kwargs["session_id"]) in self.fails:
            raise RuntimeError("the sampler failed")
        score = float(REWARDS[kwargs["uid"]][kwargs["session_id"]])
        output = AgentLoopOutput(
            prompt_ids=[1, 2],
            response_ids=[3, 4, 5],
            response_mask=[1, 1, 1],
            reward_score=score - 0.5 * self.shaped,
            metrics=AgentLoopMetrics(),
            extra_fields={"reward_extra_info": {"score": score} if self.shaped else {}},
        )
        return output if self.outputs == 1 else [output.model_copy(deep=True) for _ in range(self.outputs)]


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Queue:
    queue = Queue()
    for module in (agent_loop_tq, replay_buffer):
        monkeypatch.setattr(module, "tq", queue)
    monkeypatch.setitem(_agent_loop_registry, "stub", {"_target_": f"{__name__}.Loop"})
    for name, value in (
        ("asked", []),
        ("fails", set()),
        ("outputs", 1),
        ("shaped", False),
        ("order", random.Random(0)),
    ):
        monkeypatch.setattr(Loop, name, value, raising=False)
    return queue


def make_worker(schedule: str = "hardness", *, seeded: bool = False) -> Any:
    """A worker that is not asked to load a model."""
    config = {
        "actor_rollout_ref": {"rollout": {"n": N, "val_kwargs": {"n": 5}, "seed": SEED}, "model": {}},
        "data": {},
        "run": {"rollouts": {"seeded": seeded, "dars": {"schedule": schedule, "most": MOST}}},
    }
    worker = object.__new__(worker_class((DarsRollouts, Seeds) if seeded else (DarsRollouts,)))
    worker.config, worker._first_stages = OmegaConf.create(config), {}
    worker.llm_client = worker.tokenizer = worker.processor = worker.hf_model_type = worker.dataset_cls = None
    worker.reward_loop_worker_handles, worker.tools, worker.distillation_enabled = None, [], False
    return worker


def run(worker: Any, *uids: str, validate: bool = False, **prompt: Any) -> None:
    """All prompts at once, as `generate_sequences` starts them."""

    async def prompts() -> None:
        about = {"step": 3, "sample_index": 0, "rollout_n": 0, "validate": validate}
        asked = [
            {"uid": uid, "raw_prompt": [{"role": "user", "content": uid}], "agent_name": "stub", "global_steps": 3}
            for uid in uids
        ]
        await asyncio.gather(*(worker._run_prompt(each | prompt, {"top_p": 1.0}, trajectory=about) for each in asked))

    asyncio.run(prompts())


def sessions(queue: Queue, uid: str, partition: str = "train") -> list[int]:
    """Of a prompt's rows."""
    keys = [key for key in queue.tags[partition] if key.startswith(f"{uid}_")]
    return sorted(int(key.split("_")[1]) for key in keys)


@pytest.mark.parametrize("schedule", ["equal", "hardness"])
def test_hard_prompts_get_as_many_as_the_schedule_says_and_are_finished_once(schedule: Any, queue: Queue) -> None:
    run(make_worker(schedule), *REWARDS)
    for uid, rewards in REWARDS.items():
        extra = extra_responses(rewards[:N], schedule, MOST)
        assert sessions(queue, uid) == list(range(N + extra))
        statuses = [status for key, status in queue.put if key == uid]
        assert statuses == ["running", "finished"]
        rows = [place for place, (key, _) in enumerate(queue.put) if key.startswith(f"{uid}_")]
        assert max(rows) < queue.put.index((uid, "finished"))
        # The second stage is drawn when the last of the first ones is graded, and not before.
        asked = [each["session"] for each in Loop.asked if each["uid"] == uid]
        assert sorted(asked[:N]) == list(range(N))
    sizes = {"equal": [10, 6, 4, 4], "hardness": [14, 8, 4, 4]}
    assert [len(sessions(queue, uid)) for uid in REWARDS] == sizes[schedule]


def test_what_is_taken_off_a_reward_makes_no_prompt_harder(queue: Queue, monkeypatch: Any) -> None:
    monkeypatch.setattr(Loop, "shaped", True)
    run(make_worker("equal"), *REWARDS)
    assert [len(sessions(queue, uid)) for uid in REWARDS] == [10, 6, 4, 4]


def test_no_prompt_waits_for_the_first_stage_of_another(queue: Queue, monkeypatch: Any) -> None:
    run(make_worker(), *REWARDS)
    second = [place for place, each in enumerate(Loop.asked) if each["session"] >= N]
    first = [place for place, (key, _) in enumerate(queue.put) if key.count("_") == 2 and int(key.split("_")[1]) < N]
    began = min(
        place for place, (key, _) in enumerate(queue.put) if key.count("_") == 2 and int(key.split("_")[1]) >= N
    )
    assert second
    assert began < max(first)


def test_verls_replay_buffer_takes_a_prompt_when_all_of_it_is_there(queue: Queue) -> None:
    buffer = ReplayBuffer("sync", {}, None, "drop", {})
    worker, looks = make_worker(), []
    original = queue.async_kv_batch_put

    async def look(**row: Any) -> None:
        await original(**row)
        buffer._sync_metadata_from_transfer_queue()
        looks.append(set(buffer.finished_keys["train"]))

    queue.async_kv_batch_put = look  # type: ignore[method-assign]
    run(worker, "none")
    assert looks == [set()] * MOST
    batch, _ = buffer.sample(global_steps=3, partition_id="train", batch_size=1)
    assert sorted(batch.keys) == sorted(f"none_{session}_0" for session in range(MOST))
    buffer._sync_metadata_from_transfer_queue()
    assert buffer.finished_keys["train"] == set()


def test_each_response_of_both_stages_has_its_own_seed_and_the_same_one_again(queue: Queue) -> None:
    """So that a run that was killed in a second stage samples the same once more."""
    run(make_worker(seeded=True), *REWARDS)
    seeds = {(each["uid"], each["session"]): each["seed"] for each in Loop.asked}
    assert len(set(seeds.values())) == len(Loop.asked) > N * len(REWARDS)
    for (uid, session), given in seeds.items():
        messages = [{"role": "user", "content": uid}]
        assert given == response_seed(SEED, 3, False, messages, session)


def test_validation_has_one_stage(queue: Queue) -> None:
    run(make_worker(), "none", validate=True)
    assert sessions(queue, "none", "val") == [0, 1, 2, 3, 4]


def test_a_prompt_with_a_number_of_its_own_begins_with_that(queue: Queue) -> None:
    run(make_worker(), "none", __rollout_n__=2)
    extra = extra_responses([0, 0], "hardness", MOST)
    assert 0 < extra < MOST - 2
    assert sessions(queue, "none") == [0, 1, *range(N, N + extra)]  # below N the trainer would take them for first ones


@pytest.mark.parametrize(("session", "rows"), [(1, {0, 2, 3}), (5, set(range(MOST)) - {5})])
def test_a_response_that_fails_makes_its_prompt_fail_when_all_others_have_settled(
    session: int, rows: set[int], queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    Loop.fails = {("none", session)}
    worker = make_worker()
    with caplog.at_level(logging.ERROR):
        run(worker, "none", "half")
    assert set(sessions(queue, "none")) == rows
    assert [status for key, status in queue.put if key == "none"] == ["running", "failure"]
    assert queue.put.index(("none", "failure")) > max(i for i, (key, _) in enumerate(queue.put) if "none_" in key)
    assert [status for key, status in queue.put if key == "half"] == ["running", "finished"]
    assert "the sampler failed" in caplog.text
    assert worker._first_stages == {}


def test_a_reward_that_is_not_finite_is_left_to_the_grading(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REWARDS, "none", [0, float("nan"), 0, 0])
    run(make_worker(), "none")
    assert sessions(queue, "none") == [0, 1, 2, 3]
    assert queue.put[-1] == ("none", "finished")


def test_an_agent_loop_of_several_outputs_is_refused(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    Loop.outputs = 2
    with caplog.at_level(logging.ERROR):
        run(make_worker(), "none")
    assert "returned 2 outputs for one response" in caplog.text
    assert sessions(queue, "none") == []
    assert queue.put[-1] == ("none", "failure")
    run(make_worker(), "all", validate=True)  # where there is no second stage they may be as many as they like
    assert queue.put[-1] == ("all", "finished")
