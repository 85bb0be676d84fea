"""The list of planted bugs: what each changes, and which tests should see it."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Tests that start Ray or several processes, or take long, are left out.
MARKERS = "not slow and not long and not gpu"
#: What becomes of a bug.
CAUGHT, SURVIVED = "caught", "survived"


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A bug that could have been made.

    Attributes:
        name: of its own.
        file: that it is in, from the repository's root.
        old: the right text; it occurs in the file once.
        new: the bug.
        tests: files, folders or single tests (`file.py::test_name`) that are nearest to it.
        why: what it would do to a run.
        survives: why no quick test catches it; empty if one does.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    why: str
    survives: str = ""

    def text(self) -> str:
        """The file as it is.

        Raises:
            ValueError: the old text is not in it once.
        """
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(
                f"the planted bug {self.name} no longer fits: its old text occurs {count} times in {self.file}; write "
                "it anew for the code as it is, or take it out of tests/mutants/"
            )
        return text

    def planted(self) -> str:
        """The file with the bug. Raises ValueError as `text`."""
        return self.text().replace(self.old, self.new)

    def digest(self) -> str:
        """A hash of the bug, its file, and its tests: what its result depends on before all. Raises as `text`."""
        tests = [file.read_text(encoding="utf-8") for test in self.tests for file in files_of(test)]
        return hashlib.sha256("\0".join([self.text(), self.planted(), *self.tests, *tests]).encode()).hexdigest()[:16]


def files_of(test: str) -> list[Path]:
    """The files of one entry of `Mutant.tests`. Raises FileNotFoundError if there are none."""
    path = ROOT / test.partition("::")[0]
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    if not files:
        raise FileNotFoundError(f"there are no tests {test}")
    return files


def read_mutants() -> list[Mutant]:
    """All bugs of tests/mutants/*.toml, in order. Raises ValueError if two have one name."""
    found = []
    for file in sorted(Path(__file__).parent.glob("*.toml")):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]
        found += [Mutant(**table | {"tests": tuple(table["tests"])}) for table in tables]
    names = [mutant.name for mutant in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"planted bugs of the same name: {', '.join(sorted(twice))}")
    return found
