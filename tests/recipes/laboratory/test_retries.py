"""Retries with guidance in the laboratory: beside the rule by hand, and the policy's own log-probabilities."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.base.errors import UserError
from pacs.runs.settings import GuidedSettings
from recipes.code_repair import reward
from recipes.code_repair.calculated import first_failure
from recipes.code_repair.problems import TASK
from recipes.code_repair.programs import response
from recipes.laboratory import learner, retries
from recipes.laboratory.beginning import Beginning, read_beginning
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.grading import grade
from recipes.laboratory.loop import run
from recipes.laboratory.retries import retried
from recipes.laboratory.sampling import Samples, sample
from recipes.laboratory.settings import Settings
from recipes.starts.make import make
from recipes.starts.read import Problems

GUIDED = {"after": "failed", "guidance": "error", "retries": 2, "text": "{guidance}", "characters": 40}
SIZE, LONGEST = 6, 48


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("code_repair") / "start"
    make(TASK, folder, 0)
    return folder


@pytest.fixture(scope="module")
def begun(start: Path) -> Beginning:
    return read_beginning(start, prompts=1, split="test", problems=1, train_problems=40)


def sampled(begun: Beginning) -> tuple[Samples, torch.Tensor, Problems]:
    rows, generator = list(range(10)), torch.Generator().manual_seed(0)
    asked = begun.train.of(rows).messages
    how = {"samples": SIZE, "max_tokens": LONGEST, "generator": generator}
    samples = sample(begun.policy, begun.tokenizer, asked, **how)
    each = begun.train.of([row for row in rows for _ in range(SIZE)])
    return samples, grade(samples.texts, each.answers, each.verifiers), each


def test_programs_are_calculated_as_the_sandbox_has_them(begun: Beginning) -> None:
    samples, _, problems = sampled(begun)
    others = [response(program) for program in ("b*a", "a%(b-b)", "a*a*a*a*a", "a//b", "a+c", "-a", "b+")]
    others += ["no program", "```\ndef g(a,b):\n return a\n```", "```\nprint(1)\n```"]
    pairs = {*zip(samples.texts[:24], problems.answers, strict=False)}
    pairs |= {(text, truth) for text in others for truth in problems.answers[:1]}
    for text, truth in pairs:
        verdict = reward.compute_score("", text, truth)
        said = first_failure(text, truth)
        assert said == (None if verdict["score"] else verdict["feedback"]), text
    assert {grade([text], [truth], ["code"]).item() for text, truth in pairs} == {0.0, 1.0}


@pytest.mark.parametrize("after", ["failed", "unsolved"])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_right_retries_stand_in_the_place_of_wrong_responses(
    begun: Beginning, after: Any, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, labels, problems = sampled(begun)
    asked: list[list[list[dict[str, str]]]] = []
    tries: list[Samples] = []

    def noted(model: Any, tokenizer: Any, messages: Any, **how: Any) -> Samples:
        asked.append(messages)
        tries.append(sample(model, tokenizer, messages, **how))
        return tries[-1]

    monkeypatch.setattr(retries, "sample", noted)
    settings = GuidedSettings(**{**GUIDED, "after": after, "share": share})
    generator = torch.Generator().manual_seed(1)
    trained, after_labels, rollouts, tokens = retried(
        begun.policy, begun.tokenizer, samples, labels, problems, settings, size=SIZE, max_tokens=LONGEST,
        generator=generator,
    )  # fmt: skip
    solved = [bool(labels[row // SIZE * SIZE :][:SIZE].any()) for row in range(len(samples))]
    wanted = [
        row
        for row in range(len(samples))
        if labels[row] == 0 and row % SIZE < math.ceil(share * SIZE) and not (after == "unsolved" and solved[row])
    ]
    texts = list(samples.texts)
    replaced: dict[int, tuple[Samples, int]] = {}
    for turn in range(2):
        assert len(asked[turn]) == len(wanted)
        for place, (row, messages) in enumerate(zip(wanted, asked[turn], strict=True)):
            told = first_failure(texts[row], problems.answers[row])
            roles = [message["role"] for message in messages]
            assert roles == ["user", "assistant", "user"]
            before = [*problems.messages[row], {"role": "assistant", "content": texts[row]}]
            assert messages == [*before, {"role": "user", "content": told}]
            texts[row] = tries[turn].texts[place]
            if first_failure(texts[row], problems.answers[row]) is None:
                replaced[row] = (tries[turn], place)
        wanted = [row for row in wanted if row not in replaced]
    assert len(asked) == 2
    assert replaced
    assert (rollouts, tokens) == (sum(map(len, asked)), sum(int(each.response_mask.sum()) for each in tries))
    assert after_labels.tolist() == [1.0 if row in replaced else label for row, label in enumerate(labels.tolist())]
    width, old = trained.response_mask.shape[1], samples.response_mask.shape[1]
    for row in range(len(samples)):
        source, place = replaced.get(row, (samples, row))
        assert trained.texts[row] == source.texts[place]
        mask, own = trained.response_mask[row], source.response_mask[place]
        columns = source.response_mask.shape[1]
        assert torch.equal(trained.ids[row, -width:][mask], source.ids[place, -columns:][own])
        assert torch.equal(trained.log_probs[row][mask], source.log_probs[place][own])
        prompt = trained.ids[row, :-width][trained.attention_mask[row, :-width] == 1]
        assert torch.equal(prompt, samples.ids[row, :-old][samples.attention_mask[row, :-old] == 1])


@pytest.mark.parametrize("method", ["pacs_authors", "grpo"])
def test_a_retry_is_trained_behind_the_prompt_alone(start: Path, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ratio is to the policy behind the prompt; the correction weighs a retry by how likely that makes it."""
    ratios: list[torch.Tensor] = []
    weights: list[torch.Tensor] = []
    real, scale = learner.method_loss, learner.scale_gradient

    def noted(policy: torch.Tensor, reference: torch.Tensor, mask: torch.Tensor, *given: Any, **options: Any) -> Any:
        ratios.append((policy.detach() - reference)[mask])
        return real(policy, reference, mask, *given, **options)

    def weighed(policy: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
        weights.append(by)
        return scale(policy, by)

    monkeypatch.setattr(learner, "method_loss", noted)
    monkeypatch.setattr(learner, "scale_gradient", weighed)
    options = {"update": {"correction": {"kind": "truncate", "cap": 2.0}}}
    settings = Settings(method=method, options=options, guided=GUIDED, steps=1, prompts=8, responses=6, lr=3e-4)
    evaluation = Evaluation(problems=4, samples=6, samples_between=3)
    [point] = run(start, settings, evaluation, print)["curve"]
    assert not ratios[0].any()
    assert ratios[1].abs().max() > 1e-3  # the first update has moved the policy
    assert ratios[1].abs().median() < 0.2
    every = torch.cat([part.flatten() for part in weights])
    assert every.max() <= 2.0 + 1e-6
    assert every.min() < 0.7  # a retry's tokens that are unlikely without what it was told
    assert ((every - 1).abs() < 1e-4).float().mean() > 0.5  # the policy's own, and padding
    assert point["rollouts"] > 48
    assert run(start, settings, evaluation, print)["curve"][0]["loss"] == point["loss"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"guided": {"after": "failed"}}, "set after .* and guidance=error"),
        ({"guided": {"guidance": "error"}}, "set after .* and guidance=error"),
        ({"guided": {**GUIDED, "after": "fail"}}, "guided.after=fail is not known"),
        ({"guided": GUIDED, "staleness": 1}, "guided with staleness is not built here"),
        ({"guided": GUIDED, "dars": {"schedule": "equal"}}, "guided with dars"),
        ({"guided": GUIDED, "options": {"token_weight": {"name": "entropy_top"}}}, "guided with method.token_weight"),
        ({"guided": GUIDED, "method": "dapo"}, "guided with rounds"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**settings)
