"""A response is measured before it is graded, and no sampled answer is trained on: in verl's own worker, with an engine
that gives each token a probability of its own."""

import asyncio
import hashlib
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput, _agent_loop_registry
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.workers.rollout.replica import TokenOutput

from pacs.data.baseline import Baseline, Baselines, baseline_file, write_baselines
from pacs.data.rates import problem_key
from pacs.integration.exchange import FINGERPRINT, MASKED, REFERENCE_SPAN
from pacs.integration.patches.lean_rollouts import LeanWorker
from pacs.metrics.duplicates import fingerprint
from pacs.rewards.reference_answer import MEASURED, OPENS
from pacs.rewards.reference_probability import compute_score
from recipes.arithmetic.tokenizer import build_tokenizer

TOKENIZER = build_tokenizer(512)
LONGEST, ANSWER, BASELINE = 30, "so much", 0.25
MESSAGES = [{"role": "user", "content": "how much?"}]
PROMPT = TOKENIZER.apply_chat_template(MESSAGES, add_generation_prompt=True, return_dict=False)
#: Rows in the data.
EXTRA = {"verifier": "reference_probability", "index": 3}


def probability(tokens: list[int]) -> float:
    """Of the last token behind the others."""
    digest = hashlib.sha256(str([int(token) for token in tokens]).encode()).digest()
    return 0.05 + 0.9 * digest[0] / 255


def tokens_of(text: str) -> list[int]:
    return TOKENIZER.encode(text, add_special_tokens=False)


def by_hand(kept: str, answer: str = ANSWER, opens: str = OPENS) -> list[float]:
    """The probability of each of the answer's characters, a token each, behind a prompt and what is kept."""
    before = [*PROMPT, *tokens_of(kept + opens)]
    answered = tokens_of(answer)
    return [probability([*before, *answered[: i + 1]]) for i in range(len(answered))]


class Engine:
    """verl's client of an engine; notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        self.asked.append({"tokens": prompt_ids, **sampling_params})
        log_probs = [[math.log(probability(prompt_ids[: i + 1]))] for i in range(1, len(prompt_ids))]
        return TokenOutput(token_ids=[7], extra_fields={"prompt_logprobs": [*log_probs, [0.0]]})


class Loop:
    """An agent loop that says what it is told to."""

    says: ClassVar[str] = ""

    def __init__(self, **_: Any) -> None:
        pass

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        tokens = [*tokens_of(self.says), TOKENIZER.eos_token_id]
        return AgentLoopOutput(
            prompt_ids=PROMPT,
            response_ids=tokens,
            response_mask=[1] * len(tokens),
            response_logprobs=[-float(i) for i in range(len(tokens))],
            metrics=AgentLoopMetrics(),
        )


class Graders:
    """In place of verl's: grades in this process."""

    def __init__(self, worker: Any) -> None:
        self.worker, self.given = worker, []

    async def grade(self, outputs: list[Any], kwargs: dict[str, Any]) -> None:
        output = outputs[-1]
        self.given.append((TOKENIZER.decode(output.response_ids, skip_special_tokens=True), kwargs["extra_info"]))
        said = compute_score("", "", kwargs["reward_model"]["ground_truth"], kwargs["extra_info"])
        output.reward_score, output.extra_fields["reward_extra_info"] = said["score"], said


class Setup:
    """A worker that is not asked to load a model, and what it stores."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, data: Path, **changes: Any) -> None:
        config = OmegaConf.create(
            {
                "actor_rollout_ref": {"rollout": {"n": 1, "val_kwargs": {"n": 1}}, "model": {}},
                "data": {"train_files": str(data), "val_files": None, "max_response_length": LONGEST},
                "reward": {"custom_reward_function": {"path": "pkg://pacs.rewards.registry", "reward_kwargs": {}}},
                "run": {
                    "rlpr": {"mask_answer": True, "answer_weight": 0.0},
                    "reasoning": {"delimiters": None},
                    "rollouts": {"seeded": False},
                },
            }
        )
        for key, value in changes.items():
            OmegaConf.update(config, key, value)
        self.rows: list[dict[str, Any]] = []
        monkeypatch.setattr(agent_loop_tq, "tq", self)
        monkeypatch.setitem(_agent_loop_registry, "stub", {"_target_": f"{__name__}.Loop"})
        self.engine = Engine()
        worker = self.worker = object.__new__(LeanWorker)
        worker.config, worker.tokenizer, worker.llm_client = config, TOKENIZER, self.engine
        worker.processor = worker.hf_model_type = worker.dataset_cls = None
        worker.reward_loop_worker_handles, worker.tools, worker.distillation_enabled = None, [], False
        self.graders = Graders(worker)
        worker._grade = self.graders.grade

    async def async_kv_batch_put(self, keys: list[str], fields: Any, tags: Any, partition_id: str) -> None:
        names = ("responses", "response_mask", "rollout_log_probs", "rm_scores")
        row = {name: fields[name][0].tolist() for name in names}
        self.rows.append(row | {"extra": fields["extra_fields"][0], "partition": partition_id})

    def run(self, says: str, *, validate: bool = False, extra: dict[str, Any] = EXTRA, **fields: Any) -> dict[str, Any]:
        Loop.says = says
        given = {
            "uid": "1-0", "session_id": 0, "raw_prompt": MESSAGES, "extra_info": extra, "global_steps": 1,
            "reward_model": {"ground_truth": ANSWER, "style": "rule"}, **fields,
        }  # fmt: skip
        about = {"step": 1, "sample_index": 0, "rollout_n": 0, "validate": validate}
        asyncio.run(self.worker._run_agent_loop({}, about, agent_name="stub", trace=False, **given))
        return self.rows[-1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file's name, with baselines beside it."""
    file = tmp_path / "train.parquet"
    problem = Baseline(problem_key(MESSAGES, ANSWER), "0", BASELINE)
    write_baselines(baseline_file(file), Baselines("", "", "", OPENS, True, "float32", {}, [problem]))
    return file


KEPT = "1+2=3 "
SAYS = KEPT + "\\boxed{three}"


def test_the_reward_is_the_mean_probability_less_the_baseline(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    setup = Setup(monkeypatch, data)
    row = setup.run(SAYS)
    ((text, extra),) = setup.graders.given
    expected = sum(by_hand(KEPT)) / len(ANSWER)
    assert text == SAYS
    assert extra[MEASURED] == {"probability": pytest.approx(expected, abs=1e-12), "baseline": BASELINE}
    assert extra["index"] == 3
    assert row["rm_scores"][-1] == pytest.approx(max(expected - BASELINE, 0), abs=1e-6)
    (asked,) = setup.engine.asked
    assert asked["tokens"] == [*PROMPT, *tokens_of(KEPT + OPENS + ANSWER)]
    assert (asked["prompt_logprobs"], asked["max_tokens"]) == (0, 1)
    assert (asked["temperature"], "seed" in asked) == (0.0, False)


@pytest.mark.parametrize("validate", [False, True])
def test_the_answer_and_what_follows_it_are_not_trained(
    monkeypatch: pytest.MonkeyPatch, data: Path, validate: bool
) -> None:
    row = Setup(monkeypatch, data).run(SAYS + " yes", validate=validate)
    response = [*tokens_of(SAYS + " yes"), TOKENIZER.eos_token_id]
    assert row["responses"] == response
    trained = len(KEPT + OPENS)
    mask = [1] * len(response) if validate else [1] * trained + [0] * (len(response) - trained)
    assert row["response_mask"] == mask
    assert row["extra"].get(MASKED, 0) == mask.count(0)
    assert row["rollout_log_probs"] == [-float(i) for i in range(len(response))]


def test_it_may_be_trained(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    row = Setup(monkeypatch, data, **{"run.rlpr.mask_answer": False}).run(SAYS)
    assert set(row["response_mask"]) == {1}


def test_the_reference_answer_may_be_trained_in_its_place(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    setup = Setup(monkeypatch, data, **{"run.rlpr.answer_weight": 1.0})
    row = setup.run(SAYS)
    trained, end = len(KEPT + OPENS), len(KEPT + OPENS + ANSWER)
    assert row["responses"] == tokens_of(KEPT + OPENS + ANSWER)
    assert row["response_mask"] == [1] * trained + [0] * len(ANSWER)
    assert list(row["extra"][REFERENCE_SPAN]) == [trained, end]
    sampled = [-float(i) for i in range(trained)]
    assert row["rollout_log_probs"] == pytest.approx([*sampled, *map(math.log, by_hand(KEPT))], abs=1e-5)
    # It was graded, and is compared, by what was sampled.
    assert setup.graders.given[0][0] == SAYS
    assert row["extra"][FINGERPRINT] == fingerprint([*tokens_of(SAYS), TOKENIZER.eos_token_id])
    # A validation shows what was sampled.
    assert setup.run(SAYS, validate=True)["responses"] == [*tokens_of(SAYS), TOKENIZER.eos_token_id]


def test_without_an_answer_nothing_is_asked_and_all_is_trained(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    setup = Setup(monkeypatch, data, **{"run.rlpr.answer_weight": 1.0})
    for says in ("three", "<think>\\boxed{three}", "x" * (LONGEST - len(OPENS + ANSWER)) + "\\boxed{1}"):
        row = setup.run(says)
        assert setup.graders.given[-1][1][MEASURED]["probability"] is None
        assert (row["rm_scores"][-1], set(row["response_mask"])) == (0.0, {1})
        assert REFERENCE_SPAN not in row["extra"]
    assert setup.engine.asked == []
    # One token less, and the answer has room.
    setup.run("x" * (LONGEST - len(OPENS + ANSWER) - 1) + "\\boxed{1}")
    assert len(setup.engine.asked) == 1


def test_another_opening_and_no_baseline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    arguments = "reward.custom_reward_function.reward_kwargs.reference_probability"
    setup = Setup(monkeypatch, tmp_path / "none.parquet", **{arguments: {"opens": "=", "baseline": False}})
    setup.run("1+2=three")
    assert setup.engine.asked[0]["tokens"] == [*PROMPT, *tokens_of("1+2=" + ANSWER)]
    measured = setup.graders.given[0][1][MEASURED]
    expected = sum(by_hand("1+2", opens="=")) / len(ANSWER)
    assert measured == {"probability": pytest.approx(expected, abs=1e-12), "baseline": 0.0}


def test_a_prompt_without_a_baseline_fails_and_says_so(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    setup = Setup(monkeypatch, data)
    with pytest.raises(RuntimeError, match="has no baseline beside the data: run `pacs data baseline`"):
        setup.run(SAYS, reward_model={"ground_truth": "another", "style": "rule"})


def test_rows_of_another_verifier_and_of_another_function_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    for changes, extra in (
        ({}, {"verifier": "math"}),
        ({"reward.custom_reward_function.path": "mine.py"}, EXTRA),
        ({}, {}),
    ):
        setup = Setup(monkeypatch, data, **changes)

        async def grade(outputs: list[Any], kwargs: dict[str, Any]) -> None:
            assert MEASURED not in (kwargs["extra_info"] or {})
            outputs[-1].reward_score = 1.0

        setup.worker._grade = grade
        assert set(setup.run(SAYS, extra=extra)["response_mask"]) == {1}
        assert setup.engine.asked == []
