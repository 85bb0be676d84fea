"""Which groups a step trains on, and what is logged of the others: with verl's replay buffer, over a queue in memory.

Rollouts end in an order of their own in every world; the queue, which needs Ray, is a dictionary.
"""

import random
from collections import Counter
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transfer_queue as tq
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import RandomSampler
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn

from pacs.integration.exchange import FINGERPRINT
from pacs.integration.trainer import group_filter
from pacs.integration.trainer.group_filter import prompts_to_draw, prompts_used
from pacs.integration.trainer.prompts import LOADER_STATE
from pacs.rewards.verdict import VerifierFailure
from tests.integration.trainer.test_baseline_trainer import jagged
from tests.integration.trainer.test_baseline_trainer import trainer as baseline
from tests.integration.trainer.test_update_step import make_trainer

PROMPTS, WANTED, N, EPOCH = 20, 4, 3, 20
FILTER = (
    "algorithm.filter_groups.enable=true",
    f"data.train_batch_size={WANTED}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={WANTED}",
    f"actor_rollout_ref.rollout.n={N}",
)
Rewards = dict[str, list[float]]


def rewards_of(step: int, prompt: int, place: int) -> list[float]:
    """What a prompt's responses earn: by step and prompt, as seeded rollouts do; a third of the groups differ."""
    dice = random.Random(f"{step} {prompt} {place}")
    if dice.random() < 2 / 3:
        return [float(dice.random() < 0.5)] * N
    return [1.0, *(float(dice.random() < 0.5) for _ in range(N - 2)), 0.0]


class World:
    """A queue, a loader and rollouts that end in an order of their own.

    Args:
        trainer: whose they are.
        seed: of the order.
        state: the loader's, to go on from.
    """

    def __init__(self, trainer: Any, monkeypatch: pytest.MonkeyPatch, seed: int, state: Any = None) -> None:
        self.trainer, self.dice = trainer, random.Random(seed)
        self.queue: dict[str, dict[str, Any]] = {}
        self.rewards: Rewards = {}
        self.waiting: list[str] = []
        self.rewards_of, self.left = rewards_of, 1
        self.most_waiting, self.failing, self.infos = 0, lambda prompt: False, lambda reward: {}
        self.prompts: dict[str, int] = {}
        rows = [{"raw_prompt": [{"role": "user", "content": str(i)}], "index": i} for i in range(EPOCH)]
        order = RandomSampler(rows, generator=torch.Generator().manual_seed(3))
        loader = StatefulDataLoader(rows, batch_size=1, sampler=order, collate_fn=collate_fn, drop_last=True)
        if state is not None:
            loader.load_state_dict(state)
        trainer.train_dataloader, trainer.train_dataloader_it = loader, None
        trainer.config.data.gen_batch_size = 1  # as verl sets it beside the loader
        trainer.agent_loop_manager = SimpleNamespace(generate_sequences=self.begin)
        monkeypatch.setattr(tq, "kv_list", lambda: {"train": {key: dict(tag) for key, tag in self.queue.items()}})
        monkeypatch.setattr(
            tq, "kv_batch_put", lambda keys, partition_id, tags: self.queue.update(zip(keys, tags, strict=True))
        )
        monkeypatch.setattr(tq, "kv_clear", self.clear)
        monkeypatch.setattr(tq, "kv_batch_get", self.get)
        monkeypatch.setattr(group_filter, "time", SimpleNamespace(sleep=lambda seconds: self.go_on()))

    def clear(self, keys: Any, partition_id: str) -> None:
        for key in keys:
            self.queue.pop(key, None)

    def begin(self, batch: Any) -> None:
        for uid, index in zip(tu.get(batch, "uid"), tu.get(batch, "index"), strict=True):
            self.prompts[uid] = int(index)
            self.waiting.append(uid)
        self.most_waiting = max(self.most_waiting, len(self.waiting))

    def go_on(self) -> None:
        """A rollout ends: of a prompt, with all of its responses; some prompts lose all, or all but one."""
        uid = self.waiting.pop(self.dice.randrange(len(self.waiting)))
        step, place = map(int, uid.split("-"))
        failed = self.failing(self.prompts[uid])
        self.rewards[uid] = self.rewards_of(step, self.prompts[uid], place)[: self.left if failed else None]
        for session in range(len(self.rewards[uid])):
            self.queue[f"{uid}_{session}_0"] = {"status": "success", "response_len": 2 + session, "seq_len": 9}
        self.queue[uid]["status"] = "failure" if failed else "finished"

    def get(self, keys: list[str], partition_id: str, select_fields: list[str]) -> Any:
        assert set(keys) <= self.queue.keys()  # nothing is asked of that was thrown away
        rows = [key.split("_") for key in keys]
        rewards = [self.rewards[uid][int(session)] for uid, session, _ in rows]
        lengths = [2 + int(session) for _, session, _ in rows]
        fields = {
            "rm_scores": jagged([[0.0] * (length - 1) + [r] for length, r in zip(lengths, rewards, strict=True)]),
            "response_mask": jagged([[1.0] * length for length in lengths]),
            "extra_fields": [
                {"reward_extra_info": {"score": r, **self.infos(r)}, FINGERPRINT: int(session)}
                for r, (_, session, _) in zip(rewards, rows, strict=True)
            ],
        }
        return tu.get_tensordict({name: fields[name] for name in select_fields})

    def step(self, number: int) -> tuple[list[int], dict[str, Any]]:
        """The prompts that a step trains on, in their order, and its metrics."""
        self.trainer.global_steps = number
        self.trainer.timing_raw = {}  # verl's loop makes one for each step
        self.trainer.prepare_step()
        batch, metrics = self.trainer.replay_buffer.sample(number, "train", WANTED)
        batch.reorder(sorted(range(len(batch)), key=lambda row: int(batch.keys[row].split("_")[0].split("-")[1])))
        uids = list(dict.fromkeys(key.split("_")[0] for key in batch.keys))
        grades = self.trainer.grading.grade(batch)
        metrics |= self.trainer.grading.metrics(grades)
        self.grades = self.trainer.grading.sampled(grades)
        assert self.queue.keys() == set(batch.keys)  # all else is gone, prompts among it
        self.queue.clear()
        return [self.prompts[uid] for uid in uids], metrics


def expected(steps: int, stream: list[int]) -> list[tuple[list[int], list[list[float]]]]:
    """By the definition: of each step the prompts that differ, one by one from the stream, and all groups' rewards."""
    place, found = 0, []
    for step in range(1, steps + 1):
        chosen, groups = [], []
        while len(chosen) < WANTED:
            rewards = rewards_of(step, stream[place], len(groups))
            groups.append(rewards)
            if len(set(rewards)) > 1:
                chosen.append(stream[place])
            place += 1
        found.append((chosen, groups))
    return found


def stream_of(world: World, length: int) -> list[int]:
    """The order of the loader's prompts, over several epochs."""
    indices: list[int] = []
    while len(indices) < length:
        indices += [int(batch["index"][0]) for batch in world.trainer.train_dataloader]
    return indices


#: Those that change from run to run: what was sampled beyond the step.
OF_SURPLUS = ("training/filter_groups/discarded_surplus_samples", "pacs/response_tokens/generated_sum")


@pytest.mark.parametrize("algorithm", ["pacs", "grpo"])
def test_the_first_groups_that_differ_are_trained_on_whichever_is_done_first(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 6

    def trainer() -> Any:
        return make_trainer(tmp_path, *FILTER) if algorithm == "pacs" else baseline(algorithm, *FILTER)

    wanted = expected(steps, stream_of(World(trainer(), monkeypatch, 0), 400))
    surplus = []
    for seed in range(3):
        world = World(trainer(), monkeypatch, seed)
        for step, (chosen, groups) in enumerate(wanted, start=1):
            prompts, metrics = world.step(step)
            assert prompts == chosen
            assert sorted(world.grades.rewards.tolist()) == sorted(r for group in groups for r in group)
            assert metrics["training/filter_groups/evicted_samples"] == len(groups) - WANTED
            assert metrics["pacs/groups/mixed_fraction"] == WANTED / len(groups)
            alike = Counter(group[0] for group in groups if len(set(group)) == 1)
            assert metrics["_dapo_filtered_reward_counts"] == alike
            for value, name in ((1, "correct"), (0, "wrong")):
                assert metrics[f"pacs/groups/all_{name}_fraction"] == alike[value] / len(groups)
                assert metrics[f"pacs/rows/{name}_count"] == sum(r == value for group in groups for r in group)
            drawn = len(groups) + metrics["training/filter_groups/discarded_surplus_samples"]
            assert metrics["pacs/response_tokens/generated_sum"] == drawn * sum(range(2, 2 + N))
            assert world.trainer.prompts.drawn == drawn
            surplus.append(metrics["training/filter_groups/discarded_surplus_samples"])
        assert world.most_waiting == WANTED  # max_inflight_gen_batches=1
    assert max(surplus) > 0


def test_a_run_goes_on_with_the_prompts_that_it_would_have_come_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a step ended in an epoch before that in which it drew its last prompt."""
    steps = 8
    alone = World(make_trainer(tmp_path, *FILTER), monkeypatch, 0)
    whole = [alone.step(step) for step in range(1, steps + 1)]
    for saved in range(1, steps):
        first = World(make_trainer(tmp_path, *FILTER), monkeypatch, saved)
        for step in range(1, saved + 1):
            first.step(step)
        torch.save(first.trainer.train_dataloader.state_dict(), tmp_path / LOADER_STATE)
        first.trainer.prompts.save_position(tmp_path)
        state = torch.load(tmp_path / LOADER_STATE, weights_only=False)
        again = World(make_trainer(tmp_path, *FILTER), monkeypatch, 100 + saved, state)
        for step in range(saved + 1, steps + 1):
            prompts, metrics = again.step(step)
            assert prompts == whole[step - 1][0]
            assert {k: v for k, v in metrics.items() if k not in OF_SURPLUS} == {
                k: v for k, v in whole[step - 1][1].items() if k not in OF_SURPLUS
            }


def test_without_a_filter_the_loader_s_own_state_is_saved(tmp_path: Path) -> None:
    made = make_trainer(tmp_path)
    verls = made.replay_buffer.sample.__func__
    assert verls is type(made.replay_buffer).sample
    made.prompts.save_position(tmp_path)
    assert not (tmp_path / LOADER_STATE).exists()
    assert made.prompts.fetch(lambda: "a batch", None) == "a batch"


def test_a_step_that_may_draw_no_more_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly where the first prompts, so many, have too few groups: whichever is done first."""
    limit = "algorithm.filter_groups.max_num_gen_batches="
    needed = [len(groups) for _, groups in expected(6, stream_of(World(make_trainer(tmp_path), monkeypatch, 0), 400))]
    batches = [-(-prompts // WANTED) for prompts in needed]
    most = max(batches) - 1
    step = next(number for number, count in enumerate(batches, start=1) if count > most)
    for seed in range(3):
        world = World(make_trainer(tmp_path, *FILTER, f"{limit}{most}"), monkeypatch, seed)
        for number in range(1, step):
            world.step(number)
        said = rf"step {step}: {most * WANTED} prompts were sampled.*different scores.*{limit}{most} \(0: no limit\)"
        with pytest.raises(RuntimeError, match=said):
            world.step(step)
    # A verifier that does not work is named as what it is.
    world = World(make_trainer(tmp_path, *FILTER, f"{limit}{most}"), monkeypatch, 0)
    world.infos = lambda reward: {"status": "timeout"}
    world.trainer.config.run.faults.verifier_errors = 1.0
    for number in range(1, step):
        world.step(number)
    world.trainer.config.run.faults.verifier_errors = 0.5
    with pytest.raises(VerifierFailure, match="could not grade"):
        world.step(step)


def test_failures_of_the_verifier_count_where_their_groups_are_filtered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every wrong response has timed out, and most of these are in groups that nobody trains on."""

    def step(most: float) -> World:
        world = World(make_trainer(tmp_path, *FILTER, f"run.faults.verifier_errors={most}"), monkeypatch, 0)
        world.infos = lambda reward: {"status": "correct" if reward else "timeout"}
        world.step(1)
        return world

    scores = step(1.0).grades.scores
    wrong = int((scores == 0).sum())
    assert wrong > int((scores[: WANTED * N] == 0).sum())  # those that are trained on come first
    step(wrong / len(scores))
    with pytest.raises(VerifierFailure, match=f"could not grade {wrong} of {len(scores)} responses"):
        step((wrong - 0.5) / len(scores))


def test_a_group_that_failed_takes_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One response is left of each third prompt: it differs from nothing, and is not replaced, as without a filter."""
    stream = stream_of(World(make_trainer(tmp_path), monkeypatch, 0), 100)
    world = World(make_trainer(tmp_path, *FILTER), monkeypatch, 0)
    world.failing = lambda prompt: prompt % 3 == 0
    kept = [p for place, p in enumerate(stream) if p % 3 == 0 or len(set(rewards_of(1, p, place))) > 1]
    assert world.step(1)[0] == kept[:WANTED]
    assert any(prompt % 3 == 0 for prompt in kept[:WANTED])


def test_a_group_that_further_responses_have_mended_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With DARS: what is filtered is known after the second stage, and the pass rate is of all first responses."""

    def both_stages(step: int, prompt: int, place: int) -> list[float]:
        first = rewards_of(step, prompt, place)
        return first if any(first) else [*first, float(prompt % 2), 0.0]

    dars = ("run.rollouts.dars.schedule=equal", "run.rollouts.dars.most=5")
    stream = stream_of(World(make_trainer(tmp_path), monkeypatch, 0), 100)
    world = World(make_trainer(tmp_path, *FILTER, *dars), monkeypatch, 0)
    world.rewards_of = both_stages
    prompts, metrics = world.step(1)
    groups = [both_stages(1, prompt, place) for place, prompt in enumerate(stream)]
    places = [place for place, group in enumerate(groups) if len(set(group)) > 1][:WANTED]
    assert prompts == [stream[place] for place in places]
    sampled = groups[: places[-1] + 1]
    assert metrics["pacs/dars/rescued_count"] == sum(not any(g[:N]) and any(g) for g in sampled) > 0
    assert metrics["pacs/dars/further_count"] == sum(len(g) - N for g in sampled)
    first = [reward for group in sampled for reward in group[:N]]
    assert sorted(world.grades.scores[world.grades.first].tolist()) == sorted(first)


def test_prompts_that_failed_are_replaced_where_verl_is_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those without any response, which are counted as verl counts them; the pass rate knows nothing of them."""
    replaced = "trainer.v1.sampler.sync_refill_failed_groups=true"
    stream = stream_of(World(make_trainer(tmp_path), monkeypatch, 0), 100)
    world = World(make_trainer(tmp_path, *FILTER, replaced), monkeypatch, 0)
    world.failing, world.left = lambda prompt: prompt % 3 == 0, 0
    prompts, metrics = world.step(1)
    differ = [place for place, p in enumerate(stream) if p % 3 and len(set(rewards_of(1, p, place))) > 1][:WANTED]
    assert prompts == [stream[place] for place in differ]
    failed = sum(prompt % 3 == 0 for prompt in stream[: differ[-1] + 1])
    assert metrics["training/rollout_failure/evicted_samples"] == failed > 0
    assert metrics["training/filter_groups/evicted_samples"] == differ[-1] + 1 - failed - WANTED


@pytest.mark.parametrize("metric", ["score", "reward", "parts"])
def test_groups_are_filtered_by_what_is_asked_for(metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right response has earned 1, or less if it is long."""
    value = {"score": lambda r: float(r > 0.5), "reward": lambda r: r, "parts": lambda r: 3 * (r == 1)}[metric]

    def shaped(step: int, prompt: int, place: int) -> list[float]:
        dice = random.Random(f"{prompt} {place}")
        some = dice.choice([[1.0], [0.0], [1.0, 0.75], [1.0, 0.75, 0.0], [0.75, 0.0]])
        return [dice.choice(some) for _ in range(N)]

    world = World(make_trainer(tmp_path, *FILTER, f"algorithm.filter_groups.metric={metric}"), monkeypatch, 0)
    world.rewards_of = shaped
    world.infos = lambda reward: {"parts": 3 * (reward == 1), "score": float(reward > 0.5)}
    prompts, _ = world.step(1)
    stream = stream_of(World(make_trainer(tmp_path), monkeypatch, 0), 100)
    differ = [p for place, p in enumerate(stream) if len({value(r) for r in shaped(1, p, place)}) > 1]
    assert prompts == differ[:WANTED]


def test_a_number_that_is_not_said_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(make_trainer(tmp_path, *FILTER, "algorithm.filter_groups.metric=length"), monkeypatch, 0)
    with pytest.raises(RuntimeError, match=r"filter_groups.metric=length: .* \(it says score\): name one of these"):
        world.step(1)


def test_values_that_are_equal_are_alike_whatever_their_mean_is_rounded_to() -> None:
    """numpy's deviation, by which verl judges, is not 0 of three times 0.1."""
    assert np.std([0.1, 0.1, 0.1]) != 0
    of_group = SimpleNamespace(scores=torch.tensor([0.1, 0.1, 0.1], dtype=torch.float64))
    judge = SimpleNamespace(settings=SimpleNamespace(metric="score"))
    values = group_filter.GroupFilter._values(judge, of_group)  # type: ignore[arg-type]
    assert len(set(values)) == 1


def test_prompts_used_and_to_draw_against_their_definitions() -> None:
    for kept in product((True, False, None), repeat=6):
        for wanted in (1, 2, 3):
            known = kept[: kept.index(None)] if None in kept else kept
            places = [place for place in range(1, len(known) + 1) if sum(map(bool, known[:place])) == wanted]
            assert prompts_used(kept, wanted) == (places[0] if places else None)
            more = prompts_to_draw(kept, wanted, at_once=4, most=7)
            done, waiting = [verdict for verdict in kept if verdict is not None], kept.count(None)
            assert 0 <= more <= max(0, min(4 - waiting, 1))  # six are drawn
            if sum(done) >= wanted:
                assert more == 0
            elif not waiting:
                assert more == 1  # it goes on
            assert prompts_to_draw(kept, wanted, at_once=100, most=None) == (
                0 if sum(done) >= wanted else max(0, wanted + 2 * done.count(False) - 6)
            )
