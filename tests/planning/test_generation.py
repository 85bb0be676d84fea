"""Lengths, which engine gets which row, and the seconds of a step."""

from dataclasses import replace

import numpy as np
import pytest

from pacs.composing import compose_run
from pacs.planning.devices import GPUS
from pacs.planning.generation import engine_of_rows, generation, step_seconds
from pacs.planning.lengths import Sample, assumed, drawn
from pacs.planning.links import link_speed
from pacs.planning.read_config import read_workload
from pacs.planning.step_seconds import StepSeconds
from pacs.planning.weight_sync import sync_bytes, weight_sync_seconds
from pacs.planning.workload import Workload

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


@pytest.mark.parametrize(("prompts", "responses", "clients", "engines"), [(64, 8, 8, 8), (5, 3, 8, 4), (7, 1, 2, 64)])
def test_every_row_is_asked_for_once_and_engines_share_them_evenly(
    prompts: int, responses: int, clients: int, engines: int
) -> None:
    asked = engine_of_rows(prompts, responses, clients, engines)
    assert sorted(asked[:, 0].tolist()) == list(range(prompts * responses))
    counts = np.bincount(asked[:, 1], minlength=engines)
    assert counts.max() - counts.min() <= 1


def test_a_worker_asks_for_its_own_prompts_in_turn() -> None:
    asked = engine_of_rows(6, 2, 3, 4)[:, 0].tolist()
    assert asked == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]


def test_the_step_waits_for_the_slowest_engine(small: Workload) -> None:
    """One row of the longest among short ones: the others wait for it."""
    responses = np.full(512, 100)
    responses[17] = 8000
    lengths = replace(small.lengths, responses=responses)
    done = generation(replace(small, lengths=lengths))
    seconds = sorted(engine.seconds for engine in done.engines)
    assert done.seconds == seconds[-1] > 10 * seconds[-2]
    assert done.idle == pytest.approx(1 - np.mean(seconds) / seconds[-1])
    assert done.tokens_per_second == pytest.approx(responses.sum() / seconds[-1])


def test_a_step_of_one_sequence_is_the_reading_of_the_weights(small: Workload) -> None:
    """By hand: 8.19 billion parameters of 2 bytes at 0.6 of 4.8 TB/s, and 3 ms and 5 us."""
    cost = step_seconds(small)
    assert cost.generating(1, 0, 1) == pytest.approx(8.19e9 * 2 / (0.6 * 4.8e12) + 3.005e-3, rel=1e-3)
    # A token's keys and values are 2 x 36 layers x 1024 numbers of 2 bytes.
    assert cost.context * 0.6 * 4.8e12 == pytest.approx(147456)


def test_steps_at_once_are_the_sum_of_single_ones() -> None:
    """Reading is longer in the first steps, calculating in the last, and the other way round."""
    for cost in (StepSeconds(50, 0.01, 1, 0.1, 0, 0, 3, 0.1), StepSeconds(1, 0.2, 20, 0.01, 0, 0, 3, 0.1)):
        single = 0.0
        longer = set()
        for step in range(1, 201):
            context = 100 + 4 * step
            reading, calculating = cost.weights + context * cost.context, 4 * cost.token + context * cost.token_pair
            longer.add(reading > calculating)
            single += max(reading, calculating) + 3 + 0.4
        assert longer == {True, False}
        assert cost.generating(4, 100, 200) == pytest.approx(single)


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("enable_prefix_caching=false", "prefix_caching", False),
        ("agent.num_workers=3", "clients", 3),
        ("engine_kwargs.vllm.watermark=0.2", "watermark", 0.2),
    ],
)
def test_the_engine_s_settings_are_read(override: str, field: str, value: object) -> None:
    work = read_workload(compose_run("pacs", ["recipe=qwen3_8b", f"{ROLLOUT}.{override}"])[0], GPUS["h200"])
    assert getattr(work.engine, field) == value


def test_lengths_that_were_seen_come_first() -> None:
    config = compose_run("pacs", ["recipe=qwen3_8b"])[0]
    work = read_workload(config, GPUS["h200"], 4000, Sample((50, 150), (1000,), "seen"))
    assert (work.mean_prompt_tokens, work.mean_response_tokens) == (100, 1000)
    prompts = read_workload(config, GPUS["h200"], 4000, Sample((50,), (), "data"))
    assert (prompts.mean_prompt_tokens, round(prompts.mean_response_tokens, -2)) == (50, 4000)


def test_a_weight_sync_is_seconds_of_which_the_bytes_are_the_least(small: Workload) -> None:
    parts = weight_sync_seconds(small)
    assert parts["gathering"] == pytest.approx(sync_bytes(small) / link_speed(small))
    assert 1 < sum(parts.values()) < 20
    assert parts["gathering"] + parts["copying"] < 0.1 * sum(parts.values())
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
