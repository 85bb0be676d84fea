"""The laboratory's arms with a token weight: each trains, and reads the policy that sampled before its first update."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import pad

from pacs.algorithm import batch_constants
from pacs.algorithm.effective_rank import prefix_ranks
from recipes.laboratory import learner, questions, rollouts
from recipes.laboratory.loop import run
from recipes.laboratory.reading import answer_sensitivity, effective_ranks, hidden_states
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.recorded import EVALUATION, SMALL, Recorded, plain_policy
from tests.recipes.laboratory.tiny import make_tiny_start, odd

ARMS = {
    name: (arm.settings.method, arm.settings.options)
    for name, arm in questions.read("token_weights").arms.items()
    if name not in ("pacs", "grpo")
}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


@pytest.mark.long
@pytest.mark.parametrize("name", ARMS)
def test_each_arm_trains(name: str, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "grade", odd)
    method, options = ARMS[name]
    settings = Settings(method=method, options=options, **{**SMALL, "steps": 2, "updates_per_step": 2})
    curve = run(start, settings, EVALUATION, print)["curve"]
    assert [point["step"] for point in curve] == [1, 2]
    assert all(point["gradient_norm"] > 0 for point in curve)


def test_states_are_those_of_a_pass_of_each_response(start: Path) -> None:
    samples = Recorded(start, Settings(method="grpo", **{**SMALL, "steps": 1})).samples[0]
    samples = replace(samples, ids=pad(samples.ids, (2, 0)), attention_mask=pad(samples.attention_mask, (2, 0)))
    model, width = plain_policy(start), samples.response_mask.shape[1]
    states, ranks = hidden_states(model, samples), effective_ranks(model, samples, 2)
    assert states.shape[:2] == samples.response_mask.shape
    for row in range(len(samples)):
        there = samples.attention_mask[row].bool()
        with torch.no_grad():
            read = model.base_model(samples.ids[row, there][None]).last_hidden_state[0]
        tokens = int(samples.response_mask[row].sum())
        expected = read[-tokens - 1 : -1]
        torch.testing.assert_close(states[row, :tokens], expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(ranks[row, :tokens], prefix_ranks(expected, 2), rtol=1e-3, atol=1e-3)
        assert not ranks[row, tokens:width].any()


def test_the_answers_sensitivity_is_the_change_along_each_embedding(start: Path) -> None:
    """Beside central differences: an embedding, longer and shorter by a little, in a pass of its response alone.

    Qwen3 takes its norms in float32, whose rounding a smaller step would blow up.
    """
    samples = Recorded(start, Settings(method="grpo", **{**SMALL, "steps": 1})).samples[0]
    samples = replace(samples, ids=pad(samples.ids, (2, 0)), attention_mask=pad(samples.attention_mask, (2, 0)))
    model, width, step = plain_policy(start).double(), samples.response_mask.shape[1], 5e-3
    found = answer_sensitivity(model, samples, 3)
    assert found.shape == samples.response_mask.shape
    assert not any(value.grad is not None for value in model.parameters())
    for row in (0, 5, int(samples.response_mask.sum(1).argmin())):
        there = samples.attention_mask[row].bool()
        ids, tokens = samples.ids[row, there], int(samples.response_mask[row].sum())
        embedded = model.get_input_embeddings()(ids).detach()

        def phi(given: torch.Tensor, ids: torch.Tensor = ids, answer: int = min(3, tokens)) -> float:
            with torch.no_grad():
                log_pi = model(inputs_embeds=given[None]).logits[0, :-1].log_softmax(-1)
            return float(log_pi.gather(-1, ids[1:, None])[-answer:].mean())

        for place in range(len(ids) - tokens, len(ids)):
            changes = []
            for sign in (1, -1):
                given = embedded.clone()
                given[place] *= 1 + sign * step
                changes.append(phi(given))
            expected = abs(changes[0] - changes[1]) / (2 * step)
            assert float(found[row, place - len(ids) + tokens]) == pytest.approx(expected, rel=1e-2, abs=2e-4)
        assert not found[row, tokens:width].any()


@pytest.mark.parametrize("method", ["pacs_authors", "grpo"])
def test_the_answers_sensitivity_weighs_a_run(method: str, start: Path) -> None:
    weight = {"name": "oar", "oar": {"answer": 2, "boost": 3.0}}
    plain, other = (
        Recorded(start, Settings(method=method, options=options, **SMALL | {"steps": 2})).result["curve"]
        for options in ({}, {"token_weight": weight})
    )
    assert other[0]["reward"] == plain[0]["reward"]
    assert other[0]["gradient_norm"] != pytest.approx(plain[0]["gradient_norm"], rel=1e-3)
    assert other[1]["gradient_norm"] > 0


def test_eras_baselines_go_from_step_to_step(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dict[str, float]] = []

    def constants(*args: Any, memory: dict[str, float], **more: Any) -> Any:
        given.append(dict(memory))
        return batch_constants(*args, memory=memory, **more)

    monkeypatch.setattr(learner, "batch_constants", constants)
    options = {"token_weight": {"name": "era", "era": {"stride": 2, "ema": 0.5}}}
    Recorded(start, Settings(method="grpo", options=options, **{**SMALL, "steps": 3}))
    assert given[0] == {}
    assert given[1].keys() == given[2].keys() == {"era_rank", "era_velocity", "era_acceleration"}
    assert given[1]["era_rank"] > 1
    assert given[2] != given[1]
