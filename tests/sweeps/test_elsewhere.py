"""Runs that were trained on another machine are taken from its results.json."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from pacs import cli
from pacs.base.errors import UserError
from pacs.base.run_folder import RunFolder
from pacs.evaluation.folder import write_problems
from pacs.evaluation.results import write_results
from pacs.evaluation.summary import summarize
from pacs.evaluation.tasks import Task, load_problems
from pacs.integration.launch.input_hashes import write_inputs
from pacs.sweeps.check import take_results
from pacs.sweeps.collect import collect
from pacs.sweeps.definition import Sweep, read_sweep
from pacs.sweeps.grid import PlannedRun, plan_runs
from pacs.sweeps.results import as_text
from pacs.sweeps.table import results_page
from pacs.sweeps.train import evaluation_folder
from tests.evaluation.conftest import write_data
from tests.evaluation.folders import settings_of
from tests.evaluation.grading import task_of
from tests.sweeps.conftest import MakeRun


def results_of(sweep: Sweep, runs: list[PlannedRun]) -> dict[str, Any]:
    return collect(sweep, runs, command=["pacs", "sweep"], refused={})


def moved(run: PlannedRun, folder: Path) -> PlannedRun:
    """The same run as it is planned on a machine that has nothing of it."""
    words = [*run.overrides, f"run.dir={folder}", "trainer.experiment_name=here"]
    return PlannedRun(run.algorithm, run.settings, folder / run.folder.name, words, run.config)


def test_two_halves_give_the_results_of_the_whole(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run(beta, seed, validation=0.1 * seed + 0.01 * int(beta)) for beta in ("1", "10") for seed in range(3)]
    whole = results_of(sweep, runs)
    file = tmp_path / "results.json"
    file.write_text(as_text(results_of(sweep, [run for run in runs if run.settings["data.seed"] != "2"])))
    planned = [run if run.settings["data.seed"] == "2" else moved(run, tmp_path / "here") for run in runs]
    assert [run.is_finished for run in planned] == [False, False, True] * 2
    take_results(planned, [file], [])
    assert all(run.is_finished for run in planned)
    found = results_of(sweep, planned)
    assert found["settings"] == whole["settings"]
    assert found["settings"][0]["measures"]["a/b pass@1, validation"]["n"] == 3
    for there, here in zip(whole["runs"], found["runs"], strict=True):
        assert {**here, "folder": None} == {**there, "folder": None}


def evaluate(run: PlannedRun, rights: Mapping[str, int]) -> None:
    """Each task has one problem of 10 samples, so many of them right, of at most 8,192 tokens."""
    settings = settings_of()
    settings = replace(settings, tasks={task: replace(settings.tasks["sums"], samples=10) for task in rights})
    graded = [summarize(task_of(task, {"problem": right}, 10), [1]) for task, right in rights.items()]
    folder = evaluation_folder(run)
    folder.mkdir(parents=True)
    write_results(folder, asdict(settings), graded)


def test_an_evaluation_of_other_data_or_lengths_is_refused(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    run, file = make_run("1", 0), tmp_path / "results.json"
    evaluate(run, {"one": 9})
    results = results_of(sweep, [run])
    file.write_text(as_text(results))
    task = Task("one", tmp_path / "one.parquet", 10, (1,))
    with pytest.raises(
        UserError, match=r"is evaluated with --max-tokens 8192 on one, and 4096 are asked for: evaluate"
    ):
        take_results([moved(run, tmp_path / "here")], [file], [task], 4096)
    take_results([planned := moved(run, tmp_path / "here")], [file], [task], 8192)
    assert planned.is_finished
    write_data(task.file, [(1, 1), (1, 2)])
    with pytest.raises(UserError, match=r"is evaluated on other data of one than .*one.parquet has: evaluate it"):
        take_results([moved(run, tmp_path / "here")], [file], [task], 8192)
    for unknown in ("max_tokens", "data_sha256"):  # of an older version
        del results["runs"][0]["evaluation"]["one"][unknown]
    file.write_text(as_text(results))
    take_results([planned := moved(run, tmp_path / "here")], [file], [task], 4096)
    assert planned.is_finished


def test_the_same_problems_in_other_bytes_are_the_same_data(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    """As another version of pyarrow writes them: here with another compression."""
    run, file = make_run("1", 0), tmp_path / "results.json"
    evaluate(run, {"one": 9})
    here = write_data(tmp_path / "one.parquet", [(1, 1), (1, 2)])
    write_problems(evaluation_folder(run), "one", load_problems(here))
    file.write_text(as_text(results_of(sweep, [run])))
    table = pq.read_table(here)
    pq.write_table(table, here, compression="gzip")
    planned, task = moved(run, tmp_path / "here"), Task("one", here, 10, (1,))
    take_results([planned], [file], [task], 8192)
    assert planned.is_finished
    pq.write_table(table.slice(1), here)
    with pytest.raises(UserError, match="is evaluated on other data of one"):
        take_results([moved(run, tmp_path / "here")], [file], [task], 8192)


def test_means_over_tasks_are_over_the_same_tasks_in_all_parts(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    """Two machines evaluated a seed each, the second on one task more: each file says "mean pass@1" of its own."""
    runs = [make_run("1", seed) for seed in range(2)]
    rights = {"one": 9, "two": 1, "three": 8}
    planned, files = [moved(run, tmp_path / "here") for run in runs], []
    for run, tasks in zip(runs, (("one", "two"), ("one", "two", "three")), strict=True):
        evaluate(run, {task: rights[task] for task in tasks})
        results = results_of(sweep, [run])
        mean = results["settings"][0]["measures"]["mean pass@1"]["mean"]
        assert mean == pytest.approx(fmean(rights[task] / 10 for task in tasks))
        files.append(tmp_path / f"{run.folder.name}.json")
        files[-1].write_text(as_text(results))
    take_results(planned, files, [])
    measured = results_of(sweep, planned)["settings"][0]["measures"]
    assert {name: (value["n"], value["mean"]) for name, value in measured.items() if name.startswith("mean")} == {
        "mean pass@1 of one, two": (2, pytest.approx(0.5))
    }
    assert measured["three pass@1"]["n"] == 1


def holds(run: PlannedRun, weights: str) -> None:
    """Write down, as a run does, what it began with."""
    (run.folder / "weights").mkdir()
    (run.folder / "weights" / "model.safetensors").write_text(weights)
    named = {"actor_rollout_ref": {"model": {"path": str(run.folder / "weights")}}}
    write_inputs(OmegaConf.merge(run.config, named), run.folder)


def test_runs_that_did_not_begin_alike_are_named(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run("1", seed) for seed in range(3)]
    for run, weights in zip(runs, ("these", "these", "those"), strict=True):
        holds(run, weights)
    file, planned = tmp_path / "results.json", [*runs[:2], moved(runs[2], tmp_path / "here")]
    file.write_text(as_text(results_of(sweep, runs)))
    take_results(planned, [file], [])
    (note,) = results_of(sweep, planned)["notes"]
    assert f"- {note}" in results_page(results_of(sweep, planned))
    began = [run["inputs"]["actor_rollout_ref.model.path"] for run in results_of(sweep, runs)["runs"]]
    (these,), (those,) = began[0], began[2]
    assert note == (
        "not the same in all runs: what actor_rollout_ref.model.path tiny held, by its SHA-256: "
        f"{these} (beta_1-seed_0, beta_1-seed_1); {those} (beta_1-seed_2)."
    )
    assert results_of(sweep, planned[:2])["notes"] == []  # the same files in another place are no difference


def test_runs_that_were_given_other_models_are_not_compared_by_them(sweep: Sweep, make_run: MakeRun) -> None:
    runs = [make_run("1", seed) for seed in range(2)]
    for run in runs:
        holds(run, run.label)
        run.config.actor_rollout_ref.model.path = run.label
    assert results_of(sweep, runs)["notes"] == []


def test_a_run_that_does_not_say_what_it_began_with_is_named(sweep: Sweep, make_run: MakeRun) -> None:
    runs = [make_run("1", 0), make_run("1", 1), make_run("1", 2, state="failed")]
    assert results_of(sweep, runs)["notes"] == []  # nobody says it
    holds(runs[0], "these")
    expected = ["not recorded what the data and the model of these runs held: beta_1-seed_1."]
    assert results_of(sweep, runs)["notes"] == expected
    (runs[1].folder / RunFolder.INPUTS).write_text('{"data.train_files": [')  # a disk lost the rest
    assert results_of(sweep, runs)["notes"] == expected


def test_what_is_not_finished_there_is_left_to_train(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    runs = [make_run("1", 0), make_run("1", 1, state="failed", cause="no memory", rates=(0.2,))]
    (tmp_path / "results.json").write_text(as_text(results_of(sweep, runs)))
    planned = [moved(run, tmp_path / "here") for run in runs]
    take_results(planned, [tmp_path / "results.json"], [])
    assert [run.is_finished for run in planned] == [True, False]
    assert results_of(sweep, planned)["runs"][1]["state"] == "not started"


def test_what_is_finished_here_is_not_taken_from_there(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("1", 0)
    (tmp_path / "results.json").write_text(as_text(results_of(sweep, [run])))
    take_results([run], [tmp_path / "results.json"], [])
    assert run.elsewhere is None


def test_a_file_with_parts_missing_is_none(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    results = results_of(sweep, [make_run("1", 0)])
    for part in ("state", "command", "total_steps", "label", "started", "cause"):
        broken = {**results, "runs": [{key: value for key, value in results["runs"][0].items() if key != part}]}
        (tmp_path / "results.json").write_text(json.dumps(broken))
        with pytest.raises(UserError, match="has no results of a sweep"):
            take_results([], [tmp_path / "results.json"], [])
    for part in ("curves", "evaluation", "inputs"):
        broken = {**results, "runs": [results["runs"][0] | {part: "edited"}]}
        (tmp_path / "results.json").write_text(json.dumps(broken))
        with pytest.raises(UserError, match="has no results of a sweep"):
            take_results([], [tmp_path / "results.json"], [])
    for part in ("runs", "settings", "recipe", "data", "intervals"):
        broken = {key: value for key, value in results.items() if key != part}
        (tmp_path / "results.json").write_text(json.dumps(broken))
        with pytest.raises(UserError, match="has no results of a sweep"):
            take_results([], [tmp_path / "results.json"], [])
    for part in ("label", "finished", "measures"):
        broken = {key: value for key, value in results["settings"][0].items() if key != part}
        (tmp_path / "results.json").write_text(json.dumps({**results, "settings": [broken]}))
        assert cli.main(["report", str(tmp_path / "results.json"), "--out", str(tmp_path / "out")]) == 2


def test_the_first_file_that_has_a_run_counts(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("1", 0)
    results = results_of(sweep, [run])
    for name in ("first", "second"):
        results["runs"][0]["host"] = name
        (tmp_path / name).write_text(as_text(results))
    planned = moved(run, tmp_path / "here")
    take_results([planned], [tmp_path / "first", tmp_path / "second"], [])
    assert planned.elsewhere is not None
    assert planned.elsewhere["host"] == "first"


def test_other_settings_other_sweeps_and_missing_evaluations_are_refused(
    sweep: Sweep, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run("1", 0)
    file = tmp_path / "results.json"
    file.write_text(as_text(results_of(sweep, [run])))
    other = moved(run, tmp_path / "here")
    other.overrides.append("trainer.total_training_steps=9")
    with pytest.raises(UserError, match=r"has other settings \(trainer.total_training_steps=9\): give"):
        take_results([other], [file], [])
    other.overrides[-1] = "actor_rollout_ref.rollout.val_kwargs.n=9"
    with pytest.raises(UserError, match=r"has other settings \(actor_rollout_ref.rollout.val_kwargs.n=9\): give"):
        take_results([other], [file], [])
    backwards = moved(run, tmp_path / "here")
    backwards.overrides.reverse()
    with pytest.raises(UserError, match=r"has other settings \(in another order\)"):
        take_results([backwards], [file], [])
    task = Task("math500", Path("math500.parquet"), 16, (1,))
    with pytest.raises(UserError, match=r"is not evaluated on math500, and 16 are asked for: evaluate it where"):
        take_results([moved(run, tmp_path / "here")], [file], [task])
    results = json.loads(file.read_text())
    results["runs"][0]["evaluation"] = {"math500": {"problems": 500, "samples": 4, "pass_at": {}}}
    file.write_text(json.dumps(results))
    with pytest.raises(UserError, match=r"is evaluated by 4 samples a problem on math500, and 16 are asked for"):
        take_results([moved(run, tmp_path / "here")], [file], [task])
    take_results([moved(run, tmp_path / "here")], [file], [replace(task, samples=4)])
    with pytest.raises(UserError, match=r"none of its runs is one of these"):
        take_results([moved(make_run("10", 1), tmp_path / "here")], [file], [])
    with pytest.raises(UserError, match=r"none.json cannot be read"):
        take_results([moved(run, tmp_path / "here")], [tmp_path / "none.json"], [])


def test_how_it_was_calculated_there_does_not_matter(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run("1", 0)
    (tmp_path / "results.json").write_text(as_text(results_of(sweep, [run])))
    planned = moved(run, tmp_path / "here")
    planned.overrides.extend(["actor_rollout_ref.rollout.agent.num_workers=2", "+trainer.balance_batch=false"])
    take_results([planned], [tmp_path / "results.json"], [])
    assert planned.is_finished


def test_what_the_same_command_stood_for_is_compared(sweep: Sweep, make_run: MakeRun, tmp_path: Path) -> None:
    """The other machine had the project in an earlier version, whose recipe had other values."""
    runs = [make_run("1", 0), make_run("1", 1)]
    for run in runs:
        run.config.actor_rollout_ref.actor = {
            "optim": {"lr": 1e-4, "lr_scheduler_type": "constant", "clip_grad": math.inf, "betas": [0.9, math.inf]}
        }
        run.config.method = {"beta": 1.0}
    file = tmp_path / "results.json"
    file.write_text(as_text(results_of(sweep, runs)))
    results = json.loads(file.read_text())
    assert results["config"]["actor_rollout_ref.actor.optim.lr"] == 1e-4
    assert results["config"]["actor_rollout_ref.actor.optim.clip_grad"] == "inf"
    assert "run.dir" not in results["config"]
    assert [run["config"] for run in results["runs"]] == [{"data.seed": 0}, {"data.seed": 1}]

    here = [moved(run, tmp_path / "here") for run in runs]
    here[1].config.actor_rollout_ref.actor.optim.lr = 2e-4
    with pytest.raises(
        UserError, match=r"seed_1 was trained by .* \(actor_rollout_ref.actor.optim.lr: 0.0001 there, 0.0002"
    ):
        take_results(here, [file], [])
    here[1].config.actor_rollout_ref.actor.optim.lr = 1e-4
    here[1].config.trainer.total_training_steps = 4
    with pytest.raises(UserError, match=r"seed_1 was trained by .* \(trainer.total_training_steps: 3 there, 4 now\)"):
        take_results(here, [file], [])
    here[1].config.trainer.total_training_steps = 3
    take_results(here, [file], [])
    assert results_of(sweep, here)["config"] == results["config"]

    for wrong in ({key: value for key, value in results.items() if key != "config"}, {**results, "config": [1]}):
        file.write_text(json.dumps(wrong))
        with pytest.raises(UserError, match=r"does not say what it was trained with: leave the file out"):
            take_results([moved(run, tmp_path / "there") for run in runs], [file], [])


def test_the_command_takes_them(inputs: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run of a sweep whose one run was trained elsewhere; the folder and the name differ, and nothing else."""
    words = ["ablation_beta", *inputs, "method.beta=1,10", "data.seed=0"]
    sweep = read_sweep("ablation_beta")
    there = plan_runs(sweep, words[1:], tmp_path / "there")
    results = results_of(sweep, there)
    results["runs"][1]["state"] = "finished"
    file = tmp_path / "results.json"
    file.write_text(json.dumps(results))
    assert cli.main(["sweep", *words, "--out", str(tmp_path / "here"), "--results", str(file), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "1 of 2: beta=1, seed=0: new, 20 steps" in printed
    assert "2 of 2: beta=10, seed=0: finished elsewhere, 20 steps" in printed
    curve, measure = {"critic/score/mean": [[1, "many"]]}, {"training, last step": {"mean": "many"}}
    for run, setting in (({"curves": curve}, {}), ({"measures": measure}, {}), ({}, {"measures": measure})):
        broken = {"runs": [results["runs"][0] | run], "settings": [results["settings"][0] | setting]}
        (tmp_path / "results.json").write_text(json.dumps({**results, **broken}))
        assert cli.main(["report", str(tmp_path / "results.json"), "--out", str(tmp_path / "out")]) == 2
    (tmp_path / "results.json").write_text("[" * 100_000)
    assert cli.main(["report", str(tmp_path / "results.json"), "--out", str(tmp_path / "out")]) == 2
