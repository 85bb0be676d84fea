"""Starts: a task and a seed decide a folder, and its problems and weights come back as they were made."""

import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from pacs.base.errors import UserError
from recipes.arithmetic.make import make as make_arithmetic
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS, build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.arithmetic_mixed import problems as arithmetic_mixed
from recipes.chain_sums import problems as chain_sums
from recipes.starts import make as make_module
from recipes.starts.make import kept_weights, make, trained_weights, warm_start
from recipes.starts.read import grade, read_problems
from recipes.starts.supervised import IGNORED, collate, new_adam, train_step
from recipes.starts.task import Phase, Problem, Split, Task


def split(seed: int) -> Split:
    numbers = random.Random(seed).sample(range(100), 30)
    problems = [Problem(f"{n}+1", str(n + 1), f"{len(str(n))} digits") for n in numbers]
    return Split(problems[:20], problems[20:25], problems[25:])


def solution(problem: Problem, rng: random.Random) -> str:
    return rng.choice(("", "so ")) + f"\\boxed{{{problem.ground_truth}}}"


TASK = Task("counting", "math", 16, 16, split, (Phase(solution, 3, 1e-3, True, 8), Phase(solution, 2, 1e-4, False, 8)))


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recipes in which the task has one of its own, without kept weights."""
    for name in make_module.SHARED:
        (tmp_path / "recipes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "recipes" / name).write_text("")
    (tmp_path / "recipes" / "counting").mkdir()
    (tmp_path / "recipes" / "counting" / "problems.py").write_text("first")
    monkeypatch.setattr(make_module, "RECIPES", tmp_path / "recipes")
    return tmp_path / "recipes"


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model" / "model.safetensors")


def test_a_folder_holds_the_problems_and_a_model(recipes: Path, tmp_path: Path) -> None:
    make(TASK, tmp_path / "start", 3)
    for name in ("train", "probe", "test"):
        problems = read_problems(tmp_path / "start" / f"{name}.parquet")
        expected = getattr(split(3), name)
        assert [m[0]["content"] for m in problems.messages] == [p.text for p in expected]
        assert [m[0]["role"] for m in problems.messages] == ["user"] * len(expected)
        assert problems.answers == [p.ground_truth for p in expected]
        assert problems.bands == [p.band for p in expected]
        assert problems.verifiers == ["math"] * len(problems)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "start" / "model")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "start" / "model")
    assert model.config.vocab_size == len(tokenizer)
    assert model.dtype == torch.float32


def test_the_seed_decides_it_and_it_is_made_once(
    recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(TASK, tmp_path / "one", 1)
    make(TASK, tmp_path / "same", 1)
    make(TASK, tmp_path / "other", 2)
    one, same, other = (weights_of(tmp_path / name) for name in ("one", "same", "other"))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
    capsys.readouterr()
    make(TASK, tmp_path / "one", 1)
    assert capsys.readouterr().out == f"{tmp_path / 'one'}: already made with seed 1; reusing it\n"
    (recipes / "counting" / "problems.py").write_text("second")
    make(TASK, tmp_path / "one", 1)
    assert "made with another seed or by other code; replacing it" in capsys.readouterr().out


def test_kept_weights_are_those_of_seed_0_alone(recipes: Path, tmp_path: Path) -> None:
    make(TASK, tmp_path / "trained", 0)
    trained = weights_of(tmp_path / "trained")
    assert all(torch.equal(value, value.bfloat16().float()) for value in trained.values())
    kept = {name: torch.full_like(value, 0.5).bfloat16() for name, value in trained.items()}
    save_file(kept, recipes / "counting" / "start.safetensors")
    make(TASK, tmp_path / "trained", 0)  # replaced, since what decides it has changed
    assert all(bool((value == 0.5).all()) for value in weights_of(tmp_path / "trained").values())
    make(TASK, tmp_path / "other", 1)
    assert not any(bool((value == 0.5).all()) for value in weights_of(tmp_path / "other").values())


def test_keep_trains_anew_and_keeps_it(recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["make", "--out", str(tmp_path / "start"), "--keep"])
    make_module.main(TASK)
    kept, expected = load_file(recipes / "counting" / "start.safetensors"), trained_weights(TASK, 0)
    assert all(torch.equal(kept[name], expected[name]) for name in expected)
    assert all(torch.equal(value.bfloat16(), kept[name]) for name, value in weights_of(tmp_path / "start").items())


def test_wrong_words_are_refused(
    recipes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    for words, said in (
        (["--out", str(tmp_path / "full")], "holds other files (thesis.tex): give a folder of its own"),
        (["--out", str(tmp_path / "full"), "--keep"], "holds other files (thesis.tex)"),
        (["--keep", "--seed", "1"], "the weights that are kept are those of seed 0"),
    ):
        monkeypatch.setattr("sys.argv", ["make", *words])
        with pytest.raises(SystemExit, match="2"):
            make_module.main(TASK)
        assert said in " ".join(capsys.readouterr().err.split())
    assert not (recipes / "counting" / "start.safetensors").exists()


def test_phases_are_trained_with_their_own_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []

    def step(model: object, optimizer: object, lr: float, batch: object) -> float:
        rates.append(lr)
        return 0.0

    monkeypatch.setattr(make_module, "train_step", step)
    task = Task("counting", "math", 16, 16, split, (Phase(solution, 200, 1e-3, True), Phase(solution, 60, 1e-4, False)))
    tokenizer = build_tokenizer(64)
    warm_start(task, build_model(tokenizer, 0), tokenizer, split(0).train, 0)
    assert len(rates) == 260
    first, second = rates[:200], rates[200:]
    assert max(first) == pytest.approx(1e-3)
    assert first[0] == pytest.approx(1e-3 / 50)
    assert first[-1] == pytest.approx(1e-3 / 50)
    assert second[0] == pytest.approx(1e-4 / 30)
    assert second[29:] == pytest.approx([1e-4] * 31)


def test_the_loss_is_of_the_solution_alone() -> None:
    """Against the log-probabilities of the same texts, taken one by one."""
    tokenizer = build_tokenizer(64)
    model = build_model(tokenizer, 0)
    texts, solutions = ["1+1", "27+1"], ["\\boxed{2}", "so \\boxed{28}"]
    ids, labels = collate(texts, solutions, tokenizer)
    log_probs, count = 0.0, 0
    for text, answer in zip(texts, solutions, strict=True):
        prompt = tokenizer(f"<|user|>{text}<|im_end|><|assistant|>")["input_ids"]
        response = tokenizer(f"{answer}<|im_end|>")["input_ids"]
        with torch.no_grad():
            own = model(input_ids=torch.tensor([prompt + response])).logits[0].log_softmax(-1)
        log_probs += sum(float(own[len(prompt) - 1 + t, token]) for t, token in enumerate(response))
        count += len(response)
    assert int((labels != IGNORED).sum()) == count
    before = train_step(model, new_adam(model), 1e-3, (ids, labels))
    assert before == pytest.approx(-log_probs / count, rel=1e-5)
    assert train_step(model, new_adam(model), 1e-3, (ids, labels)) < before


def test_labels_are_the_verifiers_own() -> None:
    texts = ["\\boxed{3}", "\\boxed{4}", "3", "\\boxed{B}", "\\boxed{3}"]
    answers = ["3", "3", "3", "B", "4"]
    verifiers = ["math", "math", "math", "multiple_choice", "math"]
    assert grade(texts, answers, verifiers).tolist() == [1.0, 0.0, 0.0, 1.0, 0.0]


def test_problems_of_other_recipes_are_read_and_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recipes.arithmetic.make.warm_start", lambda *arguments: None)
    monkeypatch.setattr("recipes.arithmetic.make.START_PASS_AT_1", (0.0, 1.0))
    make_arithmetic(tmp_path / "arithmetic", 0)
    problems = read_problems(tmp_path / "arithmetic" / "test.parquet")
    assert set(problems.bands) == {""}
    assert set(problems.verifiers) == {"math"}
    few = problems.of([2, 0])
    assert few.answers == [problems.answers[2], problems.answers[0]]
    assert few.messages == [problems.messages[2], problems.messages[0]]
    with pytest.raises(UserError, match="no such file"):
        read_problems(tmp_path / "none.parquet")


@pytest.mark.parametrize("task", [arithmetic_mixed.TASK, chain_sums.TASK], ids=lambda task: task.name)
def test_a_kept_start_is_right_at_times_and_knows_more(task: Task) -> None:
    """The probability of the right solution, over the probe: what pass@1 is but for answers that are right by luck."""
    tokenizer, probe = build_tokenizer(MAX_POSITIONS_TOKENS), task.split(0).probe
    model = build_model(tokenizer, seed=0)
    model.load_state_dict({key: value.float() for key, value in load_file(kept_weights(task)).items()})
    solutions = [task.phases[0].solution(problem, random.Random(0)) for problem in probe]
    ids, labels = collate([problem.text for problem in probe], solutions, tokenizer)
    with torch.no_grad():
        logits = model(input_ids=ids).logits[:, :-1]
    losses = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:], ignore_index=IGNORED, reduction="none")
    probabilities = losses.sum(1).neg().exp()
    assert 0.15 <= probabilities.mean() <= 0.35
    assert (probabilities > 0.7).sum() >= 0.05 * len(probabilities)
    assert (probabilities < 0.01).sum() >= 0.1 * len(probabilities)
    assert (probabilities > 1e-9).all()  # none is out of reach of training
