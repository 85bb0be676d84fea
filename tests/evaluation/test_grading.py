"""By which settings an evaluation grades: a run's, an export's, the command's; and that two are never mixed."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file

from pacs import cli
from pacs.base.errors import UserError
from pacs.checkpoints.folder import seal
from pacs.checkpoints.source import find_source
from pacs.evaluation.evaluate import Asked, settle
from pacs.evaluation.folder import Store, read_grades, write_problems
from pacs.evaluation.grade import check_grading_works, grade
from pacs.evaluation.grading import Grading, parse_given, sentences, words_of
from pacs.evaluation.model import find_model, model_sha256
from pacs.evaluation.sample import Problem, Sample
from pacs.evaluation.settings import Sampling, read_settings
from pacs.evaluation.tasks import Task, load_problems
from pacs.export.folder import export
from pacs.rewards.registry import PATH, VERIFIERS, resolved_settings
from tests.evaluation.conftest import write_data

Run = Callable[..., tuple[int, str, str]]
OURS = {"path": PATH, "name": "compute_score"}
LENIENT = {"exact_match": {"ignore_case": False}, "math": {"timeout_seconds": 5}}


def run_of(model: Path, folder: Path, function: dict | None) -> Path:
    """A training run with the model as its checkpoint."""
    checkpoint = folder / "checkpoints" / "global_step_5"
    shutil.copytree(model, checkpoint / "actor" / "huggingface", ignore=shutil.ignore_patterns("*.safetensors"))
    torch.save(load_file(model / "model.safetensors"), checkpoint / "actor" / "model_world_size_1_rank_0.pt")
    config = {"actor_rollout_ref": {"rollout": {"dtype": "float32"}}, "trainer": {"v1": {"trainer_mode": "grpo"}}}
    config |= {"reward": {"custom_reward_function": function}} if function else {}
    (checkpoint / "config.yaml").write_text(OmegaConf.to_yaml(OmegaConf.create(config)))
    seal(checkpoint, step=5, ranks=1)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two rows that are graded to the letter."""
    return write_data(tmp_path / "letters.parquet", [(1, 1), (2, 2)], verifier="exact_match")


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command: its status, stdout and stderr."""

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.main(["evaluate", *map(str, words)])
        return (status, *capsys.readouterr())

    return run


def finished(model: Path, data: Path, out: Path, responses: list[str], given: tuple[str, ...] = ()) -> Path:
    """An evaluation that lacks nothing but its results: of each problem one sample with the response for it."""
    out.mkdir()
    task = Task("letters", data, 1, (1,))
    verifiers = parse_given(given)
    asked = Asked(str(model), [task], data.parent, out, Sampling(max_tokens=24), verifiers=verifiers)
    problems = load_problems(data)
    settings = settle(asked, find_model(str(model)), {"letters": problems})
    settings.write(out)
    write_problems(out, "letters", problems)
    store = Store(out, "letters", settings.model.prefix)
    for problem, response in zip(problems, responses, strict=True):
        sample = Sample(problem.id, 0, 0, response, 3, truncated=False)
        store.add(sample)
        store.add_grade(grade(problem, sample, settings.verifiers))
    store.close()
    return out


def command(model: Path, data: Path, out: Path, *more: object) -> list[object]:
    return [model, "--tasks", f"letters={data}", "--samples", 1, "--max-tokens", 24, "--out", out, *more]


def with_gold(data: Path, golds: list[str]) -> Path:
    rows = pq.read_table(data).to_pylist()
    for row, gold in zip(rows, golds, strict=True):
        row["reward_model"]["ground_truth"] = gold
    pq.write_table(type(pq.read_table(data)).from_pylist(rows), data)
    return data


def test_settings_have_the_types_that_training_gives_them() -> None:
    words = ["math.timeout_seconds=5", "+math.unboxed=true", "code.total_seconds=1e2", "multiple_choice.letters='AB C'"]
    assert parse_given([*words, "math.timeout_seconds=6"]) == {
        "math": {"timeout_seconds": 6, "unboxed": True},
        "code": {"total_seconds": 100.0},
        "multiple_choice": {"letters": "AB C"},
    }


@pytest.mark.parametrize(
    "opens", [r"\boxed{", "<|answer|>", "Réponse : ", 'say "so"', "it's", "a\nb", "1e3", "true", "end\\"]
)
def test_settings_go_through_a_command_as_they_are(opens: str) -> None:
    settings = {
        "reference_probability": {"opens": opens},
        "math": {"timeout_seconds": 1e-05, "accept_unevaluated": True},
        "code": {"memory_mib": 512},
    }
    words = words_of(settings)
    assert words[::2] == ["--reward-kwargs"] * 4
    assert parse_given(words[1::2]) == settings


def test_a_run_its_checkpoint_and_its_export_are_graded_as_the_run_was(model: Path, tmp_path: Path) -> None:
    run = run_of(model, tmp_path / "run", OURS | {"reward_kwargs": LENIENT})
    export(find_source(run), tmp_path / "exported", "float32")
    expected = resolved_settings(LENIENT)
    assert expected["math"]["timeout_seconds"] == 5
    assert expected.keys() == VERIFIERS.keys()
    for path in (run, run / "checkpoints" / "global_step_5", tmp_path / "exported"):
        found = Grading.of(find_model(str(path)).reward, {})
        assert (found.verifiers, found.run, found.reward_function) == (expected, LENIENT, None)
        given = Grading.of(find_model(str(path)).reward, {"math": {"timeout_seconds": 9}})
        assert given.verifiers["math"]["timeout_seconds"] == 9
        assert given.verifiers["exact_match"]["ignore_case"] is False
    # What it carries beside its weights makes it no other model.
    before = model_sha256(tmp_path / "exported")
    (tmp_path / "exported" / "reward.yaml").unlink()
    assert model_sha256(tmp_path / "exported") == before
    assert Grading.of(find_model(str(tmp_path / "exported")).reward, {}) == Grading(resolved_settings({}))


def test_one_verifier_alone_as_the_reward_is_known_by_its_module(model: Path, tmp_path: Path) -> None:
    function = {
        "path": "pkg://pacs.rewards.exact_match",
        "name": "compute_score",
        "reward_kwargs": {"ignore_case": False},
    }
    found = find_model(str(run_of(model, tmp_path / "run", function))).reward
    assert found is not None
    assert (found.settings, found.function) == ({"exact_match": {"ignore_case": False}}, None)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ({"path": "/home/me/mine.py", "name": "score", "reward_kwargs": {"key": "hunter2"}}, "score of mine.py"),
        ({"path": None, "name": "compute_score"}, "verl's default_compute_score"),
    ],
)
def test_a_reward_function_of_ones_own_does_not_grade_which_is_said(
    function: dict, name: str, model: Path, data: Path, evaluate: Run, tmp_path: Path
) -> None:
    run = run_of(model, tmp_path / "run", function)
    export(find_source(run), tmp_path / "exported", "float32")
    carried = (tmp_path / "exported" / "reward.yaml").read_text() + (tmp_path / "exported" / "README.md").read_text()
    assert "hunter2" not in carried
    assert "/home/me" not in carried
    out = finished(tmp_path / "exported", data, tmp_path / "out", ["\\boxed{2}", "\\boxed{4}"])
    status, said, _ = evaluate(*command(tmp_path / "exported", data, out))
    assert status == 0
    sentence = f"The model was trained on the scores of {name}, a function that evaluation does not call."
    assert sentence in said
    assert sentence in (out / "results.md").read_text()
    assert read_settings(out).verifiers == resolved_settings({})


def test_a_run_with_settings_that_are_gone_is_refused(model: Path, tmp_path: Path) -> None:
    run = run_of(model, tmp_path / "run", OURS | {"reward_kwargs": {"math": {"patience": 3}}})
    with pytest.raises(UserError, match=r"run was graded with .*reward_kwargs.math.patience is not a setting"):
        Grading.of(find_model(str(run)).reward, {})


def test_a_damaged_reward_file_is_named(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "model")
    for text in ("reward: [", "reward: 3", "reward: {custom_reward_function: 3}", ""):
        (tmp_path / "model" / "reward.yaml").write_text(text)
        with pytest.raises(UserError, match=r"reward.yaml is not what `pacs export` writes .*remove it"):
            find_model(str(tmp_path / "model"))


def test_a_model_from_elsewhere_is_graded_by_the_defaults(model: Path) -> None:
    assert Grading.of(find_model(str(model)).reward, {}) == Grading(resolved_settings({}))


def test_the_settings_grade_and_are_written_down(model: Path, data: Path, evaluate: Run, tmp_path: Path) -> None:
    with_gold(data, ["Yes", "No"])
    run = run_of(model, tmp_path / "run", OURS | {"reward_kwargs": LENIENT})
    export(find_source(run), tmp_path / "exported", "float32")
    out = finished(tmp_path / "exported", data, tmp_path / "out", ["\\boxed{yes}", "\\boxed{No}"])
    status, said, _ = evaluate(*command(tmp_path / "exported", data, out))
    assert status == 0
    assert [each.status for each in read_grades(out, "letters").values()] == ["wrong", "correct"]
    written = json.loads((out / "settings.json").read_text())["grading"]
    assert written["verifiers"] == resolved_settings(LENIENT)
    assert written["run"] == LENIENT
    page = (out / "results.md").read_text()
    assert "exact_match.ignore_case=false, math.timeout_seconds=5 as in the training run, and otherwise" in page
    assert "counts as wrong, with the status `unevaluated` (math.accept_unevaluated=false)" in page
    assert "grading.verifiers.math.timeout_seconds" in page
    assert page.split("## Samples")[1].split("## Settings")[0].count("as in the training run") == 1
    assert "as in the training run" in said


def test_adding_with_other_settings_is_refused_by_name(model: Path, data: Path, evaluate: Run, tmp_path: Path) -> None:
    out = finished(model, data, tmp_path / "out", ["\\boxed{2}", "\\boxed{4}"])
    more = write_data(tmp_path / "more.parquet", [(1, 1)])
    other = ("--reward-kwargs", "exact_match.ignore_case=false", "--reward-kwargs", "math.accept_unevaluated=true")
    before = (out / "settings.json").read_bytes()
    for words in (command(model, data, out, *other), [*command(model, more, out, *other)[:1], "--tasks", f"more={more}",
                  "--samples", 1, "--max-tokens", 24, "--out", out, *other]):  # fmt: skip
        status, _, said = evaluate(*words)
        assert (status, said.count("\n")) == (2, 1)
        assert "math.accept_unevaluated false, not true, exact_match.ignore_case true, not false: give the same" in said
        assert (out / "settings.json").read_bytes() == before
    # Given, but as they are, they change nothing.
    assert evaluate(*command(model, data, out, "--reward-kwargs", "exact_match.ignore_case=true"))[0] == 0


def test_the_folder_of_a_version_that_wrote_no_settings_down(
    model: Path, data: Path, evaluate: Run, tmp_path: Path
) -> None:
    """It may be read and graded again; nothing is added to grades of which nobody knows what they are."""
    out = finished(model, data, tmp_path / "out", ["\\boxed{2}", "\\boxed{4}"])
    settings = json.loads((out / "settings.json").read_text())
    del settings["grading"]
    (out / "settings.json").write_text(json.dumps(settings))
    assert evaluate("show", out)[0] == 0
    status, _, said = evaluate(*command(model, data, out))
    assert (status, said.count("\n")) == (2, 1)
    assert f"is not recorded: `pacs evaluate grade {out}` grades them again" in said
    assert evaluate("grade", out)[0] == 0
    assert read_settings(out).verifiers == resolved_settings({})
    assert evaluate(*command(model, data, out))[0] == 0


def test_grading_again_keeps_the_settings_unless_others_are_given(
    model: Path, data: Path, evaluate: Run, tmp_path: Path
) -> None:
    with_gold(data, ["Yes", "No"])
    strict = ("exact_match.ignore_case=false",)
    out = finished(model, data, tmp_path / "out", ["\\boxed{yes}", "\\boxed{no  way}"], strict)

    def statuses(*words: str) -> list[str]:
        assert evaluate("grade", out, *words)[0] == 0
        return [each.status for each in read_grades(out, "letters").values()]

    assert statuses() == ["wrong", "wrong"]
    assert read_settings(out).grading == Grading.of(None, {"exact_match": {"ignore_case": False}})
    assert statuses("--reward-kwargs", "exact_match.ignore_case=true") == ["correct", "wrong"]
    assert read_settings(out).grading == Grading.of(None, {"exact_match": {"ignore_case": True}})
    assert "exact_match.ignore_case=true as --reward-kwargs says" in (out / "results.md").read_text()
    assert statuses() == ["correct", "wrong"]


def test_grading_again_that_is_cut_off_mixes_nothing(
    model: Path, data: Path, evaluate: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at any of its writes: each grade there is, is of the settings that are written down."""
    with_gold(data, ["Yes", "No"])
    responses = ["\\boxed{yes}", "\\boxed{No}"]
    for cut_at in range(4):
        out = finished(model, data, tmp_path / str(cut_at), responses)
        writes = 0

        def write(file: Path, content: str, at: int = cut_at) -> None:
            nonlocal writes
            if writes == at:
                raise KeyboardInterrupt
            writes += 1
            file.write_text(content)

        with monkeypatch.context() as cut:
            for module in ("settings", "folder"):
                cut.setattr(f"pacs.evaluation.{module}.write_atomically", write)
            status, _, _ = evaluate("grade", out, "--reward-kwargs", "exact_match.ignore_case=false")
        settings = read_settings(out)
        problems = {problem.id: problem for problem in load_problems(data)}
        for key, found in read_grades(out, "letters").items():
            sample = Sample(key[0], 0, 0, responses[list(problems).index(key[0])], 3, truncated=False)
            assert grade(problems[key[0]], sample, settings.verifiers) == found
        assert status == (0 if cut_at == 3 else 130)


def test_a_verifier_that_gives_a_graded_score_is_no_pass_at_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERIFIERS, "halves", "tests.evaluation.halves:compute_score")
    problem = Problem("p", [], "source", "7", {"verifier": "halves"})
    with pytest.raises(ValueError, match=r"halves gave p the score 0.5 with the status wrong: .*counts right and"):
        grade(problem, Sample("p", 0, 0, "x", 1, truncated=False), {})
    with pytest.raises(UserError, match=r"halves gave p the score 0.5"):
        check_grading_works([problem], {})


def test_a_right_answer_that_no_response_can_give_is_refused() -> None:
    """It would count as a problem that the model never solves."""

    def problem(gold: str, choices: list[str] | None = None) -> Problem:
        return Problem(f"q{gold}", [], "mmlu", gold, {"verifier": "multiple_choice", "choices": choices})

    with pytest.raises(
        UserError, match=r"answers of 2 of 3 problems multiple_choice cannot grade \(the first: 'E', of qE "
    ):
        check_grading_works([problem("A"), problem("E"), problem("J")], {})
    check_grading_works([problem("A"), problem("E")], {"multiple_choice": {"letters": "ABCDE"}})
    check_grading_works([problem("A"), problem("E", choices=["1", "2", "3", "4", "5"])], {})


@pytest.mark.parametrize(
    ("verifier", "gold", "right", "why"),
    [
        (None, "\\frac{1}{", "5", "its braces do not match"),
        ("math", "['5']", "5", "not expected"),
        ("exact_match", "{", "a", "no box can hold it"),
        ("countdown", "3", '{"numbers": [1], "target": 1}', "the ground truth is not {numbers"),
        ("code", "x", '{"inputs": ["1"], "outputs": ["1"]}', "Expecting value"),
    ],
)
def test_right_answers_that_a_verifier_cannot_read_are_told(
    verifier: str | None, gold: str, right: str, why: str
) -> None:
    """Whatever a response to them says is an error, and counts as not right."""
    info = {"verifier": verifier} if verifier else {}
    some = [Problem(str(number), [], "mine", right, info) for number in range(2)]
    unread = Problem("x", [], "mine", gold, info)
    assert check_grading_works(some, {}) == []
    (said,) = check_grading_works([*some, unread], {})
    assert said.startswith(f"by the right answers of 1 of 3 problems {verifier or 'math'} cannot grade (the first: ")
    assert why in said
    with pytest.raises(UserError, match=r"of 1 of 2 problems .* cannot grade .*leave such rows out"):
        check_grading_works([some[0], unread], {})
    response = "```\nprint(1)\n```" if verifier == "code" else "\\boxed{7}"
    assert grade(unread, Sample("x", 0, 0, response, 1, truncated=False), {}).status == "error"


def test_the_sentence_says_where_each_setting_is_from() -> None:
    def said(run: dict | None, given: dict) -> str:
        grading = Grading(resolved_settings({}), run, given)
        return sentences(json.loads(json.dumps(vars(grading)))).split(". A math")[0]

    assert said(None, {}) == "Each row was graded by its verifier with the defaults"
    assert said({}, {}) == "Each row was graded by its verifier with the defaults, as in the training run"
    both = said({"math": {"unboxed": True, "workers": 4}}, {"math": {"workers": 2}})
    assert both == (
        "Each row was graded by its verifier with math.unboxed=true as in the training run and math.workers=2 as "
        "--reward-kwargs says, and otherwise with the defaults"
    )
    assert "accepted (math.accept_unevaluated=true)" in sentences(
        vars(Grading.of(None, {"math": {"accept_unevaluated": True}}))
    )
    assert "is not recorded: `pacs evaluate grade`" in sentences(None)


def test_an_answer_that_still_has_to_be_calculated_is_graded_as_the_setting_says(
    model: Path, evaluate: Run, tmp_path: Path
) -> None:
    sums = write_data(tmp_path / "sums.parquet", [(47, 38), (1, 1)])
    out = finished(model, sums, tmp_path / "out", ["\\boxed{47+38}", "\\boxed{2}"])

    def graded(*words: str) -> tuple[list[str], str]:
        assert evaluate("grade", out, *words)[0] == 0
        return [each.status for each in read_grades(out, "letters").values()], (out / "results.md").read_text()

    strict, page = graded()
    assert strict == ["unevaluated", "correct"]
    assert "(math.accept_unevaluated=false)" in page
    assert re.search(r"\| letters \| +0\.00 \| +50\.00 \| +0\.00 \| +50\.00 \|", page)  # truncated, correct, wrong, it
    status, said, _ = evaluate("show", out, "--status", "unevaluated", "-n", 9)
    assert (status, said.count("--- response")) == (0, 1)
    lenient, page = graded("--reward-kwargs", "math.accept_unevaluated=true")
    assert lenient == ["correct", "correct"]
    assert "was accepted (math.accept_unevaluated=true)" in page
