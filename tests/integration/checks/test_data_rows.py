"""Rows as the files of others have them: what is refused before a start, what is said, and the mends tried."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig

from pacs import cli
from pacs.composing import compose_run
from pacs.integration.checks import data_rows as looking
from pacs.integration.checks.data_rows import row_problems
from pacs.integration.checks.machine import input_problems
from pacs.rewards.registry import compute_score
from recipes.arithmetic.tokenizer import build_tokenizer

UNBOXED = "++reward.custom_reward_function.reward_kwargs.{}.unboxed=true"
PREPARE, OWN = "`pacs data prepare` on the questions alone", "reward.custom_reward_function.path"
DAPO = (
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\nRemember to put your answer on its "
    'own line after "Answer:".'
)
#: What is asked -> a response as a model then writes it, where `unboxed` reads it.
READ_UNBOXED = {
    DAPO: "First, 2 + 3.\nAnswer: 5",
    '{} Let\'s think step by step and output the final answer after "####".': "2 + 3 is 5.\n#### 5",
    "Reason in <think> </think>, answer in <answer> </answer> tags. {}": "<think>2 + 3</think> <answer> 5 </answer>",
    '{}\nFinish with "The answer is X."': "So it is. The answer is 5.",
    "{}\nConclude with: 'Therefore, the final answer is [ANSWER].'": "Therefore, the final answer is 5.",
    'The last line is of the form "ANSWER: $ANSWER". {}': "2 + 3\nANSWER: 5",
    "{}\nEnd with 'Final Answer: <number>'.": "Final Answer: 5",
    "{}\nGive it as [ANSWER]...[/ANSWER].": "[ANSWER]5[/ANSWER]",
    "{}\nPut your final answer in bold.": "It is **5**",
    "{}\nGive your final answer as **Answer: X**": "2 + 3 is 5.\n**Answer**: 5",
    "{}\nMake sure to end with: Final answer: ": "Final answer: 5",
    "{}\nEnd your message with ANSWER=X": "ANSWER=5",
    "{}\nAfter your reasoning, write #### followed by the answer.": "#### 5",
    "{}\nFinish with `The correct answer is (X)`.": "The correct answer is (5)",
}
#: What no setting reads.
READ_BY_NONE = (
    '{}\nRespond in JSON: {{"answer": <number>}}',
    "{}\nReturn your answer as JSON.",
    "{}\nReply with a single number.",
    "{}\nWrite it as \\fbox{{}}.",
    "{}\nRespond with only the final number.",
    "{}\nGive the final answer as [[answer]].",
    "{}\nPut the result between <solution> and </solution>.",
    "{}\nWrite 'Result: <number>' in the last line.",
    "{}\n请在最后一行写“答案：X”。",
)
QUESTIONS = tuple(f"What is {i} + {5 - i}?" for i in range(-30, 30))


def write(file: Path, changes: Sequence[Mapping[str, Any]]) -> Path:
    """Rows with these golds, asked texts or messages, verifiers."""
    made = []
    for number, change in enumerate(changes):
        messages = [{"role": "user", "content": change.get("asked", QUESTIONS[number % len(QUESTIONS)])}]
        made.append(
            {
                "data_source": "sums",
                "prompt": change.get("prompt", messages),
                "reward_model": {"style": "rule", "ground_truth": change.get("gold", "5")},
                "extra_info": {"index": number, "verifier": change.get("verifier")},
            }
        )
    pq.write_table(pa.Table.from_pylist(made), file)
    return file


def asking(file: Path, text: str, count: int = 60, **others: Any) -> Path:
    return write(file, [{"asked": text.format(QUESTIONS[i]), **others} for i in range(count)])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer alone."""
    folder = tmp_path_factory.mktemp("model")
    build_tokenizer(512).save_pretrained(folder)
    return folder


@cache
def composed(model: Path, *overrides: str) -> DictConfig:
    return compose_run("pacs", ["recipe=arithmetic", f"actor_rollout_ref.model.path={model}", *overrides])[0]


def look(file: Path, model: Path, *overrides: str) -> tuple[list[str], list[str]]:
    """What is refused, and what is said."""
    notes: list[str] = []
    problems = list(row_problems(composed(model, *overrides), [("data.train_files", file)], notes.append))
    return problems, notes


@pytest.mark.parametrize("text", READ_UNBOXED)
def test_an_asked_form_is_refused_until_the_named_setting_reads_it(text: str, tmp_path: Path, model: Path) -> None:
    response = READ_UNBOXED[text]
    assert compute_score("", response, "5")["status"] == "no_answer"
    assert compute_score("", response, "5", math={"unboxed": True})["status"] == "correct"
    file = asking(tmp_path / "train.parquet", text)
    (problem,), notes = look(file, model)
    assert problem.startswith(f"data.train_files={file} asks for a form of answer that math does not read in 60 of 60 ")
    assert "is graded no_answer (row 0). Set " + UNBOXED.format("math") in problem
    assert notes == []
    assert look(file, model, UNBOXED.format("math")) == ([], [])


@pytest.mark.parametrize("text", READ_BY_NONE)
def test_a_form_that_no_setting_reads_is_to_be_asked_otherwise(text: str, tmp_path: Path, model: Path) -> None:
    file = asking(tmp_path / "train.parquet", text)
    (problem,), _ = look(file, model)
    assert "math does not read in 60 of 60 rows" in problem
    assert PREPARE in problem
    assert OWN in problem
    assert look(file, model, f"{OWN}=mine.py") == ([], [])


def test_data_prepare_asks_for_what_is_read(tmp_path: Path, model: Path) -> None:
    lines = [json.dumps({"problem": question, "answer": "5"}) for question in QUESTIONS]
    (tmp_path / "sums.jsonl").write_text("\n".join(lines))
    for verifier in ("math", "exact_match"):
        out = tmp_path / verifier
        assert (
            cli.main(["data", "prepare", str(tmp_path / "sums.jsonl"), "--verifier", verifier, "--out", str(out)]) == 0
        )
        assert look(out / "train.parquet", model) == ([], [])


TESTS = json.dumps({"fn_name": None, "inputs": ["1"], "outputs": ["1"]})
PROGRAM = "Write a Python function that solves this: {}\n```python\n# YOUR CODE HERE\n```"
BOX = "{} Put your final answer within \\boxed{{}}."
NUMBERS = json.dumps({"numbers": [2, 3], "target": 5})


@pytest.mark.parametrize(
    ("verifier", "gold", "text", "mend"),
    [
        ("math", TESTS, PROGRAM, "Name the verifier code"),
        ("code", TESTS, BOX, "Name the verifier math"),
        ("code", "5", BOX, "Name the verifier math"),
        ("exact_match", "five", DAPO, UNBOXED.format("exact_match")),
        ("countdown", NUMBERS, "{} Return it in <answer> </answer> tags.", UNBOXED.format("countdown")),
        ("multiple_choice", "C", '{} End with "The answer is X".', UNBOXED.format("multiple_choice")),
        ("math", "C", "{} The last line is 'Answer: $LETTER'.", UNBOXED.format("math")),
        ("multiple_choice", "C", "{} The last line is 'Answer: $LETTER'.", None),
        ("math", "5", BOX, None),
        ("code", TESTS, PROGRAM, None),
        ("math", "5", DAPO + " Put it within \\boxed{{}} there.", None),
    ],
)
def test_each_verifier_is_asked_itself(
    verifier: str, gold: str, text: str, mend: str | None, tmp_path: Path, model: Path
) -> None:
    file = asking(tmp_path / "train.parquet", text, gold=gold, verifier=verifier)
    problems, notes = look(file, model)
    unread = [problem for problem in problems if "form of answer" in problem]
    assert [mend in problem for problem in unread if mend] == [True] * (mend is not None)
    assert notes == []
    if mend is not None and mend.startswith("++"):
        assert look(file, model, mend) == ([], [])
    elif mend is not None:
        named = mend.split()[-1]
        golds = {"code": TESTS, "math": "5"}
        asking(file, text, gold=golds[named], verifier=named)
        assert look(file, model) == ([], [])


#: Problems that speak of answers, of programs and of boxes, and ask for no form.
SILENT = (
    "{} If the answer is $x$, what is $x + 1$?",
    "{} The answer is in the form $\\frac{{m}}{{n}}$. Find $m + n$. Express your answer as a common fraction.",
    "{} He takes it out of a box. What does the function\n```python\nprint(1)\n```\nprint?",
    "#### Question\n{}\n#### Answer",
)


@pytest.mark.parametrize("text", [*SILENT, "{}", "Question: 1 + 1\nAnswer: 2\n\nQuestion: {}\nAnswer:"])
def test_rows_that_ask_for_no_form_are_said(text: str, tmp_path: Path, model: Path) -> None:
    problems, (note,) = look(asking(tmp_path / "train.parquet", text), model)
    assert problems == []
    assert "asks for no form of answer in 60 of 60 rows: math reads the last \\boxed{} alone" in note


def test_a_form_in_some_rows_is_said_and_in_most_refused(tmp_path: Path, model: Path) -> None:
    forms = [BOX, BOX, DAPO, '{} Write it after "####".']
    file = write(tmp_path / "a.parquet", [{"asked": forms[i % 4].format(QUESTIONS[i])} for i in range(59)])
    problems, notes = look(file, model)
    assert problems == []
    assert [note.count("15 of 59 rows") + note.count("14 of 59 rows") for note in notes] == [1, 1]
    file = write(tmp_path / "a.parquet", [{"asked": forms[i % 4].format(QUESTIONS[i])} for i in range(60)])
    problems, notes = look(file, model)  # half of all rows, in two forms
    assert len(problems) == 2
    assert notes == []


def test_right_answers_are_read_by_their_verifier(tmp_path: Path, model: Path) -> None:
    bad = {5: "", 17: "x+", 40: "\\frac{1", 50: "{"}

    def rows(golds: Mapping[int, str]) -> list[dict[str, str]]:
        return [{"asked": BOX.format(question), "gold": golds.get(i, "5")} for i, question in enumerate(QUESTIONS)]

    problems, (note,) = look(write(tmp_path / "a.parquet", rows(bad)), model)
    assert problems == []
    assert "has right answers that math cannot grade by in 4 of 60 rows: " in note
    assert '"" (row 5): it is empty; "x+" (row 17): ' in note
    assert "(row 40): its braces do not match." in note
    assert "row 50" not in note
    (problem,), notes = look(write(tmp_path / "a.parquet", rows(dict.fromkeys(range(30), "x+"))), model)
    assert "cannot grade by in 30 of 60 rows" in problem
    assert notes == []
    choices = [{"asked": BOX.format(question), "gold": "f", "verifier": "multiple_choice"} for question in QUESTIONS]
    (problem,), _ = look(write(tmp_path / "a.parquet", choices), model)
    assert "multiple_choice cannot grade by in 60 of 60 rows" in problem


def test_a_letter_that_is_no_choice_is_said_with_the_setting_that_makes_it_one(tmp_path: Path, model: Path) -> None:
    """Of five choices: training would grade every response to such a row as an error, whatever the prompt asks."""
    setting = "reward.custom_reward_function.reward_kwargs.multiple_choice.letters=ABCDE"
    for asked in (BOX, "{}"):
        rows = [
            {"asked": asked.format(question), "gold": "ABCDE"[i % 5], "verifier": "multiple_choice"}
            for i, question in enumerate(QUESTIONS)
        ]
        file = write(tmp_path / "a.parquet", rows)
        problems, notes = look(file, model)
        assert problems == []
        (note,) = [each for each in notes if "cannot grade by" in each]
        assert "multiple_choice cannot grade by in 12 of 60 rows: " in note
        assert f'"E" (row 4): it is none of the letters that ++{setting} would name; ' in note
        assert not any("Name the verifier" in each for each in notes)
        assert [each for each in look(file, model, f"++{setting}")[1] if "cannot grade by" in each] == []


@pytest.mark.parametrize(("gold", "kind"), [(["5"], "list"), ({"target": 5, "numbers": [2, 3]}, "struct")])
def test_a_right_answer_that_is_no_text_is_refused(gold: Any, kind: str, tmp_path: Path, model: Path) -> None:
    (problem,), _ = look(asking(tmp_path / "a.parquet", BOX, gold=gold), model)
    assert f"has a {kind} for a right answer in 60 of 60 rows: {gold} (row 0); " in problem
    assert OWN in problem


def test_numbers_are_right_answers(tmp_path: Path, model: Path) -> None:
    for gold in (5, 5.0):
        assert look(asking(tmp_path / "a.parquet", BOX, gold=gold), model) == ([], [])


def test_of_many_rows_some_from_everywhere_are_looked_at(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "a.parquet", [{"asked": BOX.format(f"What is {i}?"), "gold": "x+"} for i in range(7000)])
    (problem,), _ = look(file, model)
    assert "in 5,000 of 5,000 rows looked at, of 7,000: " in problem
    numbers = [row.number for row in looking.read_rows(file, "prompt")[0]]
    assert sorted(set(numbers)) == numbers
    sevenths = [sum(start <= number < start + 1000 for number in numbers) for start in range(0, 7000, 1000)]
    assert all(600 < each < 830 for each in sevenths)
    monkeypatch.setattr(looking, "MOST_BYTES", 1000)  # as of tests of programs, of many MB each
    assert len(looking.read_rows(file, "prompt")[0]) == 100


def test_copies_are_counted(tmp_path: Path, model: Path) -> None:
    file = write(tmp_path / "a.parquet", [{"asked": BOX.format(i % 20)} for i in range(50)])
    problems, (note,) = look(file, model)
    assert problems == []
    assert "asks again what another row asks in 30 of 50 rows: the prompt of row " in note
    of_validation: list[str] = []
    assert list(row_problems(composed(model), [("data.val_files", file)], of_validation.append)) == []
    assert of_validation == []  # a benchmark of few problems is often repeated


def said(*messages: tuple[str, str]) -> dict[str, Any]:
    return {"prompt": [{"role": role, "content": content} for role, content in messages]}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (said(("user", "1+1<|im_end|> \\boxed{}")), "has the tokenizer's control token <|im_end|> in a message"),
        (said(("user", "<|user|>1+1<|im_end|><|assistant|> \\boxed{}")), "control token <|assistant|>"),
        (said(("user", "1+1 \\boxed{}"), ("assistant", "It is")), "ends with a message of the assistant"),
        (said(("human", "1+1 \\boxed{}")), 'has messages of the role "human"'),
    ],
)
def test_other_turns_than_the_messages_say(row: dict[str, Any], words: str, tmp_path: Path, model: Path) -> None:
    fine = [{"asked": BOX.format(question)} for question in QUESTIONS]
    _, notes = look(write(tmp_path / "a.parquet", [*fine[:7], row, *fine[7:]]), model)
    (note,) = [note for note in notes if words in note]
    assert "in 1 of 61 rows: row 7 first." in note
    problems, _ = look(write(tmp_path / "a.parquet", [row] * 8), model)
    assert any(words in problem and "in 8 of 8 rows: row 0 first." in problem for problem in problems)


def test_html_is_no_control_token(tmp_path: Path, model: Path) -> None:
    assert look(asking(tmp_path / "a.parquet", BOX + " <s>1</s> <|other|>"), model) == ([], [])


def test_all_of_it_is_said_where_doctor_and_train_look(tmp_path: Path, model: Path) -> None:
    file = asking(tmp_path / "a.parquet", DAPO)
    notes: list[str] = []
    files = [
        "data.train_batch_size=32",
        f"data.train_files={file}",
        f"data.val_files={asking(tmp_path / 'b.parquet', '{}')}",
    ]
    assert any("math does not read" in problem for problem in input_problems(composed(model, *files), notes.append))
    assert len(notes) == 1
    assert "asks for no form" in notes[0]
