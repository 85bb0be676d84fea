"""The real thing: vLLM's engines through Ray, killed in the middle in every way, and resumed to the last sample."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pacs import cli
from pacs.base.commit import git_commit
from pacs.checkpoints.folder import seal
from pacs.evaluation.folder import read_grades, read_samples, read_task, read_timing, task_folder
from pacs.evaluation.results import read_results
from pacs.evaluation.sample import sample_seed
from pacs.evaluation.settings import read_settings
from tests.evaluation.real_evaluation import family, finish, lines, run, start, those_left, wait_for

# One start of vLLM, and five more for --all: half a minute on two idle cores, many times that on busy ones.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

TASK, PROBLEMS, SAMPLES = "sums", 40, 50
ALL = PROBLEMS * SAMPLES


@pytest.fixture(scope="module")
def checkpoint(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training run with the model as its checkpoint, as FSDP on one rank leaves it."""
    run_dir = tmp_path_factory.mktemp("run")
    folder = run_dir / "checkpoints" / "global_step_5"
    (folder / "actor" / "huggingface").mkdir(parents=True)
    for file in model.iterdir():
        if file.suffix != ".safetensors":
            (folder / "actor" / "huggingface" / file.name).write_bytes(file.read_bytes())
    torch.save(load_file(model / "model.safetensors"), folder / "actor" / "model_world_size_1_rank_0.pt")
    settings = "actor_rollout_ref: {rollout: {dtype: float32}}\ndata: {seed: 3}\ntrainer: {v1: {trainer_mode: grpo}}\n"
    (folder / "config.yaml").write_text(settings)
    (run_dir / "run.json").write_text('{"git_commit": "c0ffee"}')
    seal(folder, step=5, ranks=1)
    return run_dir


def command(checkpoint: Path, data: Path, out: Path) -> list[Any]:
    """Of an evaluation."""
    words = [checkpoint, "--tasks", f"{TASK}={data}", "--samples", SAMPLES, "--k", "1,4,50", "--max-tokens", 48]
    return [*words, "--temperature", 1, "--token-entropy", "--out", out]


def has(out: Path, count: int) -> Callable[[], bool]:
    """Whether so many samples are written."""
    return lambda: len(lines(out, TASK)) >= count


@pytest.fixture(scope="module")
def evaluation(checkpoint: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An evaluation that nothing disturbs."""
    out = tmp_path_factory.mktemp("evaluation") / "out"
    (out / ".model-killed").mkdir(parents=True)  # as a start leaves it that is killed while it merges
    (out / ".lock").touch()
    words = command(checkpoint, data, out)
    return {"out": out, "command": words, "before": [], "end": run(*words)}


@pytest.fixture(scope="module")
def died(checkpoint: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An evaluation that an engine's death has stopped, and a second start has finished."""
    out = tmp_path_factory.mktemp("died") / "out"
    words = command(checkpoint, data, out)
    process = start(*words)
    wait_for(process, has(out, 100))
    started = family(process)
    next(child for child in started if "EngineCore" in " ".join(child.cmdline())).kill()
    said: dict[str, Any] = {"out": out, "engine death": finish(process)}
    said["left by it"] = those_left(started)
    said["before"] = lines(out, TASK)

    said["end"] = run(*words, "--engines", 2)
    return said


@pytest.fixture(scope="module")
def stopped(checkpoint: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An evaluation that a SIGKILL and a SIGTERM have stopped, and a third start has finished."""
    out = tmp_path_factory.mktemp("stopped") / "out"
    words = command(checkpoint, data, out)
    said: dict[str, Any] = {"out": out}

    process = start(*words)
    wait_for(process, has(out, 100))
    started = family(process)
    process.kill()
    said["SIGKILL"] = finish(process)
    said["left by SIGKILL"] = those_left(started)
    said["after SIGKILL"] = lines(out, TASK)

    process = start(*words)
    wait_for(process, has(out, len(said["after SIGKILL"]) + 100))
    started = family(process)
    for child in started:  # Slurm sends it to all processes of a job
        if "Engine" in child.name():
            child.terminate()
    process.send_signal(signal.SIGTERM)
    said["SIGTERM"] = finish(process)
    said["left by SIGTERM"] = those_left(started)
    said["before"] = lines(out, TASK)

    said["end"] = run(*words)
    return said


def test_batch_invariance_is_refused_on_a_cpu(
    checkpoint: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen: vLLM's engine dies there at the first response."""
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "1")
    status, output = run(*command(checkpoint, data, tmp_path / "out"))
    assert status == 2, output
    assert "VLLM_BATCH_INVARIANT is set" in output


@pytest.mark.long
def test_a_dead_engine_ends_it_with_the_cause(died: dict[str, Any]) -> None:
    status, output = died["engine death"]
    assert status == 1, output
    error = output.split("pacs evaluate: ")[-1]
    assert error.startswith("engine 0: its EngineCore process died")
    assert "/logs/engine-0.log" in error
    assert "the same command goes on" in error
    assert "Traceback" not in output
    assert died["left by it"] == []
    assert 100 <= len(died["before"]) < ALL


@pytest.mark.long
def test_a_kill_leaves_nothing_running(stopped: dict[str, Any]) -> None:
    assert stopped["SIGKILL"][0] == -signal.SIGKILL
    assert stopped["left by SIGKILL"] == []
    assert 100 <= len(stopped["after SIGKILL"]) < ALL


@pytest.mark.long
def test_a_kill_loses_nothing_that_was_written_and_a_request_to_stop_is_heeded(stopped: dict[str, Any]) -> None:
    status, output = stopped["SIGTERM"]
    assert status == 75, output
    assert "stopped by SIGTERM" in output
    assert "the same command goes on" in output
    assert stopped["left by SIGTERM"] == []
    before, after = stopped["after SIGKILL"], stopped["before"]
    assert after[: len(before)] == before
    assert len(before) + 100 <= len(after) < ALL


@pytest.mark.parametrize(
    "ended", ["evaluation", *(pytest.param(name, marks=pytest.mark.long) for name in ("died", "stopped"))]
)
def test_every_sample_is_there_once_with_its_own_seed(ended: str, request: pytest.FixtureRequest) -> None:
    evaluation = request.getfixturevalue(ended)
    assert evaluation["end"][0] == 0, evaluation["end"][1]
    out = evaluation["out"]
    assert lines(out, TASK)[: len(evaluation["before"])] == evaluation["before"]
    settings = read_settings(out)
    samples = list(read_samples(out, TASK, settings.model.prefix))
    wanted = {(f"{a}+{b}", index) for a in range(5) for b in range(8) for index in range(SAMPLES)}
    assert len(samples) == len(wanted)
    assert {(sample.problem, sample.index) for sample in samples} == wanted == set(read_grades(out, TASK))
    assert all(sample.seed == sample_seed(0, TASK, sample.problem, sample.index) for sample in samples)
    assert {json.loads(line)["model"] for line in lines(out, TASK)} == {settings.model.sha256[:12]}
    assert len({sample.response for sample in samples}) > 0.9 * ALL  # no seed was used for two


def test_the_numbers_are_those_of_the_samples(evaluation: dict[str, Any]) -> None:
    out = evaluation["out"]
    task = read_task(out, TASK)
    _, [result] = read_results(out)
    graded = [each for some in task.samples.values() for each in some]
    assert result.accuracy.mean == pytest.approx(sum(each.score for each in graded) / ALL)
    assert result.truncated == pytest.approx(sum(each.sample.truncated for each in graded) / ALL)
    assert result.mean_tokens == pytest.approx(sum(each.sample.tokens for each in graded) / ALL)
    assert set(result.pass_at) == {1, 4, 50}
    timing = read_timing(out, TASK)
    assert result.seconds == timing.seconds > 0
    # The start that was killed may have lost what came since it was last written down.
    assert 0.5 * ALL * result.mean_tokens < timing.tokens <= ALL * result.mean_tokens
    # The answers are tokens of their own, drawn nearly uniformly.
    assert 0.05 < result.accuracy.mean < 0.2
    statuses = {each.status for each in graded}
    assert statuses == {"correct", "wrong", "no_answer"}


def test_responses_are_cut_at_the_limit_and_end_where_the_model_ends_them(evaluation: dict[str, Any]) -> None:
    out = evaluation["out"]
    for sample in read_samples(out, TASK, read_settings(out).model.prefix):
        assert sample.tokens == 48 if sample.truncated else sample.tokens <= 48
        assert "<|im_end|>" not in sample.response
        # 111 tokens, nearly uniform: log 111 = 4.7 nats.
        assert sample.token_entropy is not None
        assert 3 < sample.token_entropy < 6


def test_the_model_is_the_merged_checkpoint(evaluation: dict[str, Any], model: Path) -> None:
    assert not list(evaluation["out"].glob(".model*"))
    assert read_settings(evaluation["out"]).model.name == f"{evaluation['command'][0]} (global_step_5)"
    merged, original = (load_file(folder / "model.safetensors") for folder in (evaluation["out"] / "model", model))
    assert merged.keys() == original.keys()
    assert all(torch.equal(merged[name], original[name]) for name in merged)


def test_the_results_say_what_trained_the_model_and_what_evaluated_it(evaluation: dict[str, Any]) -> None:
    settings, _ = read_results(evaluation["out"])
    assert settings["model"]["run"] == {"algorithm": "grpo", "seed": 3, "step": 5, "git_commit": "c0ffee"}
    assert settings["git_commit"] == git_commit()


def test_the_same_command_again_starts_no_engine(evaluation: dict[str, Any]) -> None:
    out = evaluation["out"]
    before = (out / "results.md").read_text()
    status, output = run(*evaluation["command"])
    assert status == 0, output
    assert "starting" not in output
    assert "merging" not in output
    assert (out / "results.md").read_text() == before


def test_grading_again_alone_gives_the_same_table(
    evaluation: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    out = evaluation["out"]
    before = (out / "results.md").read_text(), (out / "results.json").read_text(), read_grades(out, TASK)
    (task_folder(out, TASK) / "grades.jsonl").write_text("")
    assert cli.main(["evaluate", "grade", str(out)]) == 0
    assert f"{ALL:,} samples graded" in capsys.readouterr().out
    assert ((out / "results.md").read_text(), (out / "results.json").read_text(), read_grades(out, TASK)) == before
