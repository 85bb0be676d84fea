"""`pacs support RUN` with vLLM over the checkpoints of a real run: stopped between two of them, and gone on with."""

import json
import re
import signal
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.conftest import write_data, write_model
from tests.evaluation.real_evaluation import family, finish, lines, run, start, those_left, wait_for
from tests.integration.real_run import REPEATABLE, RealRun

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(2400)]

COMMAND, TASK, SAMPLES, STEPS, K = ("support",), "sums", 8, 2, 4


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    """A run of two steps by a policy of which some answers are right, with all of its checkpoints."""
    folder = tmp_path_factory.mktemp("support")
    write_model(folder / "model", seed=1)
    write_data(folder / "data.parquet", list(product(range(4), range(4))))
    run = RealRun(
        folder, folder / "run", *REPEATABLE,
        f"trainer.total_training_steps={STEPS}",
        "trainer.val_before_train=false",
        "trainer.max_actor_ckpt_to_keep=null",
        "data.max_prompt_length=32",
        "data.max_response_length=24",
        "reward.custom_reward_function.path=pkg://pacs.rewards.registry",
        "actor_rollout_ref.actor.optim.lr=1e-3",
    )  # fmt: skip
    run.train()
    return run


def right(folder: Path) -> dict[str, list[bool]]:
    """Which samples of each problem are right, by their last box."""
    found: dict[str, dict[int, bool]] = {}
    for line in lines(folder, TASK):
        each: dict[str, Any] = json.loads(line)
        boxes, (a, b) = re.findall(r"\\boxed\{(\d)\}", each["response"]), map(int, each["problem"].split("+"))
        found.setdefault(each["problem"], {})[each["index"]] = bool(boxes) and int(boxes[-1]) == a + b
    return {problem: [marks[index] for index in range(SAMPLES)] for problem, marks in found.items()}


def test_each_checkpoint_is_evaluated_once_and_counted_as_its_samples_say(trained: RealRun, tmp_path: Path) -> None:
    out = tmp_path / "out"
    data = write_data(tmp_path / "sums.parquet", list(product(range(5), range(4))))
    words = [trained.folder, "--tasks", f"{TASK}={data}", "--samples", SAMPLES, "--max-tokens", 24]
    words += ["--temperature", 1, "--k", K, SAMPLES, "--out", out]
    process = start(*words, command=COMMAND)
    wait_for(process, lambda: (out / "step_1").is_dir())
    started = family(process)
    process.send_signal(signal.SIGTERM)
    status, said = finish(process)
    assert status == 75, said
    assert those_left(started) == []
    before = lines(out / "initial", TASK)
    assert len(before) == SAMPLES * 20
    assert not (out / "support.json").exists()

    status, said = run(*words, command=COMMAND)
    assert status == 0, said
    assert lines(out / "initial", TASK) == before
    document = json.loads((out / "support.json").read_text())
    assert [policy["step"] for policy in document["settings"]["policies"]] == [0, 1, 2]
    marks = {step: right(out / (f"step_{step}" if step else "initial")) for step in range(STEPS + 1)}
    assert any(any(each) for each in marks[0].values())
    for k, step in product((K, SAMPLES), range(1, STEPS + 1)):
        solved = {who: {problem for problem, each in marks[who].items() if any(each[:k])} for who in (0, step)}
        assert document["tasks"][TASK]["k"][str(k)]["steps"][str(step)]["counts"] == {
            "kept": len(solved[0] & solved[step]),
            "gained": len(solved[step] - solved[0]),
            "lost": len(solved[0] - solved[step]),
            "neither": 20 - len(solved[0] | solved[step]),
        }
    assert all((out / name / "results.json").is_file() for name in ("initial", "step_1", "step_2"))

    # Without --tasks what is there is read; nothing is sampled.
    status, said = run(trained.folder, "--k", K, SAMPLES, "--out", out, command=COMMAND)
    assert status == 0, said
    assert json.loads((out / "support.json").read_text())["tasks"] == document["tasks"]
