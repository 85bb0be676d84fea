"""What a step's graded rows are made of, by rows as verl's queue gives them."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from pacs.integration.exchange import GUIDED, TURNS
from pacs.integration.trainer import step_rows
from pacs.integration.trainer.grading import Grading, outcome
from pacs.rewards.verdict import VerifierFailure

#: Tokens of each response; the longest there may be has 8.
LENGTHS = [3, 8, 7, 8, 1]
SCORES = [1.0, 1.0, 0.0, 0.0, 0.0]
#: What a manager of verl makes of them, which takes off something for length.
REWARDS = [1.0, 0.75, -0.25, 0.0, 0.0]


def make_trainer(
    longest: int = 8, verifier_errors: float = 0.0, schedule: str | None = None, total: str | None = None
) -> Any:
    config = OmegaConf.create(
        {
            "data": {"max_response_length": longest},
            "actor_rollout_ref": {"rollout": {"n": 2}},
            "run": {
                "reward": {"total": total},
                "faults": {"verifier_errors": verifier_errors},
                "rollouts": {"dars": {"schedule": schedule}},
            },
        }
    )
    return SimpleNamespace(
        config=config,
        global_steps=1,
        prompts=SimpleNamespace(discarded_tokens=5),
        group_filter=SimpleNamespace(dropped=None),
    )


@pytest.fixture
def batch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two prompts, and a row of padding that is as long as can be."""
    masks = torch.nested.as_nested_tensor([torch.ones(length) for length in LENGTHS], layout=torch.jagged)
    rewards = torch.nested.as_nested_tensor(
        [torch.tensor([0.0] * (length - 1) + [reward]) for length, reward in zip(LENGTHS, REWARDS, strict=True)],
        layout=torch.jagged,
    )
    infos = [{"reward_extra_info": {"status": "correct" if score else "wrong", "score": score}} for score in SCORES]
    # a's two are the same; b's last is the row of padding's, which is not compared.
    texts = [[1, 2, 3], [1, 2, 3], [4] * 7, [5], [5]]
    responses = torch.nested.as_nested_tensor([torch.tensor(text) for text in texts], layout=torch.jagged)
    rows = {
        "rm_scores": rewards,
        "response_mask": masks,
        "responses": responses,
        "extra_fields": SimpleNamespace(tolist=lambda: infos),
    }
    monkeypatch.setattr(step_rows, "columns", lambda batch, *names: rows)
    tags = [{"response_len": length} for length in LENGTHS]
    tags[3]["is_padding"] = True
    return SimpleNamespace(keys=["a_0_0", "a_1_0", "b_0_0", "b_1_0", "b_2_0"], tags=tags)


def test_turns_that_the_loop_tells_of_are_counted(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [{"last": 3, "turns": 2 + i % 2, "calls": i, "failed": 0, "cut": i == 1} if i else None for i in range(5)]
    extra = [{"reward_extra_info": {"status": "correct"}} | ({TURNS: each} if each else {}) for each in turns]
    rows = step_rows.columns(batch) | {"extra_fields": SimpleNamespace(tolist=lambda: extra)}
    monkeypatch.setattr(step_rows, "columns", lambda batch, *names: rows)
    grader = Grading(make_trainer())
    grades = grader.grade(batch)
    known = [each or {"turns": 1, "calls": 0, "failed": 0, "cut": False} for each in turns]
    known = [each for each, row in zip(known, grades.sampled.tolist(), strict=True) if row]
    metrics = grader.metrics(grades)
    assert metrics["pacs/turns/response_mean"] == pytest.approx(sum(each["turns"] for each in known) / len(known))
    assert metrics["pacs/turns/response_max"] == 3
    assert metrics["pacs/turns/calls_mean"] == pytest.approx(sum(each["calls"] for each in known) / len(known))
    assert metrics["pacs/turns/cut_fraction"] == pytest.approx(sum(each["cut"] for each in known) / len(known))
    assert not [name for name in metrics if "pacs_turns" in name]


def test_the_parts_of_a_reward_are_logged_and_kept_by_name(batch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [{"format": float(i % 2), "overlong": -0.25 * i} for i in range(5)]
    infos = [
        {"reward_extra_info": {"status": "correct" if score else "wrong", "score": score} | said}
        for score, said in zip(SCORES, parts, strict=True)
    ]
    rows = step_rows.columns(batch) | {"extra_fields": SimpleNamespace(tolist=lambda: infos)}
    monkeypatch.setattr(step_rows, "columns", lambda batch, *names: rows)
    grader = Grading(make_trainer(total="sum"))
    grades = grader.grade(batch)
    assert (grades.rewards.tolist(), grades.scores.tolist()) == (REWARDS, SCORES)
    metrics = grader.metrics(grades)
    assert metrics["pacs/reward/format/mean"] == 0.25
    assert metrics["pacs/reward/overlong/mean"] == -0.25 * (0 + 1 + 2 + 4) / 4
    wanted = [{"correctness": score, **said} for score, said in zip(SCORES, parts, strict=True)]
    assert grader.parts(batch) == dict(zip(batch.keys, wanted, strict=True))
    assert Grading(make_trainer()).parts(batch) == {}


def test_a_completion_is_as_long_as_its_response_with_the_prefix(batch: Any) -> None:
    """Of prefixes of 4 and 5 tokens, which are a completion's prompt."""
    made = make_trainer(longest=8)
    made.config.run.rollouts.vine = {"completions": 1, "train_completions": True, "most_steps": 3}
    batch.keys = ["a_0_0", "a_1_0", "a_2_0", "b_0_0", "b_2_0"]
    prompts, lengths, whole = [10, 10, 15, 20, 24], [3, 8, 3, 2, 3], [3, 8, 8, 2, 7]
    tags = [{"prompt_len": p, "response_len": r} for p, r in zip(prompts, lengths, strict=True)]
    batch.tags = tags
    assert Grading(made).grade(batch).truncated.tolist() == [length >= 8 for length in whole]


@pytest.mark.parametrize(("longest", "truncated"), [(8, 1), (7, 2), (9, 0), (3, 3)])
def test_as_long_as_a_response_may_be_is_truncated(batch: Any, longest: int, truncated: int) -> None:
    grader = Grading(make_trainer(longest=longest))
    grades = grader.grade(batch)
    assert grades.truncated.tolist() == [length >= longest for length in LENGTHS]
    assert (grades.rewards.tolist(), grades.scores.tolist()) == (REWARDS, SCORES)
    assert grades.sampled.tolist() == [True, True, True, False, True]
    metrics = grader.metrics(grades)
    assert metrics["pacs/truncated_fraction"] == truncated / 4
    assert metrics["pacs/truncated/correct_fraction"] == sum(length >= longest for length in LENGTHS[:2]) / 2
    assert metrics["pacs/response_tokens/generated_sum"] == 3 + 8 + 7 + 1 + 5
    assert metrics["pacs/rows/correct_count"] == 2
    assert metrics["pacs/duplicates/responses_fraction"] == 2 / 4
    assert metrics["pacs/duplicates/distinct_mean"] == (1 + 2) / 2
    assert metrics["pacs/duplicates/repeated_per_token"] == LENGTHS[1] / (3 + 8 + 7 + 1)


def test_tries_before_a_retry_are_counted_of_filtered_groups_too(batch: Any) -> None:
    trainer = make_trainer()
    grader = Grading(trainer)
    grades = grader.grade(batch)
    tried = {"retries": 1, "rescued": False, "tokens": 10}
    dropped = replace(grades.responses(), infos=[info | {GUIDED: tried} for info in grades.infos])
    generated = []
    for trainer.group_filter.dropped in (None, dropped):
        generated.append(grader.metrics(grades)["pacs/response_tokens/generated_sum"])
    assert generated[1] == generated[0] + 10 * len(dropped.infos)


def test_the_agent_loops_fingerprints_are_taken_where_each_response_has_one(
    batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = step_rows.columns(batch)
    notes = [
        {"reward_extra_info": {"score": s}, "pacs_fingerprint": n} for s, n in zip(SCORES, (7, 7, 8, 0, 7), strict=True)
    ]
    del notes[3]["pacs_fingerprint"]  # padding has none
    changed = rows | {"extra_fields": SimpleNamespace(tolist=lambda: notes)}
    monkeypatch.setattr(step_rows, "columns", lambda batch, *names: {name: changed[name] for name in names})
    grader = Grading(make_trainer())
    assert grader.grade(batch).fingerprints.tolist() == [7, 7, 8, 0, 7]
    del notes[4]["pacs_fingerprint"]
    by_tokens = grader.grade(batch).fingerprints
    assert [by_tokens.tolist().index(number) for number in by_tokens] == [0, 0, 2, 3, 3]


@pytest.mark.parametrize(("most", "refused"), [(0.25, False), (0.2, True)])
def test_so_large_a_share_may_be_left_ungraded(
    batch: Any, monkeypatch: pytest.MonkeyPatch, most: float, refused: bool
) -> None:
    """One of four responses that was not graded."""
    statuses = ("wrong", "timeout", "wrong", "wrong", "wrong")
    infos = [{"reward_extra_info": {"status": status, "score": 0.0}} for status in statuses]
    rows = step_rows.columns(batch) | {"extra_fields": SimpleNamespace(tolist=lambda: infos)}
    monkeypatch.setattr(step_rows, "columns", lambda batch, *names: rows)
    with pytest.raises(VerifierFailure, match="1 of 4 responses") if refused else nullcontext():
        Grading(make_trainer(verifier_errors=most)).grade(batch)


def test_how_often_the_policy_is_right_is_said_by_first_responses_alone(batch: Any) -> None:
    """Two to a prompt; b's third is of a second stage, in which a's has found nothing and b's what is right."""
    batch.keys = ["a_0_0", "a_2_0", "b_0_0", "pad_1_0", "b_2_0"]
    grader = Grading(make_trainer(schedule="equal"))
    grades = grader.grade(batch)
    assert grades.first.tolist() == [True, False, True, False, False]
    grades.scores[:] = torch.tensor([0.0, 0.0, 0.0, 0.0, 1.0])
    grades.infos[:] = [{"status": status} for status in ("wrong", "wrong", "wrong", "correct")]
    metrics = grader.metrics(grades)
    assert (metrics["pacs/rows/correct_count"], metrics["pacs/rows/wrong_count"]) == (1, 3)
    assert metrics["pacs/verifier/correct_fraction"] == 0
    assert metrics["pacs/verifier/wrong_fraction"] == 1
    assert (metrics["pacs/groups/mixed_fraction"], metrics["pacs/dars/rescued_count"]) == (0.5, 1)
    assert metrics["pacs/dars/further_count"] == 2


def test_verls_metrics_of_the_outcome_are_those_of_the_values() -> None:
    found = outcome(torch.tensor([1.0, 0.0, 0.0, 0.5]), "score")
    assert found == {"critic/score/mean": 0.375, "critic/score/max": 1.0, "critic/score/min": 0.0}
