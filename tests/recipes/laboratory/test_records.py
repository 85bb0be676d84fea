"""Records: what a key is of, and that none is lost, mixed up or grown too long."""

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from pacs.base.errors import UserError
from recipes.laboratory.digests import ROOT, code_files, digest, loop_files
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.plan import Run, jobs
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records, compact, key_of, machine
from recipes.laboratory.settings import Settings
from tests.house import imported_modules
from tests.recipes.laboratory.made import START, ask, recorded, records_of

RUN = Run("countdown", 0, Settings(), Evaluation())
#: Another value of each setting.
OTHER: dict[str, Any] = {
    "method": "grpo",
    "options": {"beta": 2.0},
    "steps": 41,
    "prompts": 64,
    "responses": 4,
    "dars": {"schedule": "equal"},
    "pool": {"weights": "sqrt"},
    "vine": {"completions": 2},
    "adapters": {"rank": 4, "alpha": 8},
    "updates_per_step": 4,
    "train_problems": 64,
    "lr": 2e-4,
    "lr_warmup_updates": 1,
    "lr_decay": True,
    "clip_grad": 1.0,
    "staleness": 1,
    "reference_is_sampler": True,
    "evaluate_every": 10,
    "seed": 1,
    "guided": {"after": "failed", "guidance": "error"},
    "reward": {"total": "sum"},
    "graded_by": "exact_match",
    "train_answer": True,
    "mini_batches": "balanced",
    "teacher": {"method": "grpo", "steps": 9},
}
#: What another value asks of the others.
ASKS: dict[str, dict[str, Any]] = {
    "reference_is_sampler": {"method": "pacs_authors", "staleness": 1},
    "vine": {"method": "vineppo", "vine": {"completions": 9}},
    "train_answer": {"graded_by": "reference_probability"},
    "teacher": {"method": "distillation", "teacher": {"method": "grpo"}},
}


@pytest.fixture
def question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Question:
    return ask(tmp_path / "questions", monkeypatch)


@pytest.fixture
def run(question: Question) -> Run:
    return next(iter(jobs(question, "countdown", lambda run: None))).run


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_each_setting_is_part_of_the_key(name: str) -> None:
    run = replace(RUN, settings=replace(RUN.settings, **ASKS.get(name, {})))
    other = replace(run, settings=replace(run.settings, **{name: OTHER[name]}))
    assert key_of(other, START) != key_of(run, START)


def test_a_token_weight_is_part_of_the_key_and_the_settings_of_the_others_are_not() -> None:
    """Without one the key is what it was before there were any."""
    asked = RUN.asked()["settings"]["options"]
    assert "token_weight" not in asked
    steer = {"token_weight": {"name": "steer", "steer": {"least": 0.5}}}
    other = replace(RUN, settings=replace(RUN.settings, options=steer))
    assert other.asked()["settings"]["options"]["token_weight"] == {
        "name": "steer",
        "steer": {"form": "public", "least": 0.5},
    }
    assert key_of(other, START) != key_of(RUN, START)


def test_a_correction_is_part_of_the_key_where_rollouts_are_stale() -> None:
    """Without one the key is what it was before there were any."""
    stale = replace(RUN, settings=replace(RUN.settings, staleness=2))
    assert "update" not in stale.asked()["settings"]["options"]
    keys = {key_of(stale, START)}
    for correction in ({"kind": "truncate"}, {"kind": "truncate", "cap": 3.0}, {"sequence_cap": 1.1}):
        options = {"update": {"correction": correction}}
        other = replace(stale, settings=replace(stale.settings, options=options))
        assert correction.items() <= other.asked()["settings"]["options"]["update"]["correction"].items()
        keys.add(key_of(other, START))
        fresh = replace(RUN, settings=replace(RUN.settings, options=options))
        assert key_of(fresh, START) == key_of(RUN, START)
    assert len(keys) == 4


def test_so_are_the_task_the_start_and_the_evaluation() -> None:
    evaluations = [replace(RUN.evaluation, samples=8), replace(RUN.evaluation, split="probe")]
    others = [replace(RUN, task="chain_sums"), replace(RUN, start_seed=1)]
    others += [replace(RUN, evaluation=each) for each in evaluations]
    keys = {key_of(other, START) for other in others} | {key_of(RUN, START), key_of(RUN, "another start")}
    assert len(keys) == 6


def test_an_option_at_its_default_is_the_same_run_as_one_left_out() -> None:
    """So that records do not stand for runs whose defaults have changed since."""
    said = replace(RUN, settings=Settings(options={"beta": 1.0}))
    assert key_of(said, START) == key_of(RUN, START)
    assert RUN.asked()["settings"]["options"]["reference"]["reset_optimizer"] is False


def test_a_new_setting_that_is_off_leaves_the_keys_as_they_were() -> None:
    """And one that is on does not; nor does a default that has changed."""
    asked = RUN.asked()
    options = asked["settings"]["options"]
    for new in ({"reset_at_loss": None}, {"smoothing": 0.0}, {"clipped": False}):
        assert digest({**asked, "settings": {**asked["settings"], "options": {**options, **new}}}) == digest(asked)
    for other in ({"smoothing": 0.1}, {"beta": 2.0}, {"reference": {**options["reference"], "reset_every": None}}):
        assert digest({**asked, "settings": {**asked["settings"], "options": {**options, **other}}}) != digest(asked)
    assert not {"update", "metrics"} & set(options), "they are the stack's"


@pytest.mark.parametrize(
    ("section", "switched_off"),
    [
        ({"pool": {"weights": "sqrt"}}, {"pool": {"weights": "sqrt", "half_life": None}}),
        ({"reward": {"total": "sum"}}, {"reward": {"total": "sum", "correctness": 0.0}}),
        (
            {"reward": {"total": "sum", "length": {"weight": 1.0}}},
            {"reward": {"total": "sum", "length": {"weight": 1.0, "beyond": 0.0}}},
        ),
    ],
)
def test_what_is_switched_off_against_its_default_is_another_run(
    section: dict[str, Any], switched_off: dict[str, Any]
) -> None:
    """`null` and 0 are left out of a key: here they are not what the section has without them."""
    runs = [replace(RUN, settings=replace(RUN.settings, **each)) for each in (section, switched_off)]
    assert key_of(runs[0], START) != key_of(runs[1], START)
    said_as_it_is = {**switched_off, "dars": {"schedule": "equal", "scale": False}}
    same = replace(RUN, settings=replace(RUN.settings, **said_as_it_is))
    without = replace(RUN, settings=replace(RUN.settings, **said_as_it_is | {"dars": {"schedule": "equal"}}))
    assert key_of(same, START) == key_of(without, START)


def test_a_run_is_found_in_any_file(run: Run, tmp_path: Path) -> None:
    """Whichever question asked for it; not at another start, and not with other settings."""
    assert Records(tmp_path / "results").of(run) is None
    record = recorded(run)
    records = records_of(tmp_path / "results", record)
    assert records.of(run, START) == record
    assert records.of(run) == record
    assert records.of(run, "another start") is None
    assert records.of(replace(run, settings=replace(run.settings, steps=5))) is None


def test_only_the_newest_start_counts(run: Run, tmp_path: Path) -> None:
    """A start that was made anew leaves the old records behind, in whatever order they stand."""
    old, other = recorded(run), recorded(replace(run, settings=replace(run.settings, seed=102)))
    newer = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    other |= {"start": "newer", "date": newer}
    other["key"] = digest({"run": other["run"], "start": "newer"})
    records = records_of(tmp_path / "results", other, old)
    assert records.of(run) is None
    assert records.of(run, START) is not None


def test_a_run_that_was_finished_later_has_not_failed(run: Run, tmp_path: Path) -> None:
    failed, finished = recorded(run, cause="killed by SIGKILL"), recorded(run)
    assert records_of(tmp_path / "a", failed).of(run) == failed
    for name, order in (("b", [failed, finished]), ("c", [finished, failed])):
        records = records_of(tmp_path / name, *order)
        assert records.of(run) == finished
        assert records.failures(run) == [failed]


@pytest.mark.parametrize("name", ["date", "wall_seconds", "rollouts", "result", "state", "evaluations"])
def test_a_record_that_lacks_something_is_refused(name: str, run: Run, tmp_path: Path) -> None:
    record = recorded(run)
    del (record["result"] if name == "evaluations" else record)[name]
    (tmp_path / "better-countdown.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(UserError, match=rf"better-countdown.jsonl: line 1 is damaged \(.*{name}.*remove it"):
        Records(tmp_path)


def test_a_state_that_is_not_known_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "better-countdown.jsonl").write_text(json.dumps(recorded(run) | {"state": "done"}) + "\n")
    with pytest.raises(UserError, match=r"line 1 is damaged \(its state is done, neither finished nor failed"):
        Records(tmp_path)


def test_a_line_that_was_cut_off_is_none(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "better-countdown.jsonl"
    line = json.dumps(recorded(run))
    file.write_text(line + "\n" + line[:100])
    assert len(Records(tmp_path).all) == 1


@pytest.mark.parametrize("damage", ["{}", "not JSON", "a setting of another run"])
def test_a_damaged_line_is_refused(damage: str, run: Run, tmp_path: Path) -> None:
    record = recorded(run)
    if damage.startswith("a setting"):
        record["run"]["settings"]["lr"] = 5e-4
        damage = json.dumps(record)
    (tmp_path / "better-countdown.jsonl").write_text(json.dumps(recorded(run)) + f"\n{damage}\n")
    with pytest.raises(UserError, match=r"better-countdown.jsonl: line 2 is damaged .*remove it"):
        Records(tmp_path)


def test_a_record_of_a_usual_run_is_short() -> None:
    """Of `methods`: five evaluations of 96 problems in eight bands, 40 steps with a dozen numbers each, bins."""
    evaluation = {"right": [123] * 96, "distinct": [1] * 96, **{f"measure {i}": 1 / 3 for i in range(8)}}
    point = {f"signal number {i}": 0.0123456 / (i + 1) for i in range(12)}
    result = {"curve": [{"step": s, **point} for s in range(40)], "evaluations": [evaluation] * 5}
    result["calibration"] = [[123, 12.34567, 12, 12.34567, 12.34567]] * 10
    record = recorded(RUN, result={**result, "bands": [f"{i}, band of some words" for i in range(8)] * 12})
    record["machine"] = {}  # its processor's name may have any length
    assert len(json.dumps(record, separators=(",", ":"))) < 7_950


def test_curves_are_thinned_to_their_end() -> None:
    """Means over blocks, where a value is known; resets are kept whole."""
    curve = [{"step": step, "loss": step / 3, "reset": step in (7, 80), "rank": None} for step in range(1, 81)]
    curve[0]["rank"] = 0.25
    kept = compact({"curve": curve, "bands": ["a", "b", "a"]})
    assert kept["curve"]["step"] == list(range(4, 81, 4))
    assert kept["curve"]["loss"][:2] == [0.8333, 2.167]
    assert kept["curve"]["rank"] == [0.25, *[None] * 19]
    assert set(kept["curve"]) == {"step", "loss", "rank"}
    assert kept["resets"] == [7, 80]
    assert kept["bands"] == {"a": [0, 2], "b": [1]}
    odd = compact({"curve": curve[:29], "bands": []})["curve"]
    assert odd["step"] == [1, *range(3, 30, 2)]
    assert odd["loss"][:2] == [0.3333, 0.8333]


def test_how_long_a_run_is_expected_to_take(question: Question, tmp_path: Path) -> None:
    """As long as others of its method and size; else by rollouts to train and to evaluate; else nothing is known."""
    every = [job.run for job in jobs(question, "countdown", recorded)]
    tuning, fresh = every[0], every[-1]
    assert (tuning.settings.method, fresh.settings.method) == ("pacs", "grpo")
    records = Records(tmp_path)
    assert records.expected_seconds(tuning) is None
    records.add(recorded(tuning))
    assert records.expected_seconds(tuning) == pytest.approx(60)
    settings = tuning.settings
    assert tuning.training_rollouts() == settings.steps * settings.prompts * settings.responses
    assert fresh.training_rollouts() == tuning.training_rollouts()
    evaluated = [run.rollouts() - run.training_rollouts() for run in (tuning, fresh)]
    # A third of the time of such a record was spent to evaluate.
    assert records.expected_seconds(fresh) == pytest.approx(40 + 20 / evaluated[0] * evaluated[1])
    records.add({**recorded(fresh), "wall_seconds": 7.0})
    assert records.expected_seconds(fresh) == pytest.approx(7)
    assert records.expected_seconds(replace(tuning, task="chain_sums")) is None


def test_the_code_that_is_noted_is_all_that_the_loop_is_made_of() -> None:
    """Files of this folder that loop.py imports, and those that these import."""
    seen: set[str] = set()
    new = {"loop"}
    while new:
        seen |= new
        files = [PurePosixPath(f"recipes/laboratory/{name}.py") for name in new]
        modules = {module for file in files for module in imported_modules((ROOT / file).read_text(), file)}
        ours = {module.split(".")[2] for module in modules if module.startswith("recipes.laboratory.")}
        new = {name for name in ours if (ROOT / f"recipes/laboratory/{name}.py").exists()} - seen
    assert {f"{name}.py" for name in seen} == {file.name for file in loop_files()}
    noted = {str(file.relative_to(ROOT)) for file in code_files()}
    assert {str(file.relative_to(ROOT)) for file in loop_files()} < noted
    others = {"rewards/countdown.py", "rewards/registry.py", "rewards/answers/equality.py", "algorithm/names.py"}
    tasks = {"starts/read.py", "countdown/problems.py", "chain_sums/problems.py", "arithmetic/measure.py"}
    tasks |= {"code_repair/calculated.py", "code_repair/programs.py"}  # what `grading` grades by
    assert {f"pacs/{name}" for name in others} | {f"recipes/{name}" for name in tasks} < noted


def test_no_record_names_the_machine(run: Run) -> None:
    import socket

    record = recorded(run)
    assert socket.gethostname() not in json.dumps(record)
    assert set(machine()) == {"cpu", "cores", "torch"}
    assert record["machine"]["cores"] >= 1
