"""Responses of several turns with a tool for real (Ray, vLLM, FSDP2): killed, and gone on with to the bit."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.rewards.registry import PATH
from recipes.arithmetic.tokenizer import END
from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RealRun, equal
from tests.integration.tool_task import make_tool_task, tool_tokenizer
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, PROMPTS, N, LONGEST = 3, 4, 4, 150
ROLLOUT = "actor_rollout_ref.rollout"
#: What the calculator says, behind a call's end: a sum, that it knows no 9 (and the model goes on with whatever), or
#: what verl makes of a call that is none.
SAID = r"(?<=</tool_call>)\n(?:\d+(?=[<\\]|$)|1?\d|[^<\\]*knows no 9|[^<\\]*)"


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tool_task(tmp_path_factory.mktemp("tools"))


def make_run(tools: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    return RealRun(
        tools,
        folder,
        *(REPEATABLE if algorithm == "pacs" else REPEATABLE_BASELINE),
        f"trainer.total_training_steps={STEPS}",
        "trainer.val_before_train=false",
        f"reward.custom_reward_function.path={PATH}",
        f"data.max_response_length={LONGEST}",
        "run.sample_groups=4",
        f"{ROLLOUT}.multi_turn.enable=true",
        f"{ROLLOUT}.agent.default_agent_loop=tool_agent",
        f"{ROLLOUT}.multi_turn.function_tool_path={tools / 'calculator.py'}",
        f"{ROLLOUT}.multi_turn.max_assistant_turns=3",
        *overrides,
        algorithm=algorithm,
    )


@pytest.fixture(scope="module")
def left_alone(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(tools, tmp_path_factory.mktemp("turns") / "alone")
    run.train()
    return run


@pytest.fixture
def broken(tools: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(tools, tmp_path / "broken")
    yield run
    run.end()


def test_conversations_are_graded_by_their_last_turn_and_counted(left_alone: RealRun) -> None:
    lines, tokenizer = left_alone.training_steps(), tool_tokenizer()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        rows = left_alone.samples(line["step"])
        assert len(rows) == PROMPTS * N
        written = 0
        for row in rows:
            *before, last = re.split(SAID, row["output"])
            answer = re.search(r"\\boxed\{(\d+)\}", last)
            assert row["score"] == float(answer is not None and answer[1] == row["gts"]), row["output"]
            written += sum(len(tokenizer(turn)["input_ids"]) for turn in (*before, last))
        # Each turn ends with a token that is no text, but for those that were cut off.
        turns = line["pacs/turns/response_mean"] * len(rows)
        ended = turns - line["pacs/truncated_fraction"] * len(rows)
        assert written + ended - 1e-6 <= line["pacs/response_tokens/generated_sum"] <= written + turns + 1e-6
        assert line["pacs/turns/response_max"] <= 3
        assert line["num_turns/mean"] == pytest.approx(2 * line["pacs/turns/response_mean"])
        assert line["response_length/mean"] * len(rows) > line["pacs/response_tokens/generated_sum"]
        # vLLM's own log-probabilities are compared with at the model's tokens alone.
        assert line["pacs/rollout_gap/worst_max"] < 1e-3
        assert line["actor/grad_norm"] > 0
        assert line["pacs/gradient/skipped_count"] == 0
    assert max(line["pacs/turns/calls_mean"] for line in lines) > 0.3
    assert {round(line["pacs/turns/cut_fraction"] * PROMPTS * N) for line in lines} - set(range(17)) == set()
    assert END not in left_alone.samples(1)[0]["output"]


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=1)
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))
    assert not equal(left_alone.policy(STEPS), left_alone.policy(STEPS - 1))


def test_grpo_trains_on_them_too(tools: Path, tmp_path: Path) -> None:
    run = make_run(tools, tmp_path / "grpo", "trainer.total_training_steps=1", algorithm="grpo")
    run.train()
    (line,) = run.training_steps()
    assert line["pacs/turns/calls_mean"] > 0.3
    assert line["actor/grad_norm"] > 0
