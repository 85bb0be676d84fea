"""Files, folders and tests that the docs name are there; what a reader needs of the repository is named."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Page, code_files, read, strings
from tests.metrics.page import find

#: What others make, and what stands for a file of the reader's.
NOT_OURS = {
    "ppo_trainer.yaml": "verl's own",
    "latest_checkpointed_iteration.txt": "verl's own",
    "data.pt": "verl's own",
    "config.json": "transformers'",
    "generation_config.json": "transformers'",
    "model.safetensors": "transformers'",
    "train.rates.jsonl": "what `pacs data rate` writes beside train.parquet",
    "train.baseline.jsonl": "what `pacs data baseline` writes beside train.parquet",
    "word_count.py": "the example of CONTRIBUTING.md",
    "mine.yaml": "the example of recipes/laboratory/README.md",
}
FILE = re.compile(r"[\w.*/-]*\w\.(?:py|yaml|sh|sbatch|jsonl?|md|txt|toml|png|html|pt|parquet|sqlite|safetensors|log)")
#: They begin as tests do.
SETTINGS = {"test_seconds"}
FOLDERS = ("pacs", "configs", "recipes", "scripts", "tests", "benchmarks", "docs", "findings", "requirements")


def is_there(name: str) -> bool:
    """Whether a file of the repository ends in this path, or the code has a string that does."""
    if any(f"/{file}".endswith(f"/{name}") for file in repository()):
        return True
    # N, TASK, * and numbers are filled in.
    filled = re.sub(r"(?<![a-zA-Z])(?:[A-Z]+|\d+)(?![a-zA-Z])|\\\*", ".+", re.escape(name.rsplit("/", 1)[-1]))
    if any(re.search(rf"(?:^|/|…){filled}$", text) for text in strings()):
        return True
    # Else a name and a suffix that the code puts together.
    stem, _, suffix = filled.rpartition(r"\.")
    return bool({f".{suffix}", f"….{suffix}"} & set(strings())) and any(re.fullmatch(stem, text) for text in strings())


@cache
def repository() -> tuple[str, ...]:
    """Its files by their paths, without what runs have left."""
    tests = [file for file in (ROOT / "tests").rglob("*.*") if "__pycache__" not in file.parts]
    results = (ROOT / "benchmarks" / "results").rglob("*.*")
    others = [*tests, *results, *(ROOT / "findings").glob("*.sh"), *(page.file for page in PAGES)]
    return tuple(str(file.relative_to(ROOT)) for file in (*code_files(), *others))


def dead_ends(page: Page) -> list[str]:
    """Links and paths that lead nowhere."""
    links = [link.partition("#")[0] for link in page.links if not link.startswith(("http", "#"))]
    paths = [word for word in page.words if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*", word)]
    return [link for link in links if not (page.file.parent / link).exists()] + [
        path for path in paths if not (ROOT / path).exists() and find(path) is None and not is_there(path)
    ]


def unknown_files(page: Page) -> list[str]:
    """Names of files that neither are in the repository nor made by the code; below outputs/ they are the reader's."""
    code = [*page.spans, *(text for language, text in page.blocks if not language)]
    names = [word for text in code for word in text.split() if FILE.fullmatch(word)]
    return [name for name in names if not name.startswith("outputs/") and name not in NOT_OURS and not is_there(name)]


def unknown_tests(page: Page) -> list[str]:
    """`test_name`, `test_name[case]` and `tests/file.py::test_name` that are not there."""
    unknown = []
    for word in page.words:
        named = re.fullmatch(r"(?:(tests/[\w/]+\.py)::)?(test_\w+)(?:\[(\w+)\])?", word)
        if named and word not in SETTINGS:
            file, function, case = named.groups()
            sources = [path.read_text() for path in ([ROOT / file] if file else ROOT.glob("tests/**/test_*.py"))]
            if not any(f"def {function}(" in source and (not case or f'"{case}"' in source) for source in sources):
                unknown.append(word)
    return unknown


@pytest.mark.parametrize("missing", [dead_ends, unknown_files, unknown_tests], ids=lambda rule: rule.__name__)
def test_what_is_named_is_there(missing: Callable[[Page], list[str]]) -> None:
    assert {page.name: found for page in PAGES if (found := missing(page))} == {}


def test_the_checker_sees_what_is_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "[here](page.md), [away](gone.md), `pacs/cli.py`, `pacs/clj.py`, `loss.py`, `lossy.py`,\n"
        "`step_N.pt`, `stop_N.pt`,\n"
        "`test_hung_engine`, `test_hanged_engine`, `test_process_killed_in_a_step[driver]`,\n"
        "`test_process_killed_in_a_step[pilot]`, `tests/test_house.py::test_hung_engine`, `pacs/loss_mean`\n"
    )
    assert dead_ends(read(page)) == ["gone.md", "pacs/clj.py"]
    assert unknown_files(read(page)) == ["pacs/clj.py", "lossy.py", "stop_N.pt"]
    assert unknown_tests(read(page)) == [
        "test_hanged_engine",
        "test_process_killed_in_a_step[pilot]",
        "tests/test_house.py::test_hung_engine",
    ]


def test_what_a_reader_starts_with_is_named() -> None:
    """Pages in the README; scripts, benchmarks and recipes somewhere."""
    readme = next(page for page in PAGES if page.name == "README.md")
    assert {f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md")} <= set(readme.links)
    code = "\n".join(word for page in PAGES for word in page.words)
    files = [*(ROOT / "scripts").rglob("*.s*"), *(ROOT / "benchmarks").glob("*.py")]
    named = [str(file.relative_to(ROOT)) for file in files if file.parent.name != "lib" and file.name != "table.py"]
    assert [name for name in named if name not in code] == []
    recipes = next(page for page in PAGES if page.name == "recipes/README.md")
    assert {f"{file.parent.name}/README.md" for file in (ROOT / "recipes").glob("*/README.md")} <= set(recipes.links)
