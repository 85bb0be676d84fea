"""Values of steps in the laboratory: beside what its completions were worth, one after the other."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.algorithm.vineppo import STEP, STEP_VALUE
from pacs.base.errors import UserError
from pacs.runs.settings import VineSettings
from recipes.laboratory import loop, rollouts, sampling, vine
from recipes.laboratory.methods import method_named
from recipes.laboratory.reading import log_probs
from recipes.laboratory.rollouts import Rollouts
from recipes.laboratory.sampling import Samples, sample
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.recorded import SMALL, Recorded
from tests.recipes.laboratory.test_loop import without_seconds
from tests.recipes.laboratory.tiny import make_tiny_start, odd

K, LONGEST = 3, 80
VINE = {"completions": K, "delimiter": "1", "most_steps": 3}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


@pytest.fixture(autouse=True)
def labels_of_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vine, "grade", odd)


def test_what_stands_before_a_step_has_the_mean_label_of_its_completions(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = loop.read_beginning(start, prompts=2, split="test", problems=1)
    problems, generator = begun.train.of([0, 1, 2]), torch.Generator().manual_seed(0)
    how = {"samples": 8, "max_tokens": LONGEST, "generator": generator}
    responses = sample(begun.policy, begun.tokenizer, problems.messages, **how)
    groups = torch.arange(3).repeat_interleave(8)
    seen: list[tuple[list[str], Samples]] = []

    def complete(model: Any, tokenizer: Any, prefixes: Any, **options: Any) -> Samples:
        completed = sampling.complete(model, tokenizer, prefixes, **options)
        seen.append(([tokenizer.decode(prefix) for prefix in prefixes], completed))
        return completed

    monkeypatch.setattr(vine, "complete", complete)
    found = vine.completed(
        begun.policy, begun.tokenizer, responses, groups, problems, VineSettings(**VINE), max_tokens=LONGEST,
        generator=generator,
    )  # fmt: skip
    assert found is not None
    streams = found.step_values(responses.response_mask)
    [(prefixes, completed)] = seen
    decode, width = begun.tokenizer.decode, responses.response_mask.shape[1]
    tails = completed.ids[:, completed.ids.shape[1] - completed.response_mask.shape[1] :]
    used, tokens = set(), 0
    for row in range(len(responses)):
        length = int(responses.response_mask[row].sum())
        ids = responses.ids[row, responses.ids.shape[1] - width :][:length]
        asked = decode(
            responses.ids[row, : responses.ids.shape[1] - width][responses.attention_mask[row, :-width] == 1]
        )
        steps = streams[STEP][row, :length]
        texts = [decode(ids[steps == number]) for number in range(int(steps.max()) + 1)]
        assert 1 <= len(texts) <= 3
        assert all("1" in text for text in texts[:-1])
        for number in range(len(texts)):
            first = int((steps < number).sum())
            place = prefixes.index(asked + decode(ids[:first]))
            labels = []
            for k in range(place * K, place * K + K):
                kept = min(int(completed.response_mask[k].sum()), LONGEST - first)
                tokens += 0 if place in used else kept
                whole = torch.cat([ids[:first], tails[k, :kept]])
                labels += odd([decode(whole, skip_special_tokens=True)]).tolist()
            used.add(place)
            values = streams[STEP_VALUE][row, :length][steps == number]
            assert values.tolist() == pytest.approx([sum(labels) / K] * len(values))
    assert used == set(range(len(prefixes)))
    assert (len(found.labels), int(found.samples.response_mask.sum())) == (len(prefixes) * K, tokens)
    assert len(prefixes) > 6


def test_a_completion_continues_its_prefix_as_a_response_does_its_prompt(start: Path) -> None:
    """The likeliest tokens behind a prefix of the likeliest response are the rest of it."""
    begun = loop.read_beginning(start, prompts=2, split="test", problems=1)
    messages = begun.train.of([0, 1]).messages
    greedy = sample(begun.policy, begun.tokenizer, messages, samples=1, max_tokens=9, generator=None)
    width, before = greedy.response_mask.shape[1], greedy.ids.shape[1] - greedy.response_mask.shape[1]
    prefixes = [
        torch.cat([greedy.ids[row, :before][greedy.attention_mask[row, :before] == 1], greedy.ids[row, before:][:cut]])
        for row, cut in ((0, 2), (1, 4))
    ]
    rest = sampling.complete(begun.policy, begun.tokenizer, prefixes, samples=1, max_tokens=width, generator=None)
    for row, cut in ((0, 2), (1, 4)):
        wanted = greedy.ids[row, before + cut :]
        assert torch.equal(rest.ids[row, -width:][: len(wanted)], wanted)


def test_a_run_trains_on_them_and_counts_them(start: Path) -> None:
    settings = Settings(method="vineppo", vine=VINE, **SMALL)
    recorded = Recorded(start, settings)
    curve = recorded.result["curve"]
    for step, point in enumerate(curve, start=1):
        assert point["gradient_norm"] > 0
        assert point["rollouts"] >= step * (24 + 6 * K)
    trained = sum(int(samples.response_mask.sum()) for samples in recorded.samples)
    assert curve[-1]["tokens"] > trained
    assert without_seconds(Recorded(start, settings).result) == without_seconds(recorded.result)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "vineppo"}, "vine.completions=None with method=vineppo: set vine.completions"),
        ({"method": "grpo", "vine": {"completions": 2}}, "vine.completions=2 with method=grpo: leave it out, or set"),
        ({"method": "vineppo", "vine": VINE | {"train_completions": True}}, "leave train_completions out"),
        (
            {"method": "grpo", "vine": {"completions": 1, "train_completions": True}},
            "vine.completions=1: grpo with these options compares at least 2 completions",
        ),
        ({"method": "dapo", "vine": VINE | {"train_completions": True}}, "which replaces prompts: set rounds=1"),
        ({"method": "vineppo", "vine": {"completions": 0}}, "vine.completions"),
        ({"method": "vineppo", "vine": {"delimiter": " "}}, "vine has no completions"),
        ({"method": "vineppo", "vine": VINE, "dars": {"schedule": "equal"}}, "vine with dars"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**{"responses": 4, "prompts": 6, **settings})


def test_completions_that_are_trained_on_are_groups_beside_their_prompts(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollouts, "grade", odd)
    settings = Settings(method="grpo", vine=VINE | {"train_completions": True}, **SMALL)
    begun = loop.read_beginning(start, prompts=6, split="test", problems=1)
    batch = Rollouts(begun, settings, method_named("grpo", {})).next()
    samples, width = batch.samples, batch.samples.response_mask.shape[1]
    asked = [
        samples.ids[row, :-width][samples.attention_mask[row, :-width] == 1].tolist() for row in range(len(samples))
    ]
    said = [samples.ids[row, -width:][samples.response_mask[row]].tolist() for row in range(len(samples))]
    assert torch.equal(batch.groups, batch.groups.unique(return_inverse=True)[1])
    assert (batch.groups.diff() >= 0).all()
    beginnings: list[list[int]] = []
    valued = 0
    for group in range(int(batch.groups[-1]) + 1):
        rows = (batch.groups == group).nonzero()[:, 0].tolist()
        assert len({tuple(asked[row]) for row in rows}) == 1
        if batch.first[rows[0]]:
            assert len(rows) == SMALL["responses"]
            beginnings, texts = [asked[row] + said[row] for row in rows], [said[row] for row in rows]
            prompt = len(asked[rows[0]])
        else:
            valued += 1
            assert len(rows) == K
            assert not batch.first[rows].any()
            prefix = asked[rows[0]]
            assert any(whole[: len(prefix)] == prefix for whole in beginnings)
            assert len(prefix) > prompt
            texts = [prefix[prompt:] + said[row] for row in rows]
            assert max(map(len, texts)) <= begun.max_response_tokens
        labels = odd([begun.tokenizer.decode(text, skip_special_tokens=True) for text in texts])
        assert torch.equal(batch.labels[rows], labels)
        assert torch.equal(batch.rewards[rows], labels)
    assert valued > 3
    assert batch.rollouts == len(samples) == 24 + valued * K
    assert batch.tokens == int(samples.response_mask.sum())
    with torch.no_grad():
        read = log_probs(begun.policy, samples)
    assert torch.allclose(read * samples.response_mask, samples.log_probs * samples.response_mask, atol=1e-4)


@pytest.mark.parametrize("method", ["grpo", "pacs_authors"])
def test_a_run_trains_on_completions_too(method: str, start: Path) -> None:
    plain, trained = (
        Recorded(start, Settings(method=method, **more, **SMALL | {"steps": 2})).result["curve"]
        for more in ({}, {"vine": VINE | {"train_completions": True}})
    )
    assert trained[0]["reward"] == plain[0]["reward"]
    assert trained[0]["tokens"] > plain[0]["tokens"]
    assert trained[0]["gradient_norm"] != pytest.approx(plain[0]["gradient_norm"], rel=1e-3)
    assert trained[1]["gradient_norm"] > 0


def test_responses_of_one_step_have_nothing_to_complete(start: Path) -> None:
    never = {"vine": {"completions": 2, "delimiter": "never said", "train_completions": True}}
    result, plain = (
        Recorded(start, Settings(method="grpo", **more, **SMALL | {"steps": 2})).result for more in (never, {})
    )
    assert without_seconds(result) == without_seconds(plain)
