"""The loop's record: what was sampled and how often, the same each time; and what is refused."""

import json
import random
import shutil
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pacs.algorithm import batch_constants
from pacs.algorithm.dars import extra_responses
from pacs.algorithm.pool import Pool
from pacs.algorithm.preference import Preference
from pacs.base.errors import UserError
from pacs.data.rates import read_rates
from recipes.laboratory import learner, loop, pool, rollouts
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.loop import run
from recipes.laboratory.settings import Settings
from recipes.laboratory.starts import start_digest
from tests.recipes.laboratory.recorded import EVALUATION, SMALL, Recorded
from tests.recipes.laboratory.tiny import make_tiny_start, odd


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


@pytest.fixture(autouse=True)
def labels_of_both_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollouts, "grade", odd)


def test_dapo_replaces_prompts_whose_responses_are_all_alike(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the prompts drawn one after the other, those of odd number give groups of one class, in the first rounds."""
    calls: list[int] = []

    def grade(texts: list[str], *_: Any) -> torch.Tensor:
        prompts = len(texts) // 3
        calls.append(prompts)
        mixed = torch.tensor([1.0, 0, 1])
        return torch.cat([mixed if i % 2 == 0 else torch.ones(3) for i in range(prompts)])

    settings = Settings(method="dapo", steps=1, prompts=6, responses=3, updates_per_step=3)
    recorded = Recorded(start, settings, grade)
    assert calls == [6, 3, 1]  # of one class: the 3 of the first round, and 1 of the second
    order = random.Random(0)
    begun = loop.read_beginning(start, prompts=1, split="test", problems=1)
    drawn = [[begun.train.messages[i][0]["content"] for i in order.sample(range(24), n)] for n in calls]
    assert recorded.prompts == drawn
    [point] = recorded.result["curve"]
    assert point["rollouts"] == 30
    assert point["tokens"] == sum(int(samples.response_mask.sum()) for samples in recorded.samples)
    assert point["mixed_groups_fraction"] == 1
    assert point["reward"] == pytest.approx((3 * 2 + 3 * 3 + 2 * 2 + 3 + 2) / 30)

    monkeypatch.setattr(rollouts, "grade", lambda texts, *_: torch.ones(len(texts)))
    [point] = run(start, settings, EVALUATION, print)["curve"]  # three rounds of six, and then as they are
    assert (point["rollouts"], point["mixed_groups_fraction"], point["gradient_norm"]) == (54, 0, 0)


@pytest.mark.parametrize("schedule", ["equal", "hardness"])
def test_dars_samples_hard_prompts_more_often_and_says_what_first_responses_earn(schedule: Any, start: Path) -> None:
    """Of the prompts of every step, those of even number are solved by none or one of four responses at first."""
    rights = [0, 3, 1, 4, 0, 2]

    def grade(texts: list[str], *_: Any) -> torch.Tensor:
        if len(texts) == 24:
            return torch.cat([(torch.arange(4) < right).float() for right in rights])
        return odd(texts)

    dars = {"schedule": schedule, "most": 11}
    recorded = Recorded(start, Settings(method="pacs", dars=dars, **SMALL), grade)
    further = [extra_responses([1.0] * right + [0.0] * (4 - right), schedule, 11) for right in rights]
    assert sum(further) == {"equal": 6 + 2 + 6, "hardness": 7 + 4 + 7}[schedule]
    for first, second in zip(recorded.prompts[::2], recorded.prompts[1::2], strict=True):
        assert second == [prompt for prompt, more in zip(first, further, strict=True) for _ in range(more)]
    each = 24 + sum(further)
    for step, point in enumerate(recorded.result["curve"], start=1):
        assert point["rollouts"] == step * each
        assert point["reward"] == sum(rights) / 24
        assert point["gradient_norm"] > 0
    again = Recorded(start, Settings(method="pacs", dars=dars, **SMALL), grade)
    assert without_seconds(again.result) == without_seconds(recorded.result)
    scaled = Recorded(start, Settings(method="pacs", dars={**dars, "scale": True}, **SMALL), grade)
    assert scaled.prompts[:2] == recorded.prompts[:2]
    assert scaled.result["curve"][0]["gradient_norm"] != recorded.result["curve"][0]["gradient_norm"]


def test_a_pool_draws_by_what_the_start_and_the_run_have_solved(
    tmp_path: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against a pool of the test's own; the start is rated once, and beside it."""
    here = shutil.copytree(start, tmp_path / "start")
    rated: list[int] = []

    def rating(texts: list[str], *_: Any) -> torch.Tensor:
        rated.append(len(texts))
        return odd(texts)

    monkeypatch.setattr(pool, "grade", rating)
    settings = Settings(method="pacs", pool={"weights": "sqrt", "low": 0.2, "half_life": 3.0, "rates": True}, **SMALL)
    recorded = Recorded(here, settings)
    rates = read_rates(tmp_path / "start.rates.jsonl").problems
    assert (len(rates), rated) == (24, [24 * 16])
    assert {0, 16} != {rate.correct for rate in rates}
    begun = loop.read_beginning(here, prompts=1, split="test", problems=1)
    by_hand = Pool(24, Preference("sqrt", low=0.2, responses=4), 3.0, seed=SMALL["seed"])
    for problem, rate in enumerate(rates):
        by_hand.observe(problem, rate.correct, 16)
    for step, samples in enumerate(recorded.samples, start=1):
        by_hand.begin(step)
        problems = by_hand.draw(6)
        assert recorded.prompts[step - 1] == [begun.train.messages[i][0]["content"] for i in problems]
        for problem, right in zip(problems, odd(samples.texts).view(6, 4).sum(1).tolist(), strict=True):
            by_hand.observe(problem, right, 4)
    again = Recorded(here, settings)
    assert without_seconds(again.result) == without_seconds(recorded.result)
    assert rated == [24 * 16]
    unrated = Recorded(here, Settings(method="dapo", pool={"weights": "sqrt"}, **SMALL))
    assert len(set(unrated.prompts[0])) == 6


def test_two_runs_that_begin_at_once_rate_their_start_alike(
    tmp_path: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither fails: the other begins, and is done, while the first one still rates."""
    here = shutil.copytree(start, tmp_path / "start")
    begun = loop.read_beginning(here, prompts=1, split="test", problems=1)
    settings = Settings(pool={"weights": "sqrt", "rates": True})
    others: list[Any] = []

    def rating(texts: list[str], *_: Any) -> torch.Tensor:
        if not others:
            others.append(None)
            others.append(pool.pool_of(here, begun, settings))
        return odd(texts)

    monkeypatch.setattr(pool, "grade", rating)
    first = pool.pool_of(here, begun, settings)
    assert first is not None
    assert first.rates.tolist() == others[1].rates.tolist()
    assert len(set(first.rates.tolist())) > 1


def test_an_update_takes_whole_uneven_groups(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of as many prompts, whose responses lie together."""
    taken: list[tuple[list[int], list[float]]] = []
    real = learner.method_loss

    def noted(own: torch.Tensor, *given: Any, **options: Any) -> Any:
        taken.append((given[3].tolist(), given[2].tolist()))
        return real(own, *given, **options)

    monkeypatch.setattr(learner, "method_loss", noted)
    monkeypatch.setattr(rollouts, "grade", lambda texts, *_: (torch.arange(len(texts)) % 5 == 0).float())
    run(start, Settings(dars={"schedule": "hardness", "most": 9}, **SMALL), EVALUATION, print)
    for (before, _), (after, _) in zip(taken[::2], taken[1::2], strict=True):
        assert [*dict.fromkeys(before), *dict.fromkeys(after)] == [0, 1, 2, 3, 4, 5]
        assert before + after == sorted(before + after)
    assert max(Counter(taken[0][0]).values()) > 4


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"dars": {"schedule": "hard"}}, "dars.schedule=hard is not known (did you mean hardness?): choose one of"),
        ({"dars": {"schedule": "equal", "most": 4}, "responses": 4}, "dars.most=4 must be above responses=4"),
        ({"dars": {"schedule": "equal"}, "method": "dapo"}, "dars: method=dapo replaces prompts instead"),
        ({"pool": {"weights": "cubic"}}, "pool.weights=cubic is not known: choose one of uniform, sqrt, target, null"),
        ({"pool": {"rates": True}}, "pool has no weights, without which nothing of it is read"),
        ({"dars": {"mots": 4}}, "dars.mots is not a setting (did you mean dars.most?)"),
    ],
)
def test_wrong_settings_of_a_second_stage_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        Settings(**settings)
    assert said in str(refused.value)


# The record


def without_seconds(result: dict[str, Any]) -> dict[str, Any]:
    """A result without what differs from one run to the next."""
    kept = {name: value for name, value in result.items() if name != "seconds"}
    for name in ("curve", "evaluations"):
        kept[name] = [{key: value for key, value in entry.items() if key != "seconds"} for entry in kept[name]]
    return kept


@pytest.mark.parametrize(("method", "staleness"), [("pacs", 0), ("ppo", 2), ("dapo", 0)])
def test_the_same_settings_give_the_same_record_however_often_it_is_evaluated(
    method: str, staleness: int, start: Path
) -> None:
    settings = {**SMALL, "method": method, "staleness": staleness}
    torch.manual_seed(1)
    once = without_seconds(run(start, Settings(**settings), EVALUATION, print))
    torch.manual_seed(2)
    often = without_seconds(run(start, Settings(**settings, evaluate_every=2), EVALUATION, print))
    assert [seen["step"] for seen in once["evaluations"]] == [5]
    assert [(seen["step"], seen["samples"]) for seen in often["evaluations"]] == [(0, 3), (2, 3), (4, 3), (5, 6)]
    assert often["evaluations"][-1:] == once["evaluations"]
    assert {**often, "evaluations": []} == {**once, "evaluations": []}
    other = without_seconds(run(start, Settings(**{**settings, "seed": 4}), EVALUATION, print))
    assert other["curve"] != once["curve"]


@pytest.mark.parametrize(("method", "form"), [("pacs", "exact"), ("grpo", "public")])
def test_a_token_weight_reads_the_policy_that_sampled(
    method: str, form: str, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first update of its step; and weights change the gradient, not the loss."""
    read: list[dict[str, torch.Tensor]] = []

    def constants(*given: Any, streams: dict[str, torch.Tensor], **more: Any) -> Any:
        read.append(streams)
        return batch_constants(*given, streams=streams, **more)

    monkeypatch.setattr(learner, "batch_constants", constants)
    weight = {"name": "steer", "steer": {"form": form, "least": 0.01}}
    recorded = Recorded(start, Settings(method=method, options={"token_weight": weight}, **SMALL))
    for streams, samples in zip(read, recorded.samples, strict=True):
        assert torch.equal(streams["entropy"], samples.entropies)
        assert torch.equal(streams["old_log_probs"], samples.log_probs)
        assert torch.equal(streams["rollout_log_probs"], samples.log_probs)
        assert ("mean_entropy_slope" in streams) == (form == "exact")
    plain = run(start, Settings(method=method, **SMALL), EVALUATION, print)["curve"][0]
    assert recorded.result["curve"][0]["reward"] == plain["reward"]
    assert recorded.result["curve"][0]["gradient_norm"] < 0.95 * plain["gradient_norm"]


def test_the_record_says_what_was_sampled(start: Path) -> None:
    recorded = Recorded(start, Settings(method="pacs_paper", **SMALL))
    result = recorded.result
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["start"] == start_digest(start)
    assert len(result["bands"]) == 4
    assert set(result["seconds"]) == {"sample", "update", "reference", "evaluate"}
    assert all(seconds > 0 for seconds in result["seconds"].values())
    tokens = [int(samples.response_mask.sum()) for samples in recorded.samples]
    for step, (point, samples) in enumerate(zip(result["curve"], recorded.samples, strict=True), start=1):
        labels = odd(samples.texts)
        assert (point["step"], point["rollouts"], point["tokens"]) == (step, 24 * step, sum(tokens[:step]))
        assert point["reward"] == pytest.approx(float(labels.mean()))
        assert point["response_tokens_mean"] == tokens[step - 1] / 24
        assert point["entropy"] == pytest.approx(float(samples.entropies.sum()) / tokens[step - 1])
        shares = labels.view(6, 4).mean(1)
        assert point["mixed_groups_fraction"] == float(((shares > 0) & (shares < 1)).float().mean())
    spent = [point["seconds"] for point in result["curve"]]
    assert spent == sorted(spent)
    last = result["evaluations"][-1]
    assert (last["rollouts"], last["tokens"], last["seconds"]) == (120, sum(tokens), spent[-1])
    assert spent[-1] == pytest.approx(sum(result["seconds"].values()) - result["seconds"]["evaluate"])
    mixed = sum(24 * point["mixed_groups_fraction"] for point in result["curve"])
    # Without the first of two mini-batches: the policy is the reference there, and every score 0.
    shares = odd(recorded.samples[0].texts).view(6, 4).mean(1)[:3]
    mixed -= 4 * int(((shares > 0) & (shares < 1)).sum())
    assert sum(count for count, *_ in result["calibration"]) == pytest.approx(mixed)
    assert [line.partition(":")[0] for line in recorded.lines] == [*(f"step {i}/5" for i in range(1, 6)), "step 5"]
    assert run(start, Settings(method="grpo", **SMALL), EVALUATION, print)["calibration"] is None


def test_the_first_training_problems_alone_are_trained_on_over_and_over(start: Path) -> None:
    """Three of the start's 24: each step takes two of them, so that each is met again."""
    recorded = Recorded(
        start, Settings(**SMALL | {"prompts": 2, "updates_per_step": 1, "train_problems": 3, "steps": 9})
    )
    begun = loop.read_beginning(start, prompts=1, split="test", problems=1)
    first = {messages[0]["content"] for messages in begun.train.messages[:3]}
    assert len(begun.train) == 24
    assert {content for step in recorded.prompts for content in step} == first
    assert [len({*step}) for step in recorded.prompts] == [2] * 9


def test_no_two_evaluations_have_the_same_random_numbers(start: Path) -> None:
    seeds = [
        Recorded(start, Settings(**{**SMALL, "seed": seed, "evaluate_every": 2})).evaluation_seeds for seed in (3, 4)
    ]
    assert [len(each) for each in seeds] == [4, 4]  # before step 1, after 2 and 4, and at the end
    assert len({*seeds[0], *seeds[1]}) == 8


def test_the_start_is_left_as_it_is(start: Path) -> None:
    before = {file: file.read_bytes() for file in start.rglob("*") if file.is_file()}
    run(start, Settings(**SMALL, evaluate_every=1), EVALUATION, print)
    assert {file: file.read_bytes() for file in start.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize(
    ("settings", "evaluation", "said"),
    [
        ({"prompts": 26}, {}, "prompts=26 is more than the 24 training problems of"),
        ({"train_problems": 25}, {}, "train_problems=25 is more than the 24 of .*train.parquet"),
        ({}, {"problems": 7}, "problems=7 is more than the 6 of .*test.parquet"),
        ({}, {"split": "probe"}, "probe.parquet: no such file"),
    ],
)
def test_a_start_that_lacks_something_is_refused(
    settings: dict[str, Any], evaluation: dict[str, Any], said: str, start: Path
) -> None:
    with pytest.raises(UserError, match=said):
        run(start, Settings(**SMALL | settings), Evaluation(**{"problems": 2} | evaluation), print)


def test_a_policy_that_diverges_ends_the_run(start: Path) -> None:
    with pytest.raises(ValueError, match="not finite"):
        run(start, Settings(**SMALL | {"lr": 1e30}), EVALUATION, print)


def test_a_response_may_be_as_long_as_the_starts_task_says(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "recipes.made_up", SimpleNamespace())
    task = SimpleNamespace(TASK=SimpleNamespace(max_response_tokens=5))
    monkeypatch.setitem(sys.modules, "recipes.made_up.problems", task)
    monkeypatch.setattr("recipes.laboratory.beginning.read_json", lambda _: {"task": "made_up", "seed": 0})
    recorded = Recorded(start, Settings(**SMALL))
    assert {samples.response_mask.shape[1] for samples in recorded.samples} == {5}


def test_settings_come_back_from_json(start: Path) -> None:
    """As the runner hands them to the process of a run."""
    settings = Settings(**SMALL, clip_grad=1.0, options={"reference": {"reset_every": 2}})
    again = Settings(**json.loads(json.dumps(asdict(settings))))
    results = [without_seconds(run(start, each, EVALUATION, print)) for each in (settings, again)]
    assert results[0] == results[1]
