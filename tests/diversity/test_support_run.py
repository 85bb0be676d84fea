"""`pacs support RUN` as its user has it: runs and evaluations on disk, and `pacs evaluate` in place of its engines."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from pacs import cli
from pacs.base.files import file_sha256
from pacs.checkpoints.folder import MARKER, seal
from pacs.diversity import evaluating
from pacs.evaluation.grading import Grading, parse_given
from pacs.evaluation.results import report
from pacs.evaluation.settings import read_settings
from pacs.evaluation.tasks import parse_tasks
from tests.diversity.folders import Response, Responses, write_folder
from tests.evaluation.conftest import write_data, write_model

RIGHT, WRONG = Response("r"), Response("w", "wrong", "8")
#: Step -> problem -> its samples. Of the initial policy's two problems step 10 loses one; step 20 gains one more.
SAMPLES: dict[int, Responses] = {
    0: {"a": [RIGHT, RIGHT], "b": [WRONG, RIGHT], "c": [WRONG] * 2, "d": [WRONG] * 2},
    10: {"a": [RIGHT, RIGHT], "b": [WRONG, WRONG], "c": [WRONG] * 2, "d": [WRONG] * 2},
    20: {"a": [RIGHT, RIGHT], "b": [WRONG, WRONG], "c": [WRONG] * 2, "d": [WRONG, RIGHT]},
}
KWARGS = {"math": {"accept_unevaluated": True, "timeout_seconds": 3}}


def write_run(folder: Path, model: Path, steps: Sequence[int] = (10, 20)) -> Path:
    """A run that graded with settings of its own."""
    function = {"path": "pkg://pacs.rewards.registry", "name": "compute_score", "reward_kwargs": KWARGS}
    config = {
        "actor_rollout_ref": {"model": {"path": str(model)}},
        "reward": {"custom_reward_function": function},
        "run": {"reasoning": {"delimiters": [["<a>", "</a>"]]}},
    }
    for step in steps:
        checkpoint = folder / "checkpoints" / f"global_step_{step}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(config)))
        seal(checkpoint, step=step, ranks=1)
    (folder / "run.json").write_text("{}")
    return folder


def write_evaluation(out: Path, run: Path, step: int, tasks: Mapping[str, Responses] | None = None) -> Path:
    """A finished one, as `pacs evaluate` would leave it."""
    write_folder(out, tasks or {"sums": SAMPLES[step]}, given=KWARGS)
    checkpoint = run / "checkpoints" / f"global_step_{step}" / MARKER
    settings = read_settings(out)
    marker = file_sha256(checkpoint) if checkpoint.is_file() else None
    sampling = replace(settings.sampling, reasoning=[["<a>", "</a>"]], dtype="float32")
    replace(settings, model=replace(settings.model, checkpoint=marker), sampling=sampling).write(out)
    report(out)
    return out


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", seed=1)


@pytest.fixture
def run(tmp_path: Path, model: Path) -> Path:
    return write_run(tmp_path / "run", model)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def support(*words: object) -> int:
    return cli.main(["support", *map(str, words)])


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert support(*words) == 2
    captured = capsys.readouterr()
    return captured.err.strip()


def read(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "support.json").read_text())
    return found


def test_a_folder_that_was_renamed_is_of_no_other_step(
    tmp_path: Path, model: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the checkpoint is gone the evaluation's own settings say of which step it is."""
    run = write_run(tmp_path / "run", model, steps=(10,))
    for step, name in ((0, "initial"), (10, "step_10"), (20, "step_200")):
        folder = write_evaluation(out / name, run, step)
        settings = read_settings(folder)
        if step:
            replace(settings, model=replace(settings.model, run={"step": step})).write(folder)
    said = refused(capsys, run, "--out", out)
    assert f"{out}/step_200 is of step 20, as its settings.json says: name it step_20, or move it away" in said
    (out / "step_200").rename(out / "step_20")
    assert support(run, "--out", out) == 0
    assert [policy["step"] for policy in read(out)["settings"]["policies"]] == [0, 10, 20]


def test_finished_evaluations_are_read(run: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (0, 10, 20):
        write_evaluation(out / (f"step_{step}" if step else "initial"), run, step)
    assert support(run, "--k", 2, 1, "--out", out) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[-3:] == [f"{out / name}" for name in ("support.json", "support.md", "support.png")]
    document = read(out)
    assert [policy["step"] for policy in document["settings"]["policies"]] == [0, 10, 20]
    at = document["tasks"]["sums"]["k"]
    assert [*at] == ["1", "2"]
    two = at["2"]["steps"]
    assert two["10"]["counts"] == {"kept": 1, "gained": 0, "lost": 1, "neither": 2}
    assert two["20"]["problems"] == {"kept": ["a"], "gained": ["d"], "lost": ["b"], "neither": ["c"]}
    means = {name: value["mean"] for name, value in two["20"]["metrics"].items()}
    assert means == {"SRR": 0.5, "NDR": 0.5, "SDS": 0.5, "NSCR": 0.0}
    assert at["1"]["steps"]["20"]["counts"] == {"kept": 1, "gained": 0, "lost": 0, "neither": 3}
    assert at["2"]["change_from_first_to_last"]["NDR"]["mean"] == 0.5
    assert document["tasks"]["sums"]["right_of_k"]["problems"]["d"] == [0, 0, 1]
    page = (out / "support.md").read_text()
    assert page.startswith("# Support along ")
    assert "Within 2 samples step 20 solves 1 of the 2 problems that the initial policy solves" in page
    assert "right in 1 of the lost ones (the initial policy) and 1 of the gained ones (step 20): with other" in page
    assert "empirical" in page
    assert (out / "support.png").read_bytes().startswith(b"\x89PNG")
    before = {name: (out / name).read_bytes() for name in ("support.json", "support.md", "support.png")}
    assert support(run, "--k", 2, 1, "--out", out) == 0
    assert {name: (out / name).read_bytes() for name in before} == before


def test_a_problem_may_need_more_than_one_right_sample(run: Path, out: Path) -> None:
    for step in (0, 10, 20):
        write_evaluation(out / (f"step_{step}" if step else "initial"), run, step)
    assert support(run, "--right", 2, "--out", out) == 0
    (sums,) = read(out)["tasks"]["sums"]["k"].values()
    assert sums["steps"]["20"]["counts"] == {"kept": 1, "gained": 0, "lost": 0, "neither": 3}
    assert sums["epsilon"] == pytest.approx(0.95**0.5)  # two right of two are missed: 1 - p^2 = 0.05


def test_evaluations_elsewhere_checkpoints_that_are_gone_and_several_tasks(
    tmp_path: Path, run: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sweep's folder of evaluations, and the initial policy's, which several runs share. Step 5 was pruned."""
    evaluations = run / "evaluation"
    for step, of_step in ((5, 10), (10, 10), (20, 20)):
        write_evaluation(evaluations / f"step_{step}", run, step, {"sums": SAMPLES[of_step], "more": SAMPLES[of_step]})
    base = write_evaluation(tmp_path / "base", run, 0, {"more": SAMPLES[0], "sums": SAMPLES[0]})
    write_folder(evaluations / "step_30", {"sums": SAMPLES[20]})
    (evaluations / "step_30" / "samples" / "sums" / "grades.jsonl").unlink()
    words = [run, "--evaluations", evaluations, "--initial", base, "--out", out]
    assert support(*words) == 0
    printed = capsys.readouterr().out
    assert f"step 30 is left out: {evaluations}/step_30 is no finished evaluation" in printed
    document = read(out)
    assert [policy["step"] for policy in document["settings"]["policies"]] == [0, 5, 10, 20]
    counts = document["all_tasks"]["k"]["2"]["steps"]["20"]["counts"]
    assert counts == {"kept": 2, "gained": 2, "lost": 2, "neither": 2}
    assert sorted(document["tasks"]) == ["more", "sums"]
    assert "step_30 is no finished evaluation of step 30: give --tasks" in refused(capsys, *words, "--steps", 30)
    assert support(*words, "--task", "sums", "--steps", 20, 5) == 0
    assert [*read(out)["tasks"]] == ["sums"]
    assert [*read(out)["tasks"]["sums"]["k"]["2"]["steps"]] == ["5", "20"]


def test_a_checkpoint_without_an_evaluation_is_left_out(
    run: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step, name in ((0, "initial"), (10, "step_10")):
        write_evaluation(out / name, run, step)
    assert support(run, "--out", out) == 0
    assert f"step 20 is left out: {out / 'step_20'} is no finished evaluation" in capsys.readouterr().out
    assert [policy["step"] for policy in read(out)["settings"]["policies"]] == [0, 10]
    shutil.rmtree(out / "step_10")
    assert "no checkpoint has a finished evaluation: give --tasks" in refused(capsys, run, "--out", out)


class Evaluations:
    """`pacs evaluate` without engines: it notes what it is asked for, and leaves what the real one would.

    Attributes:
        steps: of the policies that it was asked to evaluate, in their order.
        statuses: what the next ones end with, before they have done anything; then 0.
    """

    def __init__(self, run: Path) -> None:
        self.run, self.steps, self.statuses = run, list[int](), list[int]()
        self.given: dict[int, Any] = {}

    def __call__(self, command: Sequence[str], stop: object, **options: Any) -> int:
        assert command[1:4] == ["-m", "pacs", "evaluate"]
        args = cli.parse("evaluate", command[4:])
        step = 0 if args.out.name == "initial" else int(args.out.name.removeprefix("step_"))
        self.steps.append(step)
        self.given[step] = args
        if self.statuses:
            return self.statuses.pop(0)
        (task,) = parse_tasks(args.tasks, args.data, args.samples, args.k)
        assert task.samples == 2
        write_evaluation(args.out, self.run, step)
        settings = read_settings(args.out)
        made_of = replace(settings.tasks["sums"], sha256=file_sha256(task.file))
        replace(settings, tasks={"sums": made_of}).write(args.out)
        if step:
            (args.out / "model").mkdir()
            (args.out / "model" / "model.safetensors").write_text("weights")
        return 0


@pytest.fixture
def evaluations(run: Path, monkeypatch: pytest.MonkeyPatch) -> Evaluations:
    made = Evaluations(run)
    monkeypatch.setattr(evaluating, "run_passing_on", made)
    return made


@pytest.fixture
def asked(tmp_path: Path, run: Path, out: Path) -> list[object]:
    data = write_data(tmp_path / "sums.parquet", [(1, 1), (1, 2), (1, 3), (1, 4)])
    return [run, "--tasks", f"sums={data}", "--samples", 2, "--out", out]


def test_what_is_missing_is_evaluated_and_a_stopped_command_goes_on(
    asked: list[object], run: Path, out: Path, evaluations: Evaluations, capsys: pytest.CaptureFixture[str]
) -> None:
    assert support(*asked, "--steps", 10) == 0
    assert evaluations.steps == [0, 10]
    assert not (out / "step_10" / "model").exists()
    evaluations.statuses = [75]
    assert support(*asked) == 75
    assert evaluations.steps == [0, 10, 20]
    assert "step 20 is not evaluated; the same command goes on from there" in capsys.readouterr().err
    assert support(*asked, "--keep-models") == 0
    assert evaluations.steps == [0, 10, 20, 20]
    assert "2 of 3 policies are evaluated already" in capsys.readouterr().out
    assert (out / "step_20" / "model").exists()
    assert [*read(out)["tasks"]["sums"]["k"]["2"]["steps"]] == ["10", "20"]
    write_run(run, Path(evaluations.given[0].model), steps=[30])  # it was trained further
    evaluations.statuses = [1]
    assert support(*asked) == 1
    assert evaluations.steps == [0, 10, 20, 20, 30]


def test_each_policy_is_evaluated_alike_and_as_the_run_graded(
    asked: list[object], model: Path, run: Path, evaluations: Evaluations
) -> None:
    """A checkpoint says itself how its run graded; of the initial policy the command says it."""
    given = ["--top-p", "0.95", "--engines", "2", "--no-thinking", "--reward-kwargs", "math.timeout_seconds=7"]
    assert support(*asked, *given, "--data", "sets of mine") == 0
    initial, checkpoint = evaluations.given[0], evaluations.given[10]
    assert (initial.model, checkpoint.model) == (str(model), str(run / "checkpoints" / "global_step_10"))
    for args in (initial, checkpoint):
        assert (args.engines, args.thinking, args.top_p, args.samples) == (2, False, 0.95, ["2"])
        assert args.data == Path("sets of mine")
    assert initial.reasoning == [["<a>", "</a>"]]
    wanted = {"math": {"accept_unevaluated": True, "timeout_seconds": 7}}
    assert Grading.of(None, parse_given(initial.reward_kwargs)).verifiers == Grading.of(None, wanted).verifiers
    assert (checkpoint.reasoning, checkpoint.reward_kwargs) == (None, ["math.timeout_seconds=7"])


def test_what_an_evaluation_would_refuse_is_refused_before_the_first(
    asked: list[object], run: Path, out: Path, evaluations: Evaluations, capsys: pytest.CaptureFixture[str]
) -> None:
    assert support(*asked) == 0
    done = list(evaluations.steps)
    hotter = refused(capsys, *asked, "--temperature", 1)
    assert f"{out / 'initial'} was sampled with temperature 0.6, not 1.0" in hotter
    stricter = refused(capsys, *asked, "--reward-kwargs", "math.timeout_seconds=7")
    assert "was graded with math.timeout_seconds 3, not 7" in stricter
    more = refused(capsys, *asked, "--initial", out / "initial", "--samples", 4)
    assert "the model of the initial policy is gone: give --initial MODEL" in more
    shutil.rmtree(run / "checkpoints" / "global_step_10")
    assert "the model of step 10 is gone: leave it out of --steps" in refused(
        capsys, *asked, "--samples", 4, "--steps", 10
    )
    evaluations.statuses = [75]
    assert support(*asked, "--samples", 4) == 75
    assert "the model of step 10 is gone" in capsys.readouterr().out
    assert evaluations.steps == [*done, 0]
    Path(str(asked[2]).partition("=")[2]).write_bytes(b"others")
    assert "sums was sampled from another data file (data.parquet" in refused(capsys, *asked)
    assert evaluations.steps == [*done, 0]


def test_a_checkpoint_that_was_trained_again_is_another_model(
    run: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in (0, 10, 20):
        write_evaluation(out / (f"step_{step}" if step else "initial"), run, step)
    (run / "checkpoints" / "global_step_20" / "data.pt").write_text("other weights")
    seal(run / "checkpoints" / "global_step_20", step=20, ranks=1)
    said = refused(capsys, run, "--out", out)
    assert f"{out / 'step_20'} is of another model than {run}/checkpoints/global_step_20 as it is now" in said
    assert support(run, "--steps", 10, "--out", out) == 0


def test_an_initial_policy_that_is_not_there(
    tmp_path: Path, out: Path, asked: list[object], evaluations: Evaluations, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = write_run(tmp_path / "gone", Path("/nowhere/model"))
    said = refused(capsys, gone, *asked[1:])
    assert "the policy that the run began with: /nowhere/model: no such folder" in said
    assert "--initial names it elsewhere" in said
    assert evaluations.steps == []


def test_the_command_says_what_differs(run: Path, out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for step in (0, 10, 20):
        write_evaluation(out / (f"step_{step}" if step else "initial"), run, step)
    settings = read_settings(out / "step_20")
    replace(settings, grading=Grading.of(None, {})).write(out / "step_20")
    assert support(run, "--out", out) == 0
    said = "grading: math.accept_unevaluated differs: true (the initial policy), false (step 20)."
    assert said in capsys.readouterr().out
    assert said in (out / "support.md").read_text()


@pytest.mark.slow
def test_a_real_process_evaluates(asked: list[object], run: Path, out: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The checkpoints here have no model: `pacs evaluate` says so, and ends the command with its status."""
    initial = write_evaluation(out / "initial", run, 0)
    assert support(*asked, "--initial", initial, "--steps", 10) == 2
    said = capfd.readouterr().err
    assert "pacs evaluate: " in said
    assert "pacs support: step 10 is not evaluated; the same command goes on from there" in said
