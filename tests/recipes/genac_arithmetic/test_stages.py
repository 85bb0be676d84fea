"""The command: stages in their order, none twice, and results that the page is written from."""

import json
import shutil
from argparse import Namespace
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from recipes.genac_arithmetic import __main__ as command
from recipes.genac_arithmetic import kept, page, stages, teaching
from recipes.genac_arithmetic.sizes import COMPARED, CRITICS, JOINT, LONG, UNTOLD, Sizes
from tests.recipes.genac_arithmetic import waiting

TINY = Sizes(
    pool_problems=16,
    pool_responses=1,
    rl_steps=1,
    rl_states=8,
    compared_steps=1,
    compared_states=4,
    compared_traces=2,
    head_steps=1,
    head_responses=4,
    steps=1,
    prompts=2,
    responses=2,
    critic_states=4,
    continuations=2,
    probe_problems=8,
    probe_responses=1,
    test_problems=2,
    test_samples=2,
    evaluate_every=1,
)


def _critics() -> dict[str, object]:
    numbers = {"mse": 0.1, "explained": 0.2, "top": 0.7, "top_drawn": 0.6, "top_chance": 0.4, "unparsable": 0.0}
    return {
        "rate": 0.4,
        "pass@1": 0.4,
        "states": 10,
        "sets": 3,
        "candidates": 2.5,
        "oracle": {"mse": 0.09, "explained": 0.3},
        **dict.fromkeys(("program", "head"), numbers),
        "sft": {**numbers, "traces_right": 0.99},
        "rl": {**numbers, "mse": 0.05},
        "curve": [{"step": 0, "mse": 0.1}, {"step": 1, "mse": 0.05}],
        "seconds": 1.0,
    }


def _compared() -> dict[str, object]:
    parts = {"sft_parts": {"sound": 0.05, "mistaken": 0.03, "of_misjudged": 0.02, "misjudged": 0.05}}
    numbers = {name: _critics()[name] for name in ("sft", "rl", "seconds")}
    return {**numbers, **parts, "rl_parts": parts["sft_parts"], "by_steps": 0.04, "differ": [0.2, 0.04]}


def _joint(end: float) -> dict[str, object]:
    points = [{"step": s, "tokens": 1000 * s, "tokens_each": 2000 * s, "pass@1": p} for s, p in ((0, 0.4), (1, end))]
    return {"curve": [], "evaluations": points, "seconds": 2.0}


@pytest.fixture
def asked(tmp_path: Path) -> Namespace:
    return Namespace(records=tmp_path / "results.jsonl", weights=tmp_path / "weights", workers=1)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The stages that were run, by a function that runs nothing."""
    ran: list[tuple[str, int]] = []

    def run(job: stages.Job) -> dict[str, object]:
        ran.append((job.stage, job.seed))
        if job.stage == COMPARED:
            return _compared()
        assert job.stage in (CRITICS, UNTOLD) or job.pretraining is not None
        return _critics() if job.stage in (CRITICS, UNTOLD) else _joint(0.6 if job.stage == "grpo" else 0.62)

    monkeypatch.setattr(command, "run", run)
    return ran


def test_what_is_interrupted_goes_on_and_repeats_nothing(
    asked: Namespace, ran: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [CRITICS, "grpo", "genac", UNTOLD]
    runs = command.run

    def until_genac(job: stages.Job) -> dict[str, object]:
        if job.stage == "genac":
            raise KeyboardInterrupt
        return runs(job)

    monkeypatch.setattr(command, "run", until_genac)
    with pytest.raises(KeyboardInterrupt):
        command.run_missing([0, 1], wanted, TINY, asked)
    monkeypatch.setattr(command, "run", runs)
    before = list(ran)
    assert before == [(CRITICS, 0), (CRITICS, 1), ("grpo", 0)]
    with asked.records.open("a") as file:
        file.write('{"key": "half a li')
    command.run_missing([0, 1], wanted, TINY, asked)
    command.run_missing([0, 1], wanted, TINY, asked)
    assert len(ran) == len(set(ran)) == 2 * len(wanted)
    assert ran[: len(before)] == before
    assert len(kept.read(asked.records)) == 2 * len(wanted)


def test_a_stage_is_recorded_before_a_longer_one_that_began_earlier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C loses what is not recorded."""
    monkeypatch.setattr(command, "run", waiting.run)
    recorded = tmp_path / "recorded"
    jobs = [waiting.Waiting("long", recorded), waiting.Waiting("short", None)]
    results = command._results(jobs, 2)  # type: ignore[arg-type]
    assert next(results) == (jobs[1], {"stage": "short"})
    recorded.touch()
    assert list(results) == [(jobs[0], {"stage": "long"})]


def test_an_edited_size_is_another_run(asked: Namespace, ran: list[tuple[str, int]]) -> None:
    command.run_missing([0], [CRITICS, "grpo"], TINY, asked)
    longer = Sizes(**{**TINY.__dict__, "steps": 2})
    command.run_missing([0], [CRITICS, "grpo"], longer, asked)
    assert ran == [(CRITICS, 0), ("grpo", 0), ("grpo", 0)]


def test_sizes_of_one_stage_leave_the_records_of_others_alone(asked: Namespace, ran: list[tuple[str, int]]) -> None:
    command.run_missing([0], [CRITICS, COMPARED, "grpo"], TINY, asked)
    longer = Sizes(**{**TINY.__dict__, "compared_steps": 2})
    command.run_missing([0], [CRITICS, COMPARED, "grpo"], longer, asked)
    assert ran == [(CRITICS, 0), (COMPARED, 0), ("grpo", 0), (COMPARED, 0)]


def test_arms_without_critics_are_refused(asked: Namespace, ran: list[tuple[str, int]]) -> None:
    with pytest.raises(UserError, match="seed 0 has no critics yet: add critics"):
        command.run_missing([0], ["genac"], TINY, asked)


def test_a_damaged_record_is_refused(asked: Namespace) -> None:
    asked.records.write_text(json.dumps({"key": "1", "stage": CRITICS}) + "\n")
    with pytest.raises(UserError, match=r"results\.jsonl.*has no seed"):
        kept.read(asked.records)


def test_the_page_says_what_records_say(asked: Namespace, ran: list[tuple[str, int]]) -> None:
    command.run_missing([0, 1], [CRITICS, COMPARED, UNTOLD, *JOINT], TINY, asked)
    found = page.results(asked.records, TINY)
    text = page.page(found, found)
    assert text.count("| GenAC, lambda 1 ") == 2
    assert "| MSE after RL at most 0.75 times SFT's" in text
    assert "| MSE after RL by state at most 0.75 times SFT's " in text
    assert "20.0% of the states in the first ten steps and for 4.0%" in text
    assert "2 of 2" in text
    assert "| GenAC, lambda 1" in text
    assert "0.620" in text
    assert page.results(asked.records) == {}


def test_other_records_are_printed_and_leave_the_readme_alone(
    asked: Namespace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept.keep(asked.records, CRITICS, 0, Sizes(), _critics())
    readme = Path(page.__file__).parent / page.README
    before = readme.stat().st_mtime_ns
    monkeypatch.setattr("sys.argv", ["genac", "--report", "--records", str(asked.records)])
    command.main()
    assert capsys.readouterr().out.startswith("1 seeds; mean")
    assert readme.stat().st_mtime_ns == before


def test_at_equal_tokens_runs_are_on_a_line_between_evaluations() -> None:
    assert page.at_tokens(_joint(0.6), 500) == pytest.approx(0.5)
    assert page.at_tokens(_joint(0.6), 5000) == pytest.approx(0.6)


@pytest.mark.long
@pytest.mark.skipif(not teaching.KEPT.exists(), reason="no critic is kept after SFT yet")
def test_every_stage_runs(tmp_path: Path) -> None:
    """With next to nothing of everything; the critics' weights are trained again where they are gone."""
    weights = tmp_path / "weights"
    result = stages.run(stages.Job(CRITICS, 0, TINY, weights))
    assert result["rl"]["mse"] is not None
    assert len(result["curve"]) == 2
    assert stages.run(stages.Job(UNTOLD, 0, TINY, weights))["rl"].keys() == result["rl"].keys()
    compared = stages.run(stages.Job(COMPARED, 0, TINY, weights))
    assert 0 <= compared["differ"][0] <= 1
    parts = compared["rl_parts"]
    assert parts["sound"] + parts["mistaken"] > 0
    shutil.rmtree(weights)
    for arm in ("vcppo", "genac", "counted_0"):
        run = stages.run(stages.Job(arm, 0, TINY, weights, result))
        assert [point["step"] for point in run["evaluations"]] == [0, 1]
        critics = run["evaluations"][-1]["tokens"] - run["curve"][-1]["tokens"]
        assert critics == 0
    assert len(list(weights.glob("*.safetensors"))) == 1


def test_the_readme_is_what_the_records_say() -> None:
    text = (Path(page.__file__).parent / page.README).read_text(encoding="utf-8")
    found = page.results(kept.FILE)
    if found:
        assert page.page(found, page.results(kept.FILE, LONG)) in text
