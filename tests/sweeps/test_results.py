"""results.json from run folders, held to arithmetic done here; the table and the plot from that file alone."""

import json
import re
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, stdev

import pytest
from PIL import Image

from pacs import cli
from pacs.base.errors import UserError
from pacs.evaluation.finished import is_evaluated
from pacs.evaluation.grading import Grading
from pacs.evaluation.results import read_results, write_results
from pacs.evaluation.settings import Sampling, Settings
from pacs.evaluation.summary import ProblemCount, TaskResult, pass_at_ks
from pacs.evaluation.tasks import Task
from pacs.rewards.configured import RunReward
from pacs.sweeps.collect import collect
from pacs.sweeps.definition import Sweep
from pacs.sweeps.grid import PlannedRun
from pacs.sweeps.notes import read_inputs
from pacs.sweeps.render import first_measure, render
from pacs.sweeps.results import as_text
from pacs.sweeps.train import Evaluation, check_evaluations, evaluation_folder, evaluation_problem
from tests.evaluation.folders import settings_of, write_evaluation
from tests.sweeps.conftest import MakeRun

COMMAND = ["pacs", "sweep", "beta", "+trainer.wandb_api_key=hunter2"]
#: t of two degrees of freedom, 95%, as tables print it.
T2 = 4.302653


def results_of(sweep: Sweep, runs: list[PlannedRun], refused: dict[str, str] | None = None) -> dict:
    results = collect(sweep, runs, command=COMMAND, refused=refused or {})
    assert json.loads(as_text(results)) == results
    return results


def evaluate(run: PlannedRun, rights: list[int], settings: Settings | None = None) -> None:
    """An evaluation of 4 samples a problem, so many of them right."""
    counts = [ProblemCount(str(number), "gold", 4, right) for number, right in enumerate(rights)]
    at = pass_at_ks(counts, [1, 2, 4])
    task = TaskResult("sums", 4, counts, at[1], at, {}, {}, 0.0, 5.0, None, None, None, None)
    folder = evaluation_folder(run)
    folder.mkdir(parents=True)
    write_results(folder, asdict(settings or settings_of()), [task])


def test_seeds_are_one_setting_with_the_t_interval(sweep: Sweep, make_run: MakeRun) -> None:
    ends = [0.5, 0.75, 0.625]
    runs = [make_run("1", seed, validation=end) for seed, end in enumerate(ends)]
    runs.append(make_run("10", 0, validation=0.25))
    results = results_of(sweep, runs)
    one, ten = results["settings"]
    assert (one["label"], one["settings"], ten["label"]) == ("beta=1", {"method.beta": "1"}, "beta=10")
    assert one["finished"] == [run.folder.name for run in runs[:3]]
    found = one["measures"]["a/b pass@1, validation"]
    half = T2 * stdev(ends) / 3**0.5
    assert found["mean"] == pytest.approx(fmean(ends))
    assert [found["low"], found["high"]] == pytest.approx([fmean(ends) - half, fmean(ends) + half], rel=1e-6)
    assert one["measures"]["a/b pass@4, validation"]["mean"] == pytest.approx(2 * fmean(ends))
    assert one["measures"]["training, last step"] == {"n": 3, "mean": 0.6, "low": 0.6, "high": 0.6, "interval": "seeds"}
    assert ten["measures"]["a/b pass@1, validation"]["interval"] is None
    assert results["swept"] == {"method.beta": ["1", "10"], "data.seed": ["0", "1", "2"]}
    assert results["failures"] == []


def test_what_no_setting_differs_in_is_not_in_the_labels(sweep: Sweep, make_run: MakeRun) -> None:
    runs = [make_run("1", 0), make_run("10", 0)]
    for run in runs:
        run.settings["method.estimator"] = "rloo"
    assert [setting["label"] for setting in results_of(sweep, runs)["settings"]] == ["beta=1", "beta=10"]
    assert [setting["label"] for setting in results_of(sweep, runs[:1])["settings"]] == ["beta=1, estimator=rloo"]


def test_a_run_says_what_made_it(sweep: Sweep, make_run: MakeRun) -> None:
    results = results_of(sweep, [make_run("1", 2, validation=0.5)])
    (run,) = results["runs"]
    assert (run["seed"], run["state"], run["step"], run["total_steps"]) == (2, "finished", 3, 3)
    assert run["step_seconds_sum"] == 6.0
    assert (run["git_commit"], run["versions"]) == ("c0ffee", {"verl": "0.9.1"})
    assert run["curves"]["critic/score/mean"] == [[1, 0.2], [2, 0.4], [3, 0.6]]
    assert run["curves"]["pacs/validation/a/b/pass@1"] == [[0, 0.125], [3, 0.5]]
    assert results["command"][-1] == "+trainer.wandb_api_key=(not shown)"
    assert results["data"] == {"train_files": ["a.parquet"], "val_files": "b.parquet"}


def test_what_is_missing_is_named(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    runs = [
        make_run("1", 0),
        make_run("1", 1, rates=[0.3], state="failed", cause="the disk\nis full"),
        make_run("10", 0, rates=[0.1, 0.2], state="stopped", cause="SIGTERM, after step 2"),
        make_run("10", 1, total=9),
    ]
    runs.append(
        PlannedRun("pacs", runs[0].settings | {"data.seed": "2"}, tmp_path / "none", runs[0].overrides, runs[0].config)
    )
    runs[3].step = 0
    results = results_of(sweep, runs, {"none": "- run.dir: a run is training there."})
    assert [run["state"] for run in results["runs"]] == ["finished", "failed", "stopped", "unfinished", "refused"]
    assert [failure["cause"] for failure in results["failures"]] == [
        "the disk\nis full", "SIGTERM, after step 2", "- run.dir: a run is training there."
    ]  # fmt: skip
    one, ten = results["settings"]
    assert one["measures"]["training, last step"]["n"] == 1
    assert ten["measures"] == {}
    page = render(results)["results.md"].decode()
    assert "1 of 5 runs are finished." in page
    assert re.search(r"beta=1, seed=1 +\| +failed \| +1/3 \| +the disk is full", page)
    assert re.search(r"^\| beta=1 +\| +60\.00 \(1\) \|$", page, flags=re.MULTILINE)
    assert re.search(r"^\| beta=10 +\| +– \|$", page, flags=re.MULTILINE)


def test_the_end_of_a_run_that_was_not_logged_is_not_made_up(sweep: Sweep, make_run: MakeRun) -> None:
    """Killed after its last save: it has no step left to train, and no value at its last step."""
    whole, cut = make_run("1", 0, validation=0.5), make_run("1", 1, rates=[0.2, 0.9], validation=0.75, state="failed")
    cut.step = 3
    results = results_of(sweep, [whole, cut])
    (setting,) = results["settings"]
    assert setting["finished"] == [whole.folder.name, cut.folder.name]
    assert {value["n"] for value in setting["measures"].values()} == {1}
    assert setting["measures"]["training, last step"]["mean"] == 0.6
    (failure,) = results["failures"]
    assert failure["run"] == cut.folder.name
    assert "- beta=1, seed=1: step 3 is saved but not logged" in render(results)["results.md"].decode()


def test_an_evaluation_of_one_seed_has_its_interval_over_problems(sweep: Sweep, make_run: MakeRun) -> None:
    runs = [make_run("1", 0), make_run("10", 0), make_run("10", 1)]
    for run, rights in zip(runs, ([0, 2, 4], [4, 4, 4], [4, 4, 0]), strict=True):
        evaluate(run, rights)
    results = results_of(sweep, runs)
    one, ten = (setting["measures"]["sums pass@1"] for setting in results["settings"])
    ((task,),) = [read_results(evaluation_folder(runs[0]))[1]]
    assert one == {"n": 1, **vars(task.accuracy), "interval": "problems"}
    assert (ten["n"], ten["interval"], ten["mean"]) == (2, "seeds", pytest.approx((1 + 2 / 3) / 2))
    assert first_measure(results) == "sums pass@1"
    results["settings"].append({"measures": {"training, last step": one}})
    assert first_measure(results) == "training, last step"  # all have it
    results["settings"].pop()
    page = render(results)["results.md"].decode()
    assert "50.00 [0.00, 100.00] (1)" in page
    assert "3 of 3 runs are finished, 3 of them evaluated." in page
    assert "Finished, but" not in page


def test_an_evaluated_setting_without_a_log_is_drawn_too(sweep: Sweep, make_run: MakeRun) -> None:
    """Killed between its only save and the line of that step: there is a model to evaluate, and no curve."""
    runs = [make_run("1", 0), make_run("10", 0)]
    for run in runs:
        evaluate(run, [0, 2, 4])
    (runs[0].folder / "metrics.jsonl").unlink()
    results = results_of(sweep, runs)
    assert [setting["measures"]["sums pass@1"]["n"] for setting in results["settings"]] == [1, 1]
    assert render(results)["results.png"].startswith(b"\x89PNG")


def test_an_evaluation_that_failed_is_named(sweep: Sweep, make_run: MakeRun) -> None:
    run = make_run("1", 0)
    log = evaluation_folder(run).with_suffix(".log")
    log.parent.mkdir()
    log.write_text("INFO loading\npacs evaluate: --max-tokens 8192: too long\n")
    results = results_of(sweep, [run])
    said = "not evaluated: pacs evaluate: --max-tokens 8192: too long"
    assert results["failures"] == [{"run": run.folder.name, "state": "finished", "cause": said}]
    assert f"- beta=1, seed=0: {said}" in render(results)["results.md"].decode()


def test_the_log_of_an_evaluation_that_was_killed_may_end_within_a_character(make_run: MakeRun) -> None:
    log = evaluation_folder(make_run("1", 0)).with_suffix(".log")
    log.parent.mkdir()
    log.write_bytes("loading\n 50%|█████".encode()[:-1])
    assert str(evaluation_problem(log.with_suffix(""))).startswith("not evaluated:  50%|████")


@pytest.mark.parametrize(
    "damaged", ['{"data.train_files": 1}', '{"data.train_files": [["a"]]}', '{"a": null}', "[1]", "{"]
)
def test_inputs_that_are_damaged_are_not_recorded(make_run: MakeRun, damaged: str) -> None:
    folder = make_run("1", 0).folder
    (folder / "inputs.json").write_text(damaged)
    assert read_inputs(folder) == {}


def test_an_evaluation_is_done_when_it_has_what_is_asked_for(make_run: MakeRun) -> None:
    run = make_run("1", 0)
    asked = Task("sums", Path("sums.parquet"), samples=4, ks=(1, 4))
    assert not is_evaluated(evaluation_folder(run), [asked])
    evaluate(run, [0, 2, 4])
    assert is_evaluated(evaluation_folder(run), [asked])
    for other in (replace(asked, samples=8), replace(asked, ks=(1, 3)), replace(asked, name="products")):
        assert not is_evaluated(evaluation_folder(run), [asked, other])


def test_other_settings_than_an_evaluation_s_are_refused(make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run("1", 0), make_run("10", 0)]
    write_evaluation(folder := evaluation_folder(runs[1]))
    asked = Evaluation([Task("sums", tmp_path / "sums.parquet", samples=4, ks=(1, 4))], 8192, [])
    check_evaluations(runs, asked)
    with pytest.raises(UserError, match=f"{folder} was sampled with max_tokens 8192, not 16384"):
        check_evaluations(runs, replace(asked, max_tokens=16384))
    asked.tasks[0].file.write_text("others")
    with pytest.raises(UserError, match=f"{folder}: sums was sampled from another data file"):
        check_evaluations(runs, asked)


def test_the_report_of_the_file_alone_is_the_same(
    sweep: Sweep, make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [make_run(beta, seed, rates=[0.1, 0.2, 0.1 * int(beta)]) for beta in ("1", "9") for seed in (0, 1)]
    results = results_of(sweep, runs)
    rendered = render(results)
    file = tmp_path / "alone.json"
    file.write_text(as_text(results))
    assert cli.main(["report", str(file), "--out", str(tmp_path / "out")]) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == rendered
    assert set(capsys.readouterr().out.split()) == {str(tmp_path / "out" / name) for name in rendered}
    width, height = Image.open(tmp_path / "out" / "results.png").size
    assert width > height > 500
    page = rendered["index.html"].decode()
    assert "beta=9 highest" not in page  # of two settings both are named
    assert "beta, arithmetic: training, last step: 0.90 for beta=9, 0.10 for beta=1" in page
    assert "Right answers in training, last third up to step 3: 0.90 for beta=9, 0.10 for beta=1" in page


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is no folder: give another"),
        ("[1, 2]", "has no results of a sweep: give the results.json"),
        ('{"tasks": []}', "has no results of a sweep"),
        ("{", "is not JSON"),
    ],
)
def test_what_is_no_sweep_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sweep: Sweep, make_run: MakeRun, text: str | None, said: str
) -> None:
    file, out = tmp_path / "some.json", tmp_path / "out"
    if text is None:
        out.write_text("mine")
        text = as_text(results_of(sweep, [make_run("1", 0)]))
    file.write_text(text)
    assert cli.main(["report", str(file), "--out", str(out)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("pacs report: ")
    assert said in line
    assert not out.is_dir()


def test_a_sweep_without_a_step_has_nothing_to_draw(
    sweep: Sweep, make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run("1", 0, state="failed")
    (run.folder / "metrics.jsonl").unlink()
    results = results_of(sweep, [run])
    assert render(results).keys() == {"results.md"}
    (tmp_path / "none.json").write_text(as_text(results))
    assert cli.main(["report", str(tmp_path / "none.json"), "--out", str(tmp_path / "out")]) == 2
    assert "nothing to draw: no run has logged a step yet" in capsys.readouterr().err


def test_evaluations_follow_their_run_s_verifier_settings(make_run: MakeRun, sweep: Sweep, tmp_path: Path) -> None:
    """Of a run that grades otherwise, one that is there is refused; of two that differ, the page says so."""
    runs = [make_run("1", 0), make_run("10", 0)]
    kwargs = {"math": {"accept_unevaluated": True}}
    runs[1].config.reward.custom_reward_function.reward_kwargs = kwargs
    write_evaluation(folder := evaluation_folder(runs[1]))
    asked = Evaluation([Task("sums", tmp_path / "sums.parquet", samples=4, ks=(1, 4))], 8192, [])
    with pytest.raises(UserError, match=f"{folder} was graded with math.accept_unevaluated false, not true"):
        check_evaluations(runs, asked)
    shutil.rmtree(folder)
    check_evaluations(runs, asked)
    for run, reward in zip(runs, (RunReward({}), RunReward(kwargs)), strict=True):
        evaluate(run, [0, 2, 4], replace(settings_of(), grading=Grading.of(reward, {})))
    said = f"- grading: math.accept_unevaluated differs: false ({runs[0].label}), true ({runs[1].label})."
    assert said in render(results_of(sweep, runs))["results.md"].decode()
    assert results_of(sweep, runs[:1])["notes"] == []


def test_evaluations_that_were_drawn_otherwise_are_said_so(sweep: Sweep, make_run: MakeRun) -> None:
    """One of them by hand, at another temperature: the sweep takes it as it is there."""
    runs = [make_run("1", 0), make_run("1", 1)]
    for run, temperature in zip(runs, (0.6, 1.0), strict=True):
        evaluate(run, [0, 2, 4], settings_of(sampling=Sampling(temperature=temperature)))
    said = f"sampling.temperature differs: 0.6 ({runs[0].label}), 1.0 ({runs[1].label})."
    assert results_of(sweep, runs)["notes"] == [said]


def test_a_mean_of_graded_scores_is_no_share_of_right_answers(sweep: Sweep, make_run: MakeRun) -> None:
    runs = [make_run("1", 0), make_run("10", 0)]
    log = runs[0].folder / "metrics.jsonl"
    lines = [json.loads(line) | {"pacs/rows/graded_count": 3} for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    one, ten = results_of(sweep, runs)["settings"]
    assert one["measures"] == {}
    assert list(ten["measures"]) == ["training, last step"]
    page = render(results_of(sweep, runs[:1]))["index.html"].decode()
    assert "Mean score in training" in page
    assert "Right answers" not in page
    assert "no share of right answers to compare" in page
