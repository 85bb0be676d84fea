"""Which prompts a step with partial rollouts trains on: verl's own replay buffer, over a queue in memory.

A rollout takes as many looks at the queue as it has tokens, log-normal. Lengths, failures and the moment of a kill are
drawn anew in every world; what is asked of a world holds in all of them.
"""

import copy
import math
import random
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transfer_queue as tq
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import RandomSampler
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import replay_buffer
from verl.trainer.ppo.v1.replay_buffer import ReplayBufferAsync
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from pacs.integration.exchange import REPEAT
from pacs.integration.trainer.failed_prompts import NONE_LEFT
from pacs.integration.trainer.separate import SeparateEngines
from tests.integration.trainer.test_baseline_trainer import trainer as baseline
from tests.integration.trainer.test_update_step import make_trainer

PROMPTS, N, EPOCH, STEPS = 4, 3, 10, 12
SIZES = (
    f"data.train_batch_size={PROMPTS}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}",
    f"actor_rollout_ref.rollout.n={N}",
)


class World:
    """A queue, a loader and rollouts; `failing` is the chance of a prompt to fail.

    Args:
        trainer: whose they are.
        seed: of lengths and failures.
        saved: a queue and a loader's state, to go on from.
    """

    def __init__(
        self, trainer: Any, monkeypatch: pytest.MonkeyPatch, seed: int, failing: float = 0.0, saved: Any = None
    ) -> None:
        self.trainer, self.dice, self.failing = trainer, random.Random(seed), failing
        self.queue: dict[str, dict[str, Any]] = {}
        self.fields: dict[str, Any] = {}
        #: Of a prompt that is being sampled: tokens that its longest response still lacks.
        self.lacking: dict[str, int] = {}
        self.handed_out: list[str] = []
        self.failed: list[str] = []
        self.repeats: dict[str, tuple[int, int]] = {}
        rows = [{"raw_prompt": [{"role": "user", "content": str(i)}], "index": i} for i in range(EPOCH)]
        order = RandomSampler(rows, generator=torch.Generator().manual_seed(3))
        loader = StatefulDataLoader(rows, batch_size=1, sampler=order, collate_fn=collate_fn, drop_last=True)
        trainer.train_dataloader, trainer.train_dataloader_it = loader, None
        trainer.config.data.gen_batch_size = 1  # as verl sets it beside the loader
        trainer.phases.last_step = STEPS
        trainer.checkpoint_manager = SimpleNamespace(abort_replicas=lambda: None)
        trainer.agent_loop_manager = SimpleNamespace(generate_sequences=self.begin)
        monkeypatch.setattr(tq, "kv_list", lambda *_: {"train": {key: dict(tag) for key, tag in self.queue.items()}})
        monkeypatch.setattr(tq, "kv_batch_put", self.put)
        monkeypatch.setattr(tq, "kv_clear", self.clear)
        monkeypatch.setattr(tq, "kv_batch_get", lambda keys, partition_id: self.fields_of(keys))
        clock = SimpleNamespace(sleep=lambda seconds: self.go_on(), time=lambda: 0.0)
        monkeypatch.setattr(replay_buffer, "time", clock)
        if saved is not None:
            self.queue, self.fields, state = copy.deepcopy(saved)
            loader.load_state_dict(state)
            trainer.partial.clear_trained()

    def put(self, keys: Any, partition_id: str, tags: Any, fields: Any = None) -> None:
        self.queue.update(zip(keys, tags, strict=True))
        if fields is not None:
            for place, key in enumerate(keys):
                self.fields[key] = {
                    name: tu.get(fields, name)[place] for name in ("uid", "index", "raw_prompt", REPEAT)
                }

    def clear(self, keys: Any, partition_id: str) -> None:
        for key in keys:
            self.queue.pop(key, None)

    def fields_of(self, keys: list[str]) -> Any:
        rows = [self.fields[key] for key in keys]
        return tu.get_tensordict({name: [row[name] for row in rows] for name in rows[0]})

    def begin(self, batch: Any) -> None:
        for place, uid in enumerate(tu.get(batch, "uid")):
            self.lacking[uid] = max(1, round(8 * math.exp(self.dice.gauss(0, 1))))
            self.queue[uid] = {**self.queue[uid], "status": "running"}
            self.handed_out.append(uid)
            self.repeats[uid] = int(tu.get(batch, "index")[place]), int(tu.get(batch, REPEAT)[place])

    def go_on(self) -> None:
        """A token of each response."""
        for uid in list(self.lacking):
            self.lacking[uid] -= 1
            if self.lacking[uid]:
                continue
            del self.lacking[uid]
            fails = self.dice.random() < self.failing
            self.queue[uid] = {**self.queue[uid], "status": "failure" if fails else "finished"}
            self.failed += [uid] if fails else []
            written = self.trainer.global_steps - 1
            for session in range(N - fails):
                tag = {"min_global_steps": min(written, int(uid.split("-")[0]) - 1), "max_global_steps": written}
                self.queue[f"{uid}_{session}_0"] = {"status": "success", "response_len": 2, **tag}

    def step(self, number: int) -> tuple[list[str], dict[str, Any]]:
        """The prompts that a step trains on, and its metrics; their rows stay in the queue, as in verl's step."""
        self.trainer.global_steps = number
        self.trainer.timing_raw = {}  # verl's loop makes one for each step
        self.trainer.prepare_step()
        batch, metrics = self.trainer.replay_buffer.sample(number, "train", PROMPTS)
        uids = [key.split("_")[0] for key in batch.keys]
        assert all(uids.count(uid) == N for uid in uids)
        self.of_step = batch.keys
        return list(dict.fromkeys(uids)), metrics

    def saved(self) -> Any:
        """As a checkpoint of the step has it: with its own rows."""
        return copy.deepcopy((self.queue, self.fields, self.trainer.train_dataloader.state_dict()))

    def end_step(self) -> None:
        self.clear(self.of_step, "train")


def trainers(tmp_path: Path, algorithm: str, *settings: str) -> Any:
    return make_trainer(tmp_path, *SIZES, *settings) if algorithm == "pacs" else baseline(algorithm, *SIZES, *settings)


@pytest.mark.parametrize("ahead", ["null", "0.5"])
def test_the_wait_for_agent_loops_that_start_is_timed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: str
) -> None:
    """verl hands out prompts by a call that returns when every agent loop's process has taken its part."""
    made = trainers(tmp_path, "pacs", f"run.rollouts.partial.ahead={ahead}")
    World(made, monkeypatch, seed=0)
    made.agent_loop_manager = SimpleNamespace(generate_sequences=lambda batch: time.sleep(0.1))
    made.global_steps, made.timing_raw = 1, {}
    made.prepare_step()
    assert made.timing_raw["prepare"] >= 0.1


@pytest.mark.parametrize("algorithm", ["pacs", "grpo"])
@pytest.mark.parametrize(("ahead", "staleness"), [(0.25, 1), (0.5, 1), (1.0, 1), (1.0, 2), (0.5, 3)])
def test_each_prompt_is_trained_once_and_none_is_too_old(
    algorithm: str, ahead: float, staleness: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (f"run.rollouts.partial.ahead={ahead}", f"run.rollouts.partial.max_staleness={staleness}")
    unfinished = largest = 0.0
    for seed in range(6):
        world = World(trainers(tmp_path, algorithm, *settings), monkeypatch, seed, failing=0.03)
        assert isinstance(world.trainer.replay_buffer, ReplayBufferAsync)
        trained: list[str] = []
        for step in range(1, STEPS + 1):
            uids, metrics = world.step(step)
            ages = [step - int(uid.split("-")[0]) for uid in uids]
            assert max(ages) <= staleness
            assert metrics["pacs/partial/staleness_max"] == max(ages)
            assert metrics["pacs/partial/staleness_mean"] == sum(ages) / PROMPTS
            waiting = metrics["pacs/partial/unfinished_count"] + metrics["pacs/partial/finished_count"]
            assert waiting == (min(int(ahead * PROMPTS), (STEPS - step) * PROMPTS))
            unfinished += metrics["pacs/partial/unfinished_count"]
            largest = max(largest, *ages)
            trained += uids
            world.end_step()
        assert len(set(trained)) == len(trained) == STEPS * PROMPTS
        assert sorted(trained + world.failed) == sorted(world.handed_out)  # nothing was for nothing
        assert world.queue == {}
        of_step: dict[tuple[str, int], list[int]] = {}
        for uid, (index, repeat) in world.repeats.items():
            of_step.setdefault((uid.split("-")[0], index), []).append(repeat)
        assert all(sorted(repeats) == list(range(len(repeats))) for repeats in of_step.values())
    assert unfinished > 0
    assert (largest == 1) if staleness == 1 else (1 <= largest <= staleness)


def test_what_a_kill_has_cut_off_is_handed_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(8):
        settings = ("run.rollouts.partial.ahead=0.75",)
        world = World(make_trainer(tmp_path, *SIZES, *settings), monkeypatch, seed)
        killed, trained = 1 + seed % (STEPS - 1), []
        for step in range(1, killed + 1):
            trained += world.step(step)[0]
            checkpoint = world.saved()
            world.end_step()
        world.step(killed + 1)  # which no checkpoint knows of
        other = World(make_trainer(tmp_path, *SIZES, *settings), monkeypatch, seed + 100, saved=checkpoint)
        of_queue = [key for key, tag in other.queue.items() if tag.get("is_prompt")]
        assert len(of_queue) == min(3, (STEPS - killed) * PROMPTS)
        other.trainer.global_steps = killed + 1
        other.trainer._reissue_inflight_prompts()
        for step in range(killed + 1, STEPS + 1):
            trained += other.step(step)[0]
            other.end_step()
        assert len(set(trained)) == len(trained) == STEPS * PROMPTS
        assert other.queue == {}
        assert set(other.handed_out) <= set(trained)


def test_prompts_that_all_fail_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_trainer(tmp_path, *SIZES, "run.rollouts.partial.ahead=0.5"), monkeypatch, 0, failing=1.0)
    with pytest.raises(RuntimeError, match=f"4 prompts of step 1 have {NONE_LEFT}|[4-9] prompts of step 1"):
        world.step(1)


@pytest.mark.parametrize(("nodes", "stops"), [(0, 1), (1, 0)])
def test_engines_with_gpus_of_their_own_go_on_during_the_update(
    nodes: int, stops: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = (
        "run.rollouts.partial.ahead=1",
        f"actor_rollout_ref.rollout.nnodes={nodes}",
        "method.reference.reset_every=3",
    )
    made = make_trainer(tmp_path, *SIZES, *settings)
    world, stopped = World(made, monkeypatch, 0), []
    made.checkpoint_manager = SimpleNamespace(abort_replicas=lambda: stopped.append(1))
    world.step(1)
    assert len(stopped) == stops
    made._init_resource_pool_mgr()
    assert made._enable_hybrid_replicas == (nodes == 0)
    assert made._get_n_gpus_for_throughput() == 1 + nodes
    # Policy and reference stay in one process, whoever has the engines.
    assert made.role_worker_mapping.keys() == {Role.ActorRolloutRef}


def test_engines_apart_stay_awake() -> None:
    awake = SeparateEngines.__new__(SeparateEngines)
    awake.replicas = [SimpleNamespace(sleep=lambda: pytest.fail("the update waits for them"))]
    awake.sleep_replicas()


def test_without_it_verls_buffer_is_the_synchronous_one(tmp_path: Path) -> None:
    made = make_trainer(tmp_path, *SIZES)
    assert made.partial is None
    assert made.trainer_mode == "sync"
    assert not isinstance(made.replay_buffer, ReplayBufferAsync)
