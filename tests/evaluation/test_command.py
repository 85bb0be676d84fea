"""`pacs evaluate` as a user gives it: what it refuses before anything is started, and what needs no engine."""

import fcntl
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pacs import cli
from pacs.base.errors import UserError
from pacs.evaluation.evaluate import Asked, settle
from pacs.evaluation.folder import Store, read_grades, read_problems, task_folder, write_problems
from pacs.evaluation.grade import grade
from pacs.evaluation.model import find_model, model_sha256
from pacs.evaluation.sample import Sample, sample_seed
from pacs.evaluation.settings import Sampling, Settings
from pacs.evaluation.tasks import Task, load_problems
from tests.evaluation.conftest import write_data, write_model

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command; its exit status, and what it says on stderr."""

    def run(*words: object) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(["evaluate", *map(str, words)])
        return status, capsys.readouterr().err

    return run


@pytest.fixture
def out(model: Path, data: Path, tmp_path: Path) -> Path:
    """An evaluation of 40 problems with 2 samples each that lacks nothing but its results."""
    folder = tmp_path / "evaluation"
    folder.mkdir()
    task = Task("sums", data, 2, (1, 2))
    asked = Asked(str(model), [task], data.parent, folder, Sampling(max_tokens=24))
    problems = load_problems(data)
    settings = settle(asked, find_model(str(model)), {"sums": problems})
    settings.write(folder)
    write_problems(folder, "sums", problems)
    store = Store(folder, "sums", settings.model.prefix)
    for number, problem in enumerate(problems):
        for index in range(2):
            seed = sample_seed(0, "sums", problem.id, index)
            sample = Sample(problem.id, index, seed, f"\\boxed{{{number % 7}}}", 3, truncated=False)
            store.add(sample)
            store.add_grade(grade(problem, sample, settings.verifiers))
    store.close()
    return folder


def command(model: Path, data: Path, out: Path, **changes: object) -> list[object]:
    options = {"--tasks": f"sums={data}", "--samples": 2, "--max-tokens": 24, "--out": out} | changes
    return [model, *(word for option in options.items() for word in option)]


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file() and file.name != ".lock"
    }


def test_a_finished_evaluation_needs_no_engine(evaluate: Run, model: Path, data: Path, out: Path) -> None:
    status, said = evaluate(*command(model, data, out, **{"--k": "1,2"}))
    assert (status, said) == (0, "")
    tasks = json.loads((out / "results.json").read_text())["tasks"]
    right = sum(each.score for each in read_grades(out, "sums").values())
    assert 0 < right < 80
    assert tasks[0]["accuracy"]["mean"] == pytest.approx(right / 80)
    assert "ray" not in sys.modules or not sys.modules["ray"].is_initialized()


def test_a_moved_model_goes_on(evaluate: Run, model: Path, data: Path, out: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "moved")
    (tmp_path / "moved" / "README.md").write_text("A model card says nothing of what a model says.")
    assert evaluate(*command(tmp_path / "moved", data, out))[0] == 0


@pytest.mark.parametrize("changed", ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"])
def test_every_file_that_matters_is_in_the_models_hash(changed: str, model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "copy")
    assert model_sha256(tmp_path / "copy") == model_sha256(model)
    with (tmp_path / "copy" / changed).open("ab") as stream:
        stream.write(b" ")
    assert model_sha256(tmp_path / "copy") != model_sha256(model)


def test_what_a_folder_was_not_made_with_is_refused(
    evaluate: Run, model: Path, data: Path, out: Path, tmp_path: Path
) -> None:
    other_model = write_model(tmp_path / "other", seed=2)
    other_data = write_data(tmp_path / "other.parquet", [(1, 1)])
    before = contents(out)
    for words, message in [
        (command(other_model, data, out), "samples of another model"),
        (command(model, other_data, out), "sampled from another data file"),
        (command(model, data, out, **{"--temperature": 1}), "temperature 0.6, not 1.0"),
        (command(model, data, out, **{"--seed": 1}), "seed 0, not 1"),
        (command(model, data, out, **{"--dtype": "bfloat16"}), "dtype float32, not bfloat16"),
        (command(model, data, out, **{"--samples": 1}), "--samples sums=2 or more"),
    ]:
        status, said = evaluate(*words)
        assert (status, said.count("\n")) == (2, 1), said
        assert said.startswith("pacs evaluate: ")
        assert message in said
        assert contents(out) == before


def test_what_json_has_not_is_text_in_the_folder(tmp_path: Path) -> None:
    data = write_data(tmp_path / "dated.parquet", [(1, 1)], made=datetime(2026, 1, 2, tzinfo=UTC), raw=b"x")
    problems = load_problems(data)
    write_problems(tmp_path, "sums", problems)
    assert read_problems(tmp_path, "sums") == problems
    assert problems[0].extra_info["made"].startswith("2026-01-02")


def test_a_folder_without_samples_takes_other_settings(model: Path, data: Path, tmp_path: Path) -> None:
    """Of a start whose engines could not start, say; once there is a sample, they are settled."""
    task = Task("sums", data, 2, (1, 2))
    problems = {"sums": load_problems(data)}

    def settled(temperature: float) -> Settings:
        asked = Asked(str(model), [task], data.parent, tmp_path, Sampling(temperature))
        return settle(asked, find_model(str(model)), problems)

    settled(0.6).write(tmp_path)
    write_problems(tmp_path, "sums", problems["sums"])
    Store(tmp_path, "sums", "0" * 12).close()
    settings = settled(1.0)
    assert settings.sampling.temperature == 1.0
    settings.write(tmp_path)
    store = Store(tmp_path, "sums", settings.model.prefix)
    store.add(Sample(problems["sums"][0].id, 0, 0, "1", 1, truncated=False))
    store.close()
    with pytest.raises(UserError, match=r"temperature 1\.0, not 0\.6"):
        settled(0.6)


def test_a_folder_in_use_is_refused(evaluate: Run, model: Path, data: Path, out: Path) -> None:
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for words in (command(model, data, out), ["grade", out]):
            status, said = evaluate(*words)
            assert status == 2
            assert "an evaluation is running in this folder" in said


def test_grading_again_replaces_wrong_grades(evaluate: Run, model: Path, data: Path, out: Path) -> None:
    assert evaluate(*command(model, data, out))[0] == 0
    page, grades = (out / "results.md").read_text(), read_grades(out, "sums")
    file = task_folder(out, "sums") / "grades.jsonl"
    lines = file.read_text().replace('"status": "wrong"', '"status": "correct"').splitlines(keepends=True)
    file.write_text("".join(lines[:-10]))
    status, _ = evaluate("grade", out)
    assert status == 0
    assert read_grades(out, "sums") == grades
    assert (out / "results.md").read_text() == page


def test_grading_takes_neither_vllm_nor_torch(out: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pacs import cli; status = cli.main(sys.argv[1:]); "
        "print({'vllm', 'torch', 'ray', 'verl'} & sys.modules.keys(), status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "evaluate", "grade", str(out)], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "set() 0", done.stdout + done.stderr


def test_help_teaches_and_a_folder_may_be_called_show(
    evaluate: Run, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, text in [([], "pacs evaluate show DIR"), (["show"], "--wrong"), (["grade"], "without GPU")]:
        with pytest.raises(SystemExit) as stopped:
            cli.main(["evaluate", *words, "--help"])
        assert stopped.value.code == 0
        assert text in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    (tmp_path / "show").mkdir()
    status, said = evaluate("./show", *command(Path("show"), data, tmp_path / "new")[1:])
    assert (status, "./show is no model" in said) == (2, True)
