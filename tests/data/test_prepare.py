"""`pacs data prepare`: what is kept and dropped, what the manifest says, and that a folder is whole or as it was."""

import itertools
import json
import resource
from pathlib import Path
from typing import Any

import pytest

from pacs.base.files import file_sha256
from pacs.data.sources import BOXED
from pacs.data.tally import Tally, shown
from tests.data.conftest import Run, manifest, problems, write_jsonl, write_parquet

THIRTEEN = "one two three four five six seven eight nine ten eleven twelve thirteen"


def question(i: int, answer: Any = "1") -> dict[str, Any]:
    return {"problem": f"Problem number {i}?", "answer": answer}


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def evaluation(tmp_path: Path, run: Run) -> Path:
    rows = [{"problem": "What is $1+1$?", "answer": "2"}, {"problem": f"{THIRTEEN} fourteen?", "answer": "3"}]
    file = write_jsonl(tmp_path / "aime.jsonl", rows)
    assert run("prepare", file, "--split", "test", "--out", tmp_path / "data" / "aime")[0] == 0
    return tmp_path / "data" / "aime"


def test_a_local_file(tmp_path: Path, run: Run) -> None:
    rows = [
        {"q": " Half of one? ", "a": 0.5, "level": "Level 3", "name": "x-1"},
        {"q": "Two and two?", "a": 4.0, "level": None, "name": "x-2"},
    ]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    words = ["--question-column", "q", "--answer-column", "a", "--id-column", "name", "--difficulty-column", "level"]
    status, out, err = run("prepare", file, "--out", tmp_path / "out", *words)
    assert status == 0
    assert out.splitlines()[1:] == [
        "2 rows, 2 kept, 0 dropped",
        f"wrote {tmp_path / 'out' / 'train'}.parquet and manifest.json",
    ]
    assert err.startswith("WARNING: no evaluation set is given, and none is prepared beside")
    first, second = problems(tmp_path / "out" / "train.parquet")
    assert first == {
        "data_source": "mine",
        "prompt": [{"role": "user", "content": f"Half of one?\n{BOXED}"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": "0.5"},
        "extra_info": {
            "index": 0, "split": "train", "id": "x-1", "source": "mine.jsonl", "difficulty": 3.0, "verifier": "math",
            "revision": manifest(tmp_path / "out")["revision"], "choices": None,
        },
    }  # fmt: skip
    assert second["reward_model"]["ground_truth"] == "4.0"
    assert second["extra_info"]["difficulty"] is None


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet", "csv"])
def test_every_format_gives_the_same(ending: str, tmp_path: Path, run: Run) -> None:
    import pandas as pd

    frame = pd.DataFrame([question(1, "None"), question(2, "\\frac{1}{2}"), question(3, "NA"), question(4, "7")])
    file = tmp_path / f"mine.{ending}"
    if ending in ("json", "jsonl"):
        frame.to_json(file, orient="records", lines=ending == "jsonl")
    elif ending == "parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False)
    assert run("prepare", file, "--verifier", "exact_match", "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["None", "\\frac{1}{2}", "NA", "7"]
    assert [row["prompt"][0]["content"] for row in rows] == [f"Problem number {i}?\n{BOXED}" for i in range(1, 5)]


def test_answers_may_be_texts_and_numbers(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(1, "\\frac{1}{2}"), question(2, 2), question(3, 3.0)])
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["\\frac{1}{2}", "2", "3.0"]


#: Ground truths that are JSON, by their verifier.
OBJECTS: dict[str, list[dict[str, Any]]] = {
    "countdown": [{"numbers": [3, 7, 25], "target": 82}, {"numbers": [1], "target": -1}],
    "code": [
        {"fn_name": "twice", "inputs": ["1e2", '"é"'], "outputs": ["2e2", '"éé"']},
        {"fn_name": None, "inputs": ["1\n"], "outputs": ["1.50"]},
    ],
}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("verifier", OBJECTS)
def test_objects_are_right_answers_where_these_are_json(verifier: str, ending: str, tmp_path: Path, run: Run) -> None:
    """As TinyZero has them in a column of Parquet, and anyone in JSON who does not put them in quotes."""
    write = write_jsonl if ending == "jsonl" else write_parquet
    file = write(tmp_path / f"mine.{ending}", [question(i, answer) for i, answer in enumerate(OBJECTS[verifier])])
    assert run("prepare", file, "--verifier", verifier, "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [json.loads(row["reward_model"]["ground_truth"]) for row in rows] == OBJECTS[verifier]


def test_numbers_in_objects_stay_as_they_are_written(tmp_path: Path, run: Run) -> None:
    answer = '{"fn_name": null, "inputs": ["x"], "outputs": ["y"], "weight": [1.10, 1e5, 12345678901234567890123, -0]}'
    (tmp_path / "mine.jsonl").write_text(f'{{"problem": "Is it?", "answer": {answer}}}')
    assert run("prepare", tmp_path / "mine.jsonl", "--verifier", "code", "--out", tmp_path / "out")[0] == 0
    (row,) = problems(tmp_path / "out" / "train.parquet")
    assert row["reward_model"]["ground_truth"] == answer


def test_of_another_verifier_the_place_in_an_object_is_asked_for(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(1, {"value": "5"}), question(2, {"value": "6"})])
    status, _, err = run("prepare", file, "--out", tmp_path / "out")
    assert status == 2
    assert "name a place in it, as --answer-column answer.value: 2" in err
    assert run("prepare", file, "--answer-column", "answer.value", "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["5", "6"]


def test_each_reason_is_counted_and_shown(tmp_path: Path, evaluation: Path, model: Path, run: Run) -> None:
    rows = [
        question(0),
        {"problem": " problem  NUMBER 0? ", "answer": "2"},
        {"problem": "", "answer": "1"},
        question(3, ""),
        {"problem": "what is $1 + 1$ ?", "answer": "2"},
        {"problem": f"Zero, {THIRTEEN}.", "answer": "3"},
        {"problem": f"Zero, {THIRTEEN.replace('seven', '7')}.", "answer": "3"},
        {"problem": "Long " + "x" * 300, "answer": "3"},
        question(8, "{" * 3),
        question(9, "5"),
    ]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    words = ["--evaluation", evaluation, "--model", model, "--max-prompt-length", 250]
    status, out, _ = run("prepare", file, "--out", tmp_path / "out", *words)
    assert status == 0
    said = manifest(tmp_path / "out")
    assert said["dropped"] == {
        "duplicate with another answer": 1, "empty question": 1, "empty answer": 1,
        "overlap with aime: the same text": 1, "overlap with aime: 13 words": 1, "overlong": 1, "unverifiable": 1,
    }  # fmt: skip
    assert (said["rows_in"], said["kept"]) == (10, 3)
    kept = problems(tmp_path / "out" / "train.parquet")
    assert [row["extra_info"]["id"] for row in kept] == ["0", "6", "9"]
    assert [row["extra_info"]["index"] for row in kept] == [0, 1, 2]
    ids = {reason: [example["id"] for example in examples] for reason, examples in said["dropped_examples"].items()}
    assert ids["empty question"] == ["2"]
    assert ids["overlap with aime: 13 words"] == ["5"]
    assert said["dropped_examples"]["unverifiable"] == [
        {"id": "8", "question": "Problem number 8?", "gold": "{{{", "why": "its braces do not match"}
    ]
    assert sum(said["prompt_length"]["histogram"].values()) == 3
    assert "kept apart from aime/test.parquet" in out
    assert "  1 overlap with aime: 13 words\n" in out


@pytest.mark.parametrize(
    ("verifier", "bad", "good", "why"),
    [
        ("code", '{"inputs": ["1"], "outputs": []}', '{"inputs": ["1"], "outputs": ["1"]}', "the ground truth is not"),
        (
            "code",
            json.dumps({"inputs": [""], "outputs": ["x" * 2**24]}),
            '{"inputs": [""], "outputs": [""]}',
            "output_mib",
        ),
        ("exact_match", "x" * 10_001, "x" * 10_000, "no box can hold it"),
        ("countdown", '{"numbers": []}', '{"numbers": [3, 7], "target": 21}', "the ground truth is not {numbers"),
    ],
    ids=["tests", "output", "box", "numbers"],
)
def test_what_a_verifier_cannot_grade_by_is_dropped(
    verifier: str, bad: str, good: str, why: str, tmp_path: Path, run: Run
) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(0, bad), question(1, good)])
    assert run("prepare", file, "--verifier", verifier, "--out", tmp_path / "out")[0] == 0
    assert [row["extra_info"]["id"] for row in problems(tmp_path / "out" / "train.parquet")] == ["1"]
    said = manifest(tmp_path / "out")
    assert said["dropped"] == {"unverifiable": 1}
    assert why in said["dropped_examples"]["unverifiable"][0]["why"]


def test_the_first_rows_of_each_reason_are_said(tmp_path: Path, run: Run) -> None:
    answers = ["proof", "N/A", "?", "see solution", "$\\frac{1}{", ["1", "2"], "", "7"]
    file = write_jsonl(tmp_path / "mine.jsonl", [question(i, answer) for i, answer in enumerate(answers)])
    status, out, _ = run("prepare", file, "--out", tmp_path / "out")
    assert status == 0
    assert out.splitlines()[2:-1] == [
        "  4 placeholder",
        "    row 0: gold proof, question Problem number 0?, it stands for an answer that is not there",
        "    row 1: gold N/A, question Problem number 1?, it stands for an answer that is not there",
        "    row 2: gold ?, question Problem number 2?, it stands for an answer that is not there",
        "  1 several answers in a list",
        "    row 5: {'problem': 'Problem number 5?', 'answer': ['1', '2']}",
        "  1 empty answer",
        "    row 6: {'problem': 'Problem number 6?', 'answer': ''}",
        "  1 unverifiable",
        "    row 4: gold $\\frac{1}{, question Problem number 4?, its braces do not match",
    ]
    write_jsonl(file, [question(i, answer) for i, answer in enumerate(answers[:-1])])
    status, _, err = run("prepare", file, "--out", tmp_path / "none")
    assert status == 2
    assert "nothing is left of 7 rows (placeholder: 4, " in err
    assert "\n    row 4: gold $\\frac{1}{, question Problem number 4?, its braces do not match" in err


@pytest.mark.parametrize(
    ("verifier", "golds", "others"),
    [
        ("math", ["\\frac13", "\\frac{1}{3}", "$1/3$", "2/6"], 0),
        ("math", ["7 - 2 \\pi", "7-2\\pi", "7-3\\pi"], 1),
        ("math", ["0.5", "\\frac12", "\\mathbf{0.50}", "0.51"], 1),
        ("math", ["\\int_0^1 x dx", "\\int_0^2 x dx", "\\int_0^1 x dx"], 1),
        ("exact_match", ["0.5", "1/2", "0.5"], 1),
    ],
)
def test_another_answer_is_not_the_same_one_in_other_words(
    verifier: str, golds: list[str], others: int, tmp_path: Path, run: Run
) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(0, gold) for gold in golds])
    assert run("prepare", file, "--verifier", verifier, "--out", tmp_path / "out")[0] == 0
    dropped = {"duplicate": len(golds) - 1 - others, "duplicate with another answer": others}
    assert manifest(tmp_path / "out")["dropped"] == {reason: count for reason, count in dropped.items() if count}


def test_a_placeholder_does_not_hide_the_answer_of_its_copy(tmp_path: Path, run: Run) -> None:
    rows = [question(0, "notfound"), question(0, "5"), question(0, "5"), question(0, "6")]
    assert run("prepare", write_jsonl(tmp_path / "mine.jsonl", rows), "--out", tmp_path / "out")[0] == 0
    assert problems(tmp_path / "out" / "train.parquet")[0]["reward_model"]["ground_truth"] == "5"
    assert manifest(tmp_path / "out")["dropped"] == {
        "placeholder": 1, "duplicate": 1, "duplicate with another answer": 1,
    }  # fmt: skip


@pytest.mark.parametrize("instruction", [None, "Box it.", ""])
def test_a_request_of_the_problem_s_own_is_replaced(instruction: str | None, tmp_path: Path, run: Run) -> None:
    own = "What is $1+1$?\nPut your final answer within \\boxed{}."
    rows = [{"problem": own, "answer": "2"}, {"problem": "What is\n\\(1 + 1\\)?", "answer": "2"}]
    words = [] if instruction is None else ["--instruction", instruction]
    assert run("prepare", write_jsonl(tmp_path / "mine.jsonl", rows), "--out", tmp_path / "out", *words)[0] == 0
    (row,) = problems(tmp_path / "out" / "train.parquet")
    asked = {None: f"What is $1+1$?\n{BOXED}", "Box it.": "What is $1+1$?\nBox it.", "": own}[instruction]
    assert row["prompt"][0]["content"] == asked
    assert manifest(tmp_path / "out")["instructions_taken_off"] == (instruction != "")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_list_of_one_answer_is_it(ending: str, tmp_path: Path, run: Run) -> None:
    rows = [question(0, ["5"]), question(1, ["a", "b"]), question(2, []), question(3, ["7", "$7$"])]
    file = tmp_path / f"mine.{ending}"
    (write_jsonl if ending == "jsonl" else write_parquet)(file, rows)
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    kept = problems(tmp_path / "out" / "train.parquet")
    assert [row["reward_model"]["ground_truth"] for row in kept] == ["5", "7"]
    assert manifest(tmp_path / "out")["dropped"] == {"several answers in a list": 1, "empty answer": 1}


def test_a_column_may_be_led_into(tmp_path: Path, run: Run) -> None:
    rows = [{"prompt": [{"role": "system", "content": "Hm."}, {"role": "user", "content": "1+1?"}], "a.b": "2"}]
    words = ["--question-column", "prompt.-1.content", "--answer-column", "a.b"]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    assert run("prepare", file, "--out", tmp_path / "out", *words)[0] == 0
    assert problems(tmp_path / "out" / "train.parquet")[0]["prompt"][0]["content"] == f"1+1?\n{BOXED}"
    status, _, err = run("prepare", file, "--out", tmp_path / "no", "--question-column", "prompt.5.content", *words[2:])
    assert status == 2
    assert "nothing is left of 1 rows (empty question: 1)" in err


def test_an_evaluation_set_keeps_its_duplicates(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(1), question(1)])
    assert run("prepare", file, "--split", "test", "--out", tmp_path / "out")[0] == 0
    assert len(problems(tmp_path / "out" / "test.parquet")) == 2


def test_evaluation_sets_beside_the_folder_are_found(tmp_path: Path, evaluation: Path, run: Run) -> None:
    (tmp_path / "data" / "foreign").mkdir()
    (tmp_path / "data" / "foreign" / "test.parquet").write_text("not ours")
    file = write_jsonl(tmp_path / "mine.jsonl", [question(0), {"problem": "What is 1+1?", "answer": "2"}])
    status, out, err = run("prepare", file, "--out", tmp_path / "data" / "mine")
    assert (status, err) == (0, "")
    assert out.startswith("kept apart from aime/test.parquet\n")
    said = manifest(tmp_path / "data" / "mine")
    assert said["dropped"] == {"overlap with aime: the same text": 1}
    assert said["settings"]["evaluation"] == [
        {"name": "aime/test.parquet", "sha256": file_sha256(evaluation / "test.parquet")}
    ]


@pytest.mark.parametrize("words", [[], ["--system", "You are a helpful assistant."], ["--system", ""]])
def test_the_system_message_is_the_one_that_is_given(words: list[str], tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", [question(0)])
    assert run("prepare", file, "--out", tmp_path / "out", *words)[0] == 0
    *before, user = problems(tmp_path / "out" / "train.parquet")[0]["prompt"]
    assert user["role"] == "user"
    assert before == ([{"role": "system", "content": words[1]}] if words and words[1] else [])


@pytest.mark.parametrize("instruction", ["", "Answer in one word."])
def test_the_instruction_of_an_evaluation_set_is_no_part_of_its_questions(
    instruction: str, tmp_path: Path, run: Run
) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [{"problem": "What is 1+1?", "answer": "2"}])
    words = ["--split", "test", "--instruction", instruction]
    assert run("prepare", file, "--out", tmp_path / "data" / "a", *words)[0] == 0
    asked = problems(tmp_path / "data" / "a" / "test.parquet")[0]["prompt"][0]["content"]
    assert asked == ("What is 1+1?\n" + instruction if instruction else "What is 1+1?")
    train = write_jsonl(tmp_path / "b.jsonl", [question(0), {"problem": "What is 1+1?", "answer": "2"}])
    assert run("prepare", train, "--out", tmp_path / "data" / "b")[0] == 0
    assert manifest(tmp_path / "data" / "b")["dropped"] == {"overlap with a: the same text": 1}


def test_the_same_command_again_changes_nothing(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(3)))
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    before = files_of(tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    status, out, err = run("prepare", file, "--out", tmp_path / "out")
    assert (status, err) == (0, "")
    assert out == f"{tmp_path / 'out'} is already prepared: 3 problems; --overwrite prepares it again\n"
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == times
    for words in (["--out", tmp_path / "out", "--overwrite"], ["--out", tmp_path / "other"]):
        assert run("prepare", file, *words)[0] == 0
        assert files_of(words[1]) == before


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--instruction", "Be quick."], "instruction"),
        (["--system", ""], "system"),
        (["--split", "train", "--verifier", "exact_match"], "instruction|verifier"),
        (["--id-column", "answer"], "columns"),
    ],
)
def test_other_settings_are_refused_until_told_otherwise(
    words: list[str], named: str, tmp_path: Path, run: Run
) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(3)))
    assert run("prepare", file, "--out", tmp_path / "out", "--instruction", "")[0] == 0
    before = files_of(tmp_path / "out")
    status, out, err = run("prepare", file, "--out", tmp_path / "out", *words)
    assert (status, out) == (2, "")
    assert f"{tmp_path / 'out'} was prepared with other settings (" in err
    assert any(name in err for name in named.split("|"))
    assert "--overwrite replaces it" in err
    assert files_of(tmp_path / "out") == before
    assert run("prepare", file, "--out", tmp_path / "out", *words, "--overwrite")[0] == 0
    assert files_of(tmp_path / "out") != before


def test_a_file_that_has_changed_is_another_setting(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(3)))
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    write_jsonl(file, map(question, range(4)))
    status, _, err = run("prepare", file, "--out", tmp_path / "out")
    assert status == 2
    assert "other settings (revision)" in err


def test_a_damaged_or_foreign_file_is_not_taken_for_prepared(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(3)))
    out = tmp_path / "out"
    assert run("prepare", file, "--out", out)[0] == 0
    whole = files_of(out)
    (out / "train.parquet").write_bytes(whole["train.parquet"][:-1])
    assert "is not what its manifest says: --overwrite makes it again" in run("prepare", file, "--out", out)[2]
    (out / "manifest.json").unlink()
    assert "holds train.parquet, not prepared by this command" in run("prepare", file, "--out", out)[2]
    assert run("prepare", file, "--out", out, "--overwrite")[0] == 0
    assert files_of(out) == whole


def test_overwriting_removes_the_other_split_and_leaves_what_is_not_ours(tmp_path: Path, run: Run) -> None:
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(3)))
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert run("prepare", file, "--out", tmp_path / "out", "--split", "test", "--overwrite")[0] == 0
    assert files_of(tmp_path / "out").keys() == {"test.parquet", "manifest.json", "notes.txt"}


def test_the_manifest_is_complete(tmp_path: Path, run: Run) -> None:
    import datasets

    rows = [{"problem": "x" * length, "answer": "1"} for length in (1, 3, 4, 900)]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    assert run("prepare", file, "--out", tmp_path / "new" / "out", "--instruction", "")[0] == 0
    said = manifest(tmp_path / "new" / "out")
    assert said["sha256"] == {"train.parquet": file_sha256(tmp_path / "new" / "out" / "train.parquet")}
    assert said["prompt_length"] == {
        "unit": "characters, without the chat template",
        "histogram": {"1-1": 1, "2-3": 1, "4-7": 1, "512-1023": 1},
    }
    assert said["overlong"] == "not measured: no --model was given"
    assert said["versions"]["datasets"] == datasets.__version__
    assert said["settings"]["evaluation"] == []


def test_batches_lose_nothing(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from pacs.data import prepare

    monkeypatch.setattr(prepare, "BATCH_ROWS", 3)
    monkeypatch.setattr(prepare, "BATCH_CHARS", 40)
    file = write_jsonl(tmp_path / "mine.jsonl", map(question, range(17)))
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    rows = problems(tmp_path / "out" / "train.parquet")
    assert [row["extra_info"]["id"] for row in rows] == [str(i) for i in range(17)]
    assert [row["extra_info"]["index"] for row in rows] == list(range(17))


def test_a_disk_that_takes_no_more_leaves_nothing(tmp_path: Path, run: Run) -> None:
    """As far as a test can fill one: files of this process may have 20 kB, and the problems have more."""
    rows = [{"problem": " ".join(str(hash((i, j))) for j in range(60)), "answer": "1"} for i in range(200)]
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        status, out, err = run("prepare", file, "--out", tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (status, out) == (2, "")
    assert "File too large" in err.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_ids_are_unique_rows_of_the_source(tmp_path: Path, run: Run) -> None:
    rows = list(itertools.chain.from_iterable((question(i), question(i)) for i in range(5)))
    file = write_jsonl(tmp_path / "mine.jsonl", rows)
    assert run("prepare", file, "--out", tmp_path / "out")[0] == 0
    said = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert said["dropped"] == {"duplicate": 5}
    ids = [row["extra_info"]["id"] for row in problems(tmp_path / "out" / "train.parquet")]
    assert ids == ["0", "2", "4", "6", "8"]


def test_a_hidden_character_of_a_dropped_row_is_named(tmp_path: Path) -> None:
    tally = Tally()
    for gold in ("2\u200b", "5\u00a0m"):
        tally.drop("unverifiable", id="0", question="1 + 1", gold=gold)
    assert [line.split("gold ")[1] for line in shown(tally.examples["unverifiable"])] == [
        "2<U+200B>, question 1 + 1",
        "5<U+00A0>m, question 1 + 1",
    ]
