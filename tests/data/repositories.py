"""Every known source in small: the files, columns and types of its repository, and what is to be made of them."""

import base64
import csv
import json
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.data.conftest import write_jsonl, write_parquet


@dataclass(frozen=True)
class Repository:
    """A small copy of a repository.

    Attributes:
        write: makes its files in a folder.
        golds: of the problems, in their order.
        ids: the same.
        difficulty: of the first problem.
        questions: of the problems, where they are not the rows' own.
        dropped: reason -> number of rows.
    """

    write: Callable[[Path], object]
    golds: list[str]
    ids: list[str]
    difficulty: float | None = None
    questions: list[str] | None = None
    dropped: dict[str, int] = field(default_factory=dict)


def card(folder: Path, configs: dict[str, tuple[str, str]]) -> None:
    """README.md with the configs: name -> (split, file)."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["---", "configs:"]
    for name, (split, file) in configs.items():
        lines += [f"- config_name: {name}", "  data_files:", f"  - split: {split}", f"    path: {file}"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def deepscaler(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"problem": "Half of one?", "answer": "\\frac{1}{2}", "solution": "It is $\\boxed{0.5}$."},
        {"problem": "Two and two?", "answer": "", "solution": "Not $\\boxed{5}$, it is $\\boxed{4}$."},
    ]
    (folder / "deepscaler.json").write_text(json.dumps(rows, indent=2))


def gsm8k(folder: Path) -> None:
    """As `datasets` finds it: two configs of the same problems, the answer behind the calculation."""
    for config in ("socratic", "main"):
        for split, total in (("train", "1,234"), ("test", "-70,000.50")):
            row = {"question": f"How much, in {split}?", "answer": f"In {config} 2+2=<<2+2=4>>4.\n#### {total}"}
            write_parquet(folder / config / f"{split}-00000-of-00001.parquet", [row])
    lines = ["---", "configs:"]
    for config in ("main", "socratic"):
        lines += [f"- config_name: {config}", "  data_files:"]
        for split in ("train", "test"):
            lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))


def dapo_row(question: str, answer: str, index: str) -> dict[str, Any]:
    content = (
        "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
        f"$Answer (without quotes) where $Answer is the answer to the problem.\n\n{question}\n\nRemember to put your "
        'answer on its own line after "Answer:".'
    )
    return {
        "data_source": "math_dapo", "prompt": [{"content": content, "role": "user"}], "ability": "MATH",
        "reward_model": {"ground_truth": answer, "style": "rule-lighteval/MATH_v2"}, "extra_info": {"index": index},
    }  # fmt: skip


def dapo(folder: Path) -> None:
    """Each problem many times, under one uuid or another, and one of them with two answers."""
    rows = [dapo_row("In triangle $ABC$, find $x$.", "34", "9a9b6eb4")] * 3
    rows += [dapo_row("In triangle  \\(ABC\\), find $x$.", "34", "b426d104")]
    rows += [dapo_row("Find $y$.", answer, answer) for answer in ("7", "8")]
    write_parquet(folder / "data" / "dapo-math-17k.parquet", rows)


def numina_row(problem: str, answer: str, **changed: Any) -> dict[str, Any]:
    return {
        "problem": problem, "solution": "…", "answer": answer, "problem_type": "Algebra",
        "question_type": "math-word-problem", "problem_is_valid": "Yes", "solution_is_valid": "Yes",
        "source": "olympiads", "synthetic": False,
    } | changed  # fmt: skip


NUMINA_ROWS = [
    numina_row("Show that it is so.", "proof"),
    numina_row("Show that it is even.", "2k", question_type="proof"),
    numina_row("How long?", "notfound"),
    numina_row("How long?", "9 \\text{ cm}"),
    numina_row("Which? (A) 1 (B) 2", "2", question_type="MCQ"),
    numina_row("Which one?\n$\\textbf{(A)}\\ 1\\qquad\\textbf{(B)}\\ 2$", "\\text{A}"),
    numina_row("Cut short", "3", problem_is_valid="Incomplete"),
    numina_row("Not solved?", "3", solution_is_valid="Problem not solved"),
    numina_row("See ![](https://cdn.mathpix.com/cropped/1.jpg?height=3): how far?", "3"),
    numina_row("Nothing?", ""),
    numina_row("On which day?", "\\text{Monday}"),
    numina_row("In whose house? A. says: mine. B. says: not mine.", "A = B"),
]
NUMINA_DROPPED = {
    "placeholder": 2, "proof": 1, "multiple choice": 2, "problem_is_valid is not Yes": 1,
    "solution_is_valid is not Yes": 1, "a picture is missing": 1, "empty answer": 1,
}  # fmt: skip


def numina(folder: Path) -> None:
    write_parquet(folder / "data" / "train-00000-of-00003.parquet", NUMINA_ROWS)
    card(folder, {"default": ("train", "data/train-*")})


def numina_cot(folder: Path) -> None:
    """No column of answers: they are in the solutions; and a test split, which is not read."""
    solutions = {
        "How long?": "It is $\\boxed{4}$, no: $\\boxed{5}$.", "Show it.": "It is so, for 3 reasons. $\\blacksquare$",
        "Which? A) 1 B) 2": "$\\boxed{B}$",
    }  # fmt: skip
    rows = [
        {"source": "aops_forum", "problem": problem, "solution": solution, "messages": [
            {"content": problem, "role": "user"}, {"content": solution, "role": "assistant"}]}
        for problem, solution in solutions.items()
    ]  # fmt: skip
    write_parquet(folder / "data" / "train-00000-of-00005.parquet", rows)
    write_parquet(folder / "data" / "test-00000-of-00001.parquet", rows[:1])


def openr1(folder: Path) -> None:
    """Three configs, each a folder; the default one is read, without the columns that Numina has beside."""
    of_r1 = {
        "uuid": "586fd646", "is_reasoning_complete": [True, True], "generations": ["<think>\n…", "<think>\n…"],
        "correctness_math_verify": [True, False], "correctness_llama": None, "finish_reasons": None,
        "correctness_count": 1, "messages": [{"content": "…", "role": "user"}],
    }  # fmt: skip
    rows = [
        {key: value for key, value in row.items() if key not in ("problem_is_valid", "solution_is_valid")} | of_r1
        for row in (numina_row("How fast?", "180"), numina_row("Which? A) 1 B) 2", "B", question_type="MCQ"))
    ]  # fmt: skip
    for name in ("all", "data", "extended"):
        write_parquet(folder / name / "train-00000-of-00010.parquet", rows if name == "data" else rows * 2)
    folders = {"all": "all", "default": "data", "extended": "extended"}
    card(folder, {config: ("train", f"{name}/train-*") for config, name in folders.items()})


def big_math(folder: Path) -> None:
    rows = [
        {"problem": problem, "answer": answer, "source": "orca_math", "domain": ["Mathematics -> Algebra"],
         "llama8b_solve_rate": rate}
        for problem, answer, rate in (("How many?", "125", 0.25), ("how  many ?", "125", None), ("x?", "", 1.0))
    ]  # fmt: skip
    write_parquet(folder / "data" / "train-00000-of-00001.parquet", rows)


def orz(folder: Path) -> None:
    """A list of conversations, each a list of two."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = {
        "Find $a+b$.": {"value": "\\frac{3}{4}"},
        "Which?": {"value": "B", "pass_at_n": 0.5},
        "So?": {"value": ""},
        "(A) 1 (B) 2?": {"value": "B"},
    }
    rows = [
        [{"from": "human", "value": question}, {"from": "assistant", "ground_truth": answer}]
        for question, answer in answers.items()
    ]
    (folder / "orz_math_57k_collection.json").write_text(json.dumps(rows))


def deepmath(folder: Path) -> None:
    solutions = {f"r1_solution_{n}": "…" for n in (1, 2, 3)}
    rows = [
        {"question": question, "final_answer": answer, "difficulty": level, "topic": "Calculus -> Limits", **solutions}
        for question, answer, level in (("Evaluate the limit.", "0", 4.5), ("Is it so?", "Yes", -1.0))
    ]
    write_parquet(folder / "data" / "train-00000-of-00017.parquet", rows)
    card(folder, {"default": ("train", "data/train-*")})


def math500(folder: Path) -> None:
    row = {
        "problem": "Convert $(0,3)$.", "solution": "...", "answer": "\\left( 3, \\frac{\\pi}{2} \\right)",
        "subject": "Precalculus", "level": 2, "unique_id": "test/precalculus/807.json",
    }  # fmt: skip
    write_jsonl(folder / "test.jsonl", [row])


def amc23(folder: Path, answers: list[Any]) -> None:
    rows = [
        {"id": i, "answer": answer, "url": "…", "question": f"Problem {i} of AMC?"} for i, answer in enumerate(answers)
    ]
    write_parquet(folder / "test-00000-of-00001.parquet", rows)


def aime24(folder: Path) -> None:
    row = {
        "id": 60,
        "problem": "Every morning Aya walks?",
        "solution": "…",
        "answer": "204",
        "url": "…",
        "year": "2024",
    }
    write_parquet(folder / "data" / "train-00000-of-00001.parquet", [row])


def aime24_of_maxwell(folder: Path) -> None:
    row = {"ID": "2024-II-4", "Problem": "Let $x,y,z$?", "Solution": "…", "Answer": 33}
    write_parquet(folder / "aime_2024_problems.parquet", [row])
    card(folder, {"default": ("train", "aime_2024_problems.parquet")})


def aime25(folder: Path) -> None:
    write_jsonl(folder / "test.jsonl", [{"problem": "Sum of bases?", "answer": "70", "id": "0"}])
    card(folder, {"default": ("test", "test.jsonl")})


def aime25_of_yentinglin(folder: Path) -> None:
    row = {"id": 0, "problem": "Sum of bases?", "answer": "070", "solution": "", "url": "", "year": 2025}
    write_parquet(folder / "data" / "train-00000-of-00001.parquet", [row])


def aime25_of_opencompass(folder: Path) -> None:
    for part, answer in (("I", "70"), ("II", "468")):
        write_jsonl(folder / f"aime2025-{part}.jsonl", [{"question": f"Of part {part}?", "answer": answer}])
    card(folder, {f"AIME2025-{part}": ("test", f"aime2025-{part}.jsonl") for part in ("I", "II")})


def matharena(answer: int | str) -> Callable[[Path], object]:
    row = {"problem_idx": 10, "problem": "The two values?", "answer": answer, "problem_type": ["Algebra"]}
    return lambda folder: write_parquet(folder / "data" / "train-00000-of-00001.parquet", [row])


HMMT_GOLD = "\\frac{-1+\\sqrt{17}}{2}, \\frac{-1-\\sqrt{17}}{2}"


def beyondaime(folder: Path) -> None:
    write_parquet(folder / "data" / "test-00000-of-00001.parquet", [{"problem": "A large one?", "answer": 12345}])


def olympiad_row(**changed: Any) -> dict[str, Any]:
    return {
        "id": 1606, "question": "Xenia and Sergey play?", "solution": ["…"], "final_answer": ["$2^{1009}$"],
        "context": None, "modality": "Text-only", "difficulty": "Competition", "is_multiple_answer": False,
        "unit": None, "answer_type": "Numerical", "error": None, "question_type": "Open-ended",
        "subfield": "Combinatorics", "subject": "Math", "language": "English",
    } | changed  # fmt: skip


OLYMPIAD_ROWS = [
    olympiad_row(),
    olympiad_row(id=1, question="All of them?", final_answer=["$-1$", "2"], is_multiple_answer=True),
    olympiad_row(id=2, question="Where?", final_answer=["$[0,1)$"]),
    olympiad_row(id=3, question="Which?", final_answer=["$69$,$84$"], is_multiple_answer=True),
]
OLYMPIAD_GOLDS = ["2^{1009}", "-1, 2", "[0,1)", "$69$,$84$"]


def olympiadbench(folder: Path) -> None:
    write_parquet(folder / "test.parquet", OLYMPIAD_ROWS)


def olympiadbench_of_hothan(folder: Path) -> None:
    file = "OlympiadBench/OE_TO_maths_en_COMP/OE_TO_maths_en_COMP.parquet"
    write_parquet(folder / file, OLYMPIAD_ROWS)
    write_parquet(folder / "OlympiadBench/other.parquet", [olympiad_row(id=9, subject="Physics")])
    card(folder, {"other": ("train", "OlympiadBench/other.parquet"), "OE_TO_maths_en_COMP": ("train", file)})


def minerva(folder: Path) -> None:
    rows = [{"question": "How fast, in m/s?", "answer": "4.5e33"}, {"question": "Which?", "answer": "\\frac{1}{2} m"}]
    write_jsonl(folder / "test.jsonl", rows)


def gpqa(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    columns = ["Record ID", "Question", "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2",
               "Incorrect Answer 3", "Subdomain"]  # fmt: skip
    for name in ("gpqa_extended", "gpqa_diamond"):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            for i in range(4):
                writer.writerow([f"rec{i}", f"In {name},\nnumber {i}?", "right", "wrong", "worse", "5.0", "Physics"])
    card(folder, {name: ("train", f"{name}.csv") for name in ("gpqa_extended", "gpqa_diamond")})


def encode_tests(tests: list[dict[str, str]]) -> str:
    """As LiveCodeBench does."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(tests)))).decode()


def coding_row(name: str, day: str, *, function: str | None = None, **changed: Any) -> dict[str, Any]:
    kind = "functional" if function else "stdin"
    tests = [{"input": f"{i}", "output": f"{i + 1}", "testtype": kind} for i in range(3)]
    return {
        "question_title": name, "question_content": f"Add one, {name}.", "platform": "atcoder", "question_id": name,
        "contest_id": "abc", "contest_date": f"{day}T00:00:00", "difficulty": "medium",
        "starter_code": f"class Solution:\n    def {function}(self, x):\n        " if function else "",
        "public_test_cases": json.dumps(tests[:1]), "private_test_cases": encode_tests(tests[1:]),
        "metadata": json.dumps({"func_name": function} if function else {}),
    } | changed  # fmt: skip


def livecodebench(folder: Path) -> None:
    days = {"test": "2024-06-30", "test2": "2024-07-01", "test3": "2024-09-15", "test4": "2025-01-01",
            "test5": "2025-01-02", "test6": "2024-08-01"}  # fmt: skip
    for file, day in days.items():
        write_jsonl(folder / f"{file}.jsonl", [coding_row(f"from_{file}", day)])
    # What `datasets` refuses.
    (folder / "code_generation_lite.py").write_text("raise SystemExit\n")


CODE_GOLD = json.dumps({"fn_name": None, "inputs": ["0", "1", "2"], "outputs": ["1", "2", "3"]})

#: Repository on the Hub -> its small copy.
REPOSITORIES = {
    "agentica-org/DeepScaleR-Preview-Dataset": Repository(deepscaler, ["\\frac{1}{2}", "4"], ["0", "1"]),
    "openai/gsm8k": Repository(gsm8k, ["1234"], ["0"]),
    "BytedTsinghua-SIA/DAPO-Math-17k": Repository(
        dapo,
        ["34", "7"],
        ["9a9b6eb4", "7"],
        None,
        ["In triangle $ABC$, find $x$.", "Find $y$."],
        {"duplicate": 3, "duplicate with another answer": 1},
    ),
    "open-r1/OpenR1-Math-220k": Repository(openr1, ["180"], ["586fd646"], dropped={"multiple choice": 1}),
    "AI-MO/NuminaMath-1.5": Repository(
        numina, ["9 \\text{ cm}", "\\text{Monday}", "A = B"], ["3", "10", "11"], dropped=NUMINA_DROPPED
    ),
    "AI-MO/NuminaMath-CoT": Repository(numina_cot, ["5"], ["0"], dropped={"empty answer": 1, "multiple choice": 1}),
    "SynthLabsAI/Big-Math-RL-Verified": Repository(
        big_math, ["125"], ["0"], 0.75, dropped={"duplicate": 1, "empty answer": 1}
    ),
    "Open-Reasoner-Zero/orz_math_57k_collection": Repository(
        orz, ["\\frac{3}{4}", "B"], ["0", "1"], dropped={"empty answer": 1, "multiple choice": 1}
    ),
    "zwhe99/DeepMath-103K": Repository(deepmath, ["0", "Yes"], ["0", "1"], 4.5),
    "HuggingFaceH4/MATH-500": Repository(
        math500, ["\\left( 3, \\frac{\\pi}{2} \\right)"], ["test/precalculus/807.json"], 2.0
    ),
    "math-ai/amc23": Repository(lambda folder: amc23(folder, ["27.0", "36"]), ["27", "36"], ["0", "1"]),
    "zwhe99/amc23": Repository(lambda folder: amc23(folder, [27.0, 36.0]), ["27", "36"], ["0", "1"]),
    "HuggingFaceH4/aime_2024": Repository(aime24, ["204"], ["60"]),
    "Maxwell-Jia/AIME_2024": Repository(aime24_of_maxwell, ["33"], ["2024-II-4"]),
    "math-ai/aime25": Repository(aime25, ["70"], ["0"]),
    "yentinglin/aime_2025": Repository(aime25_of_yentinglin, ["070"], ["0"]),
    "opencompass/AIME2025": Repository(aime25_of_opencompass, ["70", "468"], ["0", "1"]),
    "MathArena/aime_2026": Repository(matharena(70), ["70"], ["10"]),
    "MathArena/hmmt_feb_2025": Repository(matharena(HMMT_GOLD), [HMMT_GOLD], ["10"]),
    "MathArena/brumo_2025": Repository(matharena("20\\pi"), ["20\\pi"], ["10"]),
    "ByteDance-Seed/BeyondAIME": Repository(beyondaime, ["12345"], ["0"]),
    "math-ai/olympiadbench": Repository(olympiadbench, OLYMPIAD_GOLDS, ["1606", "1", "2", "3"]),
    "Hothan/OlympiadBench": Repository(olympiadbench_of_hothan, OLYMPIAD_GOLDS, ["1606", "1", "2", "3"]),
    "math-ai/minervamath": Repository(minerva, ["4.5e33", "\\frac{1}{2} m"], ["0", "1"]),
    "Idavidrein/gpqa": Repository(gpqa, [], ["rec0", "rec1", "rec2", "rec3"]),
    "livecodebench/code_generation_lite": Repository(
        livecodebench,
        [CODE_GOLD] * 3,
        ["from_test2", "from_test3", "from_test4"],
        2.0,
        dropped={"outside the dates": 2},
    ),
}
