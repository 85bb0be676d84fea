"""pass@1 by budget: samples whose answers stand at known tokens, cut and graded beside a loop."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from pacs import cli
from pacs.evaluation.budgets import budget_curves, cut_of, within
from pacs.evaluation.folder import Store, write_problems
from pacs.evaluation.grade import grade
from pacs.evaluation.sample import Problem, Sample
from pacs.evaluation.settings import Sampling, read_settings
from pacs.rewards.reasoning import UNENDED
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.evaluation.folders import MODEL, TASK, problems, settings_of

LIMIT = 64


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    build_tokenizer(64).save_pretrained(folder)
    return folder


def written(folder: Path, text: str) -> int:
    return len(AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"])


def response_of(problem: Problem, index: int) -> str:
    """The answer after 2, 12, 22 ... words' characters; the last sample's is wrong."""
    answer = "77" if index == 3 else problem.ground_truth
    return "1+" * (1 + 5 * index) + f"\\boxed{{{answer}}}" + "+1" * 3


def write(out: Path, tokenizer: Path, *, shift: int = 0, max_tokens: int = LIMIT, begins: int | None = None) -> None:
    """An evaluation whose samples of a problem have 4 responses; `shift` puts each answer later."""
    model = replace(MODEL, folder=str(tokenizer))
    settings = settings_of(model=model, sampling=Sampling(max_tokens=max_tokens))
    write_problems(out, TASK, problems())
    settings.write(out)
    store = Store(out, TASK, model.prefix)
    for problem in problems():
        for index in range(4):
            text = "1+" * shift + response_of(problem, index)
            sample = Sample(problem.id, index, 0, text, written(tokenizer, text) + 1, truncated=False)
            sample = replace(sample, answer_begins=begins)
            store.add(sample)
            store.add_grade(grade(problem, sample, settings.verifiers))
    store.close()


def naive(tokenizer: Path, budget: int, shift: int = 0) -> float:
    """The share of responses whose first tokens hold the whole box of the right answer."""
    loaded, right = AutoTokenizer.from_pretrained(tokenizer), []
    for problem in problems():
        for index in range(4):
            ids = loaded("1+" * shift + response_of(problem, index), add_special_tokens=False)["input_ids"]
            boxed = re.search(r"\\boxed\{(\d+)\}", loaded.decode(ids[:budget]).replace(" ", ""))
            right.append(boxed is not None and boxed[1] == problem.ground_truth)
    return float(sum(right) / len(right))


def test_each_budget_counts_the_answers_that_are_written_by_then(tmp_path: Path, tokenizer: Path) -> None:
    write(tmp_path / "one", tokenizer)
    write(tmp_path / "later", tokenizer, shift=6)
    budgets = [8, 16, 24, 40, LIMIT]
    found = budget_curves({"one": tmp_path / "one", "later": tmp_path / "later"}, budgets).curves[TASK]
    shares = []
    for budget in budgets:
        one, later = found["one"][budget], found["later"][budget]
        assert one.accuracy.mean == pytest.approx(naive(tokenizer, budget))
        assert later.accuracy.mean == pytest.approx(naive(tokenizer, budget, shift=6))
        assert one.difference is None
        assert later.difference is not None
        assert later.difference.mean == pytest.approx(later.accuracy.mean - one.accuracy.mean)
        shares.append(one.accuracy.mean)
        lengths = [written(tokenizer, response_of(problem, index)) + 1 for problem in problems() for index in range(4)]
        assert one.tokens == pytest.approx(sum(min(n, budget) for n in lengths) / 12)
        assert one.cut == pytest.approx(sum(n > budget for n in lengths) / 12)
    assert shares == sorted(shares)
    assert 0 < shares[1] < shares[-1] == 0.75


def test_a_prefix_has_so_many_tokens(tokenizer: Path) -> None:
    cut, loaded = cut_of(tokenizer), AutoTokenizer.from_pretrained(tokenizer)
    text = "12+34=\\boxed{46}"
    ids = loaded(text, add_special_tokens=False)["input_ids"]
    for budget in range(len(ids) + 1):
        sample = Sample("p", 0, 0, text, len(ids) + 1, truncated=False)
        prefix = cut(sample, budget)
        assert text.startswith(prefix)
        assert loaded(prefix, add_special_tokens=False)["input_ids"] == ids[:budget]
    # A text of other tokens than were sampled (twice as many here) is cut at the same share of them.
    longer = Sample("p", 0, 0, text, 2 * len(ids), truncated=True)
    assert cut(longer, len(ids)) == cut(Sample("p", 0, 0, text, len(ids), truncated=True), len(ids) // 2)


def test_a_budget_that_ends_within_the_reasoning_leaves_no_answer(tokenizer: Path) -> None:
    sample = Sample("p", 0, 0, "\\boxed{4} no, wait. So: \\boxed{4}", 40, truncated=False, answer_begins=20)

    def cut(sample: Sample, budget: int) -> str:
        return sample.response[:budget]

    assert within(sample, 19, cut).answer_begins == UNENDED
    assert within(sample, 30, cut).answer_begins == 20
    assert within(replace(sample, answer_begins=None), 5, cut).answer_begins is None
    problem = Problem("p", [{"role": "user", "content": "2+2"}], "sums", "4", {})
    assert grade(problem, within(sample, 15, cut), {}).status == "no_answer"
    assert grade(problem, sample, {}).status == "correct"
    assert within(sample, 15, cut).truncated


def test_what_the_evaluation_itself_cut_off_is_cut_at_its_own_limit_too(tmp_path: Path, tokenizer: Path) -> None:
    """One of four samples ran into --max-tokens: with that budget it is cut as it is with a smaller one."""
    model = replace(MODEL, folder=str(tokenizer))
    settings = settings_of(model=model, sampling=Sampling(max_tokens=LIMIT))
    write_problems(tmp_path, TASK, problems())
    settings.write(tmp_path)
    store = Store(tmp_path, TASK, model.prefix)
    for problem in problems():
        for index in range(4):
            long = index == 3
            sample = Sample(problem.id, index, 0, "1+" * (LIMIT // 2 if long else 4), LIMIT if long else 9, long)
            store.add(sample)
            store.add_grade(grade(problem, sample, settings.verifiers))
    store.close()
    found = budget_curves({"one": tmp_path}, [16, LIMIT]).curves[TASK]["one"]
    assert [found[budget].cut for budget in (16, LIMIT)] == [0.25, 0.25]
    assert [found[budget].tokens for budget in (16, LIMIT)] == [(16 + 3 * 9) / 4, (LIMIT + 3 * 9) / 4]


def run(*words: Any) -> int:
    return cli.main(["evaluate", "budgets", *map(str, words)])


def test_the_command_writes_a_page_numbers_and_a_picture(
    tmp_path: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "one", tokenizer)
    write(tmp_path / "later", tokenizer, shift=6)
    assert run(tmp_path / "one", tmp_path / "later", "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    page = (tmp_path / "out" / "budgets.md").read_text()
    assert page in printed
    assert "| later − one" in page
    assert "Not everything" not in page
    numbers = json.loads((tmp_path / "out" / "budgets.json").read_text())
    curve = numbers["curves"][TASK]["one"]
    assert list(curve) == ["4", "8", "16", "32", "64"]
    assert curve["64"]["accuracy"]["mean"] == 0.75
    picture = tmp_path / "out" / "budgets.png"
    with picture.open("rb") as before:
        assert before.read().startswith(b"\x89PNG")
        assert run(tmp_path / "one", tmp_path / "later", "--out", tmp_path / "out") == 0
        assert picture.stat().st_ino != os.fstat(before.fileno()).st_ino, "the old one was written over"


def report(*words: Any) -> int:
    return cli.main(["report", *map(str, words)])


def test_a_report_shows_the_curves_and_the_tables(
    tmp_path: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "one", tokenizer)
    write(tmp_path / "later", tokenizer, shift=6)
    settings = read_settings(tmp_path / "later")
    replace(settings, sampling=replace(settings.sampling, temperature=1.0)).write(tmp_path / "later")
    budgets, training, out = tmp_path / "budgets", tmp_path / "training", tmp_path / "report"
    assert run(tmp_path / "one", tmp_path / "later", "--budgets", 16, 40, "--out", budgets) == 0
    training.mkdir()
    (training / "metrics.jsonl").write_text('{"step": 1, "critic/score/mean": 0.5}\n{"step": 2, "actor/entropy": 1}\n')
    capsys.readouterr()
    assert report(training, "--budgets", budgets, "--out", out) == 0
    assert str(out / "token_budgets.png") in capsys.readouterr().out.splitlines()
    assert (out / "token_budgets.png").read_bytes() == (budgets / "budgets.png").read_bytes()
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", (out / "index.html").read_text(encoding="utf-8")))
    assert re.search(rf"{TASK} \(3 problems\), pass@1 by budget of tokens 16 40 one ", text)
    for label, shift in (("one", 0), ("later", 6)):
        rights = [f"{100 * naive(tokenizer, budget, shift):.2f}" for budget in (16, 40)]
        assert re.search(rf" {label} {rights[0]} \[[^]]*\] {rights[1]} \[[^]]*\] ", text), (label, rights)
    assert " later − one " in text
    assert "same: sampling.temperature differs: 0.6 (one), 1.0 (later)." in text
    # Another report in its place is without them; what was made elsewhere stays.
    assert report(training, "--out", out) == 0
    assert not (out / "token_budgets.png").exists()
    assert "budget of tokens" not in (out / "index.html").read_text(encoding="utf-8")
    assert report(training, "--out", budgets) == 0
    assert (budgets / "budgets.png").exists()


def test_samples_that_were_drawn_otherwise_are_said_so(
    tmp_path: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "hot"):
        write(tmp_path / name, tokenizer)
    settings = read_settings(tmp_path / "hot")
    replace(settings, sampling=replace(settings.sampling, temperature=1.0)).write(tmp_path / "hot")
    assert run(tmp_path / "one", tmp_path / "hot", "--budgets", 16, "--out", tmp_path / "out") == 0
    assert "- sampling.temperature differs: 0.6 (one), 1.0 (hot)." in capsys.readouterr().out


def test_what_cannot_be_cut_is_refused(tmp_path: Path, tokenizer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "one", tokenizer)
    for words, said in (
        ([tmp_path / "one", "--budgets", 8, 128], ["--budgets 128", "--max-tokens 64", "no budget above"]),
        ([tmp_path / "one", "--tokenizer", tmp_path / "nowhere"], ["nowhere has no tokenizer", "--tokenizer"]),
        ([tmp_path / "one", tmp_path / "one"], ["given twice"]),
        ([tmp_path], ["pacs evaluate"]),
    ):
        assert run(*words, "--out", tmp_path / "out") == 2
        printed = capsys.readouterr().err
        assert [part for part in said if part not in printed] == []
    assert not (tmp_path / "out").exists()
