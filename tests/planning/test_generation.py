"""Lengths, the seconds of generation, and the plan beside what was measured."""

from dataclasses import replace

import numpy as np
import pytest

from pacs.composing import compose_run
from pacs.planning.architecture import PUBLISHED
from pacs.planning.calibration import beside, calibrated
from pacs.planning.devices import GIB, GPUS
from pacs.planning.generation import decoding_steps, generation
from pacs.planning.lengths import Lengths, Sample, assumed, drawn
from pacs.planning.measured import MEASURED, MeasuredStep, basis
from pacs.planning.memory import cache_tokens, phases
from pacs.planning.partial import FIRST, STEPS, follow
from pacs.planning.read_config import read_workload
from pacs.planning.timing import seconds
from pacs.planning.weight_sync import sync_bytes, weight_sync_seconds
from pacs.planning.workload import Workload
from recipes.smoke.gates import training_process_bytes
from tests.planning.page import planned_beside

ROLLOUT = "actor_rollout_ref.rollout"


@pytest.fixture(scope="module")
def small() -> Workload:
    """64 prompts of 8 responses on eight engines."""
    overrides = ["recipe=qwen3_8b", "data.train_batch_size=64", "actor_rollout_ref.actor.ppo_mini_batch_size=64"]
    return read_workload(compose_run("pacs", overrides)[0], GPUS["h200"])


@pytest.mark.parametrize(("mean", "longest"), [(100, 8192), (4096, 8192), (8000, 8192), (1.5, 2), (3, 1000)])
def test_assumed_lengths_have_the_mean_and_the_bound(mean: float, longest: int) -> None:
    lengths = assumed(4096, mean, longest, 0.7)
    assert lengths.mean() == pytest.approx(mean, rel=0.02)
    assert lengths.min() >= 1
    assert lengths.max() <= longest


def test_assumed_lengths_are_log_normal_below_the_bound() -> None:
    lengths = np.log(assumed(4096, 1000, 10**6, 0.7))
    assert lengths.std() == pytest.approx(0.7, rel=0.01)
    assert lengths.mean() == pytest.approx(np.log(1000) - 0.7**2 / 2, abs=0.01)


def test_drawn_lengths_have_the_sample_s_shares() -> None:
    lengths = drawn(1000, (10, 10, 10, 700), longest=500)
    assert np.unique(lengths, return_counts=True)[1].tolist() == [750, 250]
    assert set(lengths.tolist()) == {10, 500}
    assert (np.diff(lengths) != 0).sum() > 100  # in no order


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 50])
def test_decoding_steps_are_those_of_an_engine_followed_token_by_token(at_once: int) -> None:
    lengths = np.random.default_rng(0).integers(1, 40, size=20)
    waiting, running, steps = lengths.tolist(), [], 0
    while waiting or running:
        running += [waiting.pop(0) for _ in range(min(at_once - len(running), len(waiting)))]
        running = [left - 1 for left in running if left > 1]
        steps += 1
    assert decoding_steps(lengths, at_once) == steps


def test_the_step_waits_for_the_slowest_engine(small: Workload) -> None:
    """One row of the longest among short ones: the others wait for it."""
    responses = np.full(512, 100)
    responses[17] = 8000
    lengths = replace(small.lengths, responses=responses)
    done = generation(replace(small, lengths=lengths))
    seconds = sorted(done.engines)
    assert done.seconds == seconds[-1] > 10 * seconds[-2]
    assert done.idle == pytest.approx(1 - np.mean(seconds) / seconds[-1])
    assert done.tokens_per_second == pytest.approx(responses.sum() / seconds[-1])


def test_an_engine_reads_weights_and_cache_in_every_step(small: Workload) -> None:
    """Step by step: 8.19 billion parameters of 2 bytes, 2 x 36 layers x 1024 numbers of 2 bytes for each token before,
    at 0.6 of 4.8 TB/s; 2 ms of the host; and the prompt's arithmetic at 0.45 of 989 TFLOPS."""
    lengths = Lengths(np.array([50, 70]), np.array([3, 5, 2, 4]), "chosen")
    work = replace(small, lengths=lengths, ranks=1)
    seconds = 0.0
    for step in range(5):
        before = [
            prompt + step for prompt, tokens in zip((50, 50, 70, 70), lengths.responses, strict=True) if tokens > step
        ]
        seconds += 2e-3 + (8.19e9 * 2 + sum(before) * 147456) / (0.6 * 4.8e12)
    shape = work.architecture
    prompts = sum(shape.forward_flops_per_token(seen) for tokens in (50, 70) for seen in range(tokens))
    assert generation(work).seconds == pytest.approx(seconds + prompts / (0.45 * 989e12), rel=1e-3)
    apart = replace(work, engine=replace(work.engine, prefix_caching=False))
    assert generation(apart).seconds == pytest.approx(seconds + 2 * prompts / (0.45 * 989e12), rel=1e-3)


def test_an_engine_that_calculates_longer_than_it_reads_takes_the_operations(small: Workload) -> None:
    slow = replace(small, device=replace(small.device, bytes_per_second=1e18), ranks=1)
    tokens, shape = float(slow.lengths.responses.sum()), slow.architecture
    least = tokens * shape.forward_flops_per_token(0) / (0.5 * 989e12)
    assert generation(slow).seconds > least + 2e-3 * slow.lengths.responses.max()


def test_no_more_run_at_once_than_seats_and_cache_allow(small: Workload) -> None:
    seats = replace(small, engine=replace(small.engine, max_sequences=10))
    assert generation(seats).at_once == 10
    tight = replace(small, engine=replace(small.engine, memory_share=0.2))
    assert generation(tight).at_once == cache_tokens(tight) // int(tight.lengths.rows.mean()) < 64
    assert generation(tight).seconds > generation(small).seconds
    assert generation(small).at_once == 64
    nothing = replace(small, engine=replace(small.engine, memory_share=0.01))
    assert generation(nothing).at_once == 1


@pytest.mark.parametrize("step", MEASURED, ids=lambda step: f"{step.gpu} {step.model} {'+'.join(step.seconds)}")
def test_the_plan_is_within_a_quarter_of_what_was_measured(step: MeasuredStep) -> None:
    plan = planned_beside(step)
    assert plan.work.rows == step.prompts * step.responses
    assert plan.work.mini_batches == step.prompts // step.mini_batch
    assert set(plan.work.lengths.responses.tolist()) == {step.response_tokens}
    for phase, measured in step.seconds.items():
        assert plan.seconds[phase] == pytest.approx(measured, rel=0.25), phase


@pytest.mark.parametrize("step", [step for step in MEASURED if step.gib], ids=lambda step: f"{step.gpu} {step.model}")
def test_the_planned_memory_is_within_a_quarter_of_what_was_measured(step: MeasuredStep) -> None:
    """It was taken with the state in float32 and the micro-batches of `hardware=h200x1`."""
    plan = planned_beside(step)
    policy = replace(plan.work.policy, weight_bytes=4, micro_batch_tokens=73_728, forward_tokens=73_728)
    plan = replace(plan, phases=phases(replace(plan.work, policy=policy)))
    found = {"generation": plan.phases[0].total, "update": training_process_bytes(plan)}
    assert {phase: found[phase] / GIB for phase in step.gib} == pytest.approx(step.gib, rel=0.25)


def test_a_plan_is_brought_to_what_was_measured_at_its_size_alone(small: Workload) -> None:
    """Twice the measured rate doubles that of every plan of the same size, whatever its lengths; no other's."""
    assert calibrated(small) == seconds(small)
    near = replace(small, architecture=PUBLISHED["Qwen/Qwen3-0.6B"])
    before = calibrated(near)
    ratio = before["update"] / seconds(near)["update"]
    steps = [step for step in MEASURED if "update" in step.seconds]
    ratios = [step.seconds["update"] / seconds(beside(near, step))["update"] for step in steps]
    assert ratio == pytest.approx(sum(ratios) / len(ratios))
    longer = replace(near, policy=replace(near.policy, checkpointed=not near.policy.checkpointed))
    assert calibrated(longer)["update"] / seconds(longer)["update"] == pytest.approx(ratio)
    assert calibrated(near).keys() == seconds(near).keys()


@pytest.mark.parametrize("step", MEASURED, ids=lambda step: f"{step.gpu} {step.model} {'+'.join(step.seconds)}")
def test_the_measured_step_is_the_one_that_is_composed(step: MeasuredStep) -> None:
    """The workload that rates are taken from, beside the config with the same settings."""
    composed = planned_beside(step).work
    for phase in step.seconds:
        assert seconds(beside(composed, step))[phase] == pytest.approx(seconds(composed)[phase], rel=0.02), phase


def test_a_plan_says_what_its_times_rest_on(small: Workload) -> None:
    assert "nothing was measured at 8.19 B parameters on an H200" in basis(small)
    near = replace(small, architecture=PUBLISHED["Qwen/Qwen3-0.6B"])
    assert "measured at 0.596 B parameters on an H200: generation, update, weight sync, reference pass" in basis(near)
    assert "A start took 142 s" in basis(near)
    assert "ranks wait" in basis(near)
    elsewhere = replace(near, device=GPUS["h100"])
    assert "nothing was measured at 0.596 B parameters on an H100" in basis(elsewhere)


def test_whether_prefixes_are_shared_is_read() -> None:
    config = compose_run("pacs", ["recipe=qwen3_8b", f"{ROLLOUT}.enable_prefix_caching=false"])[0]
    assert not read_workload(config, GPUS["h200"]).engine.prefix_caching


def test_lengths_that_were_seen_come_first() -> None:
    config = compose_run("pacs", ["recipe=qwen3_8b"])[0]
    work = read_workload(config, GPUS["h200"], 4000, Sample((50, 150), (1000,), "seen"))
    assert (work.mean_prompt_tokens, work.mean_response_tokens) == (100, 1000)
    prompts = read_workload(config, GPUS["h200"], 4000, Sample((50,), (), "data"))
    assert (prompts.mean_prompt_tokens, round(prompts.mean_response_tokens, -2)) == (50, 4000)


def test_a_weight_sync_has_its_parts(small: Workload) -> None:
    parts = weight_sync_seconds(small)
    assert parts["gathering"] == pytest.approx(sync_bytes(small) / small.link_speed)
    assert 0.1 < sum(parts.values()) < 10
    awake = replace(small, engine=replace(small.engine, frees_memory=False))
    assert weight_sync_seconds(awake).keys() == parts.keys() - {"sleep and wake"}
    away = replace(small, policy=replace(small.policy, weights_offloaded=True))
    assert weight_sync_seconds(away).keys() == parts.keys() | {"from the host"}


def test_the_tensors_are_those_of_the_model() -> None:
    from transformers import AutoModelForCausalLM

    from pacs.planning.weight_sync import tensors
    from tests.planning.test_architecture import SMALL, qwen3

    for tied in (False, True):
        shape = replace(SMALL, tie_word_embeddings=tied)
        assert tensors(shape) == len(list(AutoModelForCausalLM.from_config(qwen3(shape)).parameters()))


def naive_waiting(lengths: list[list[list[int]]], prompts: int, staleness: int) -> list[tuple[int, int]]:
    """Token by token, all at once: decoding steps of each training step, and the age of the oldest that it takes."""
    queue: list[tuple[int, list[int]]] = []
    found = []
    for step, new in enumerate(lengths):
        queue += [(step, list(responses)) for responses in new]
        decoded = 0
        while True:
            done = [entry for entry in queue if not any(entry[1])]
            late = [entry for entry in queue if step - entry[0] >= staleness and any(entry[1])]
            if len(done) >= prompts and not late:
                break
            for _, lacking in queue:
                lacking[:] = [max(0, tokens - 1) for tokens in lacking]
            decoded += 1
        found.append((decoded, step - min(done)[0]))
        for entry in sorted(done, key=lambda entry: entry[0])[:prompts]:
            queue.remove(entry)
    return found


@pytest.mark.parametrize(("ahead", "staleness"), [(2, 1), (4, 1), (4, 2), (8, 3)])
def test_a_step_with_partial_rollouts_waits_as_long_as_one_followed_token_by_token(ahead: int, staleness: int) -> None:
    prompts, group = 8, 3
    responses = assumed(prompts * group, 20, 200, 1.0)
    dice = np.random.default_rng(0)
    drawn = []
    for step in range(STEPS):
        new = prompts + (ahead if step == 0 else 0)
        rows = np.concatenate([dice.permutation(responses) for _ in range(-(-new // prompts))])
        drawn.append(rows[: new * group].reshape(new, group).tolist())
    naive = naive_waiting(drawn, prompts, staleness)[FIRST:]
    found = follow(responses, prompts, ahead, staleness, at_once=10**6)
    assert found.steps == pytest.approx(np.mean([decoded for decoded, _ in naive]))
    assert max(age for _, age in naive) <= staleness
    assert found.steps < responses.max()
    assert 0 < found.staleness <= staleness
    assert found.read_again > 0


def test_partial_rollouts_take_less_time_where_few_responses_are_long(small: Workload) -> None:
    long = replace(small, lengths=replace(small.lengths, responses=assumed(512, 400, 8192, 1.5)))
    ahead = generation(replace(long, ahead=32))
    assert ahead.seconds < 0.8 * generation(long).seconds
    assert ahead.waiting is not None
    alike = replace(small, lengths=replace(small.lengths, responses=np.full(512, 1000)))
    assert generation(replace(alike, ahead=32)).seconds == pytest.approx(generation(alike).seconds, rel=0.01)
