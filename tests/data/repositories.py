"""Every known source in small: the files, columns and types of its repository, and what is to be made of them."""

import base64
import csv
import json
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass
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
    """

    write: Callable[[Path], object]
    golds: list[str]
    ids: list[str]
    difficulty: float | None = None


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
]
OLYMPIAD_GOLDS = ["2^{1009}", "-1, 2", "[0,1)"]


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
    "ByteDance-Seed/BeyondAIME": Repository(beyondaime, ["12345"], ["0"]),
    "math-ai/olympiadbench": Repository(olympiadbench, OLYMPIAD_GOLDS, ["1606", "1", "2"]),
    "Hothan/OlympiadBench": Repository(olympiadbench_of_hothan, OLYMPIAD_GOLDS, ["1606", "1", "2"]),
    "math-ai/minervamath": Repository(minerva, ["4.5e33", "\\frac{1}{2} m"], ["0", "1"]),
    "Idavidrein/gpqa": Repository(gpqa, [], ["rec0", "rec1", "rec2", "rec3"]),
    "livecodebench/code_generation_lite": Repository(
        livecodebench, [CODE_GOLD] * 3, ["from_test2", "from_test3", "from_test4"], 2.0
    ),
}
