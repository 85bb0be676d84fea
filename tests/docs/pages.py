"""The pages of the documentation, and what they give as code."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
#: Fenced blocks whose lines are commands.
SHELL = ("bash", "sh")
#: A loop of the shell on one line: what varies, its values, a command.
LOOP = re.compile(r"for (\w+) in (.+?); do (.+); done")


@dataclass(frozen=True)
class Page:
    """What a page points to and gives as code.

    Attributes:
        file: where it is.
        links: targets of its links and pictures.
        spans: code within lines.
        blocks: language ("" for none) and content of each block.
    """

    file: Path
    links: tuple[str, ...]
    spans: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        return str(self.file.relative_to(ROOT))

    @property
    def commands(self) -> list[str]:
        """The lines of the shell's blocks, continued ones joined, without comments; of a loop the command of each."""
        lines = [
            line
            for language, content in self.blocks
            if language in SHELL
            for line in content.replace("\\\n", " ").splitlines()
        ]
        given = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        return [command for line in given for command in _each(line)]

    @property
    def words(self) -> list[str]:
        """All that is given as code, cut at white space, without the punctuation around it."""
        code = [*self.spans, *(content for _, content in self.blocks)]
        return [word.strip("(),;:|'\"`") for text in code for word in text.split()]


def _each(line: str) -> list[str]:
    loop = LOOP.fullmatch(line)
    return [loop[3].replace(f"${loop[1]}", value) for value in loop[2].split()] if loop else [line]


def _walk(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _walk(token.children or [])


def read(file: Path) -> Page:
    """A page of Markdown."""
    tokens = list(_walk(MarkdownIt("commonmark").enable("table").parse(file.read_text(encoding="utf-8"))))
    return Page(
        file=file,
        links=tuple(
            str(token.attrs.get("href") or token.attrs["src"])
            for token in tokens
            if token.attrs.keys() & {"href", "src"}
        ),
        spans=tuple(token.content for token in tokens if token.type == "code_inline"),
        blocks=tuple((token.info.strip(), token.content) for token in tokens if token.type in ("fence", "code_block")),
    )


PAGES = [
    read(file)
    for file in (
        ROOT / "README.md",
        ROOT / "benchmarks" / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "recipes").rglob("README.md")),
        *sorted((ROOT / "tests").rglob("README.md")),
    )
]


@cache
def code_files() -> tuple[Path, ...]:
    """The project's files but for its pages and tests, and what runs have left."""
    folders = ("pacs", "configs", "recipes", "scripts", "benchmarks", "requirements")
    inside = (file for folder in folders for file in sorted((ROOT / folder).rglob("*")))
    return (
        ROOT / "pyproject.toml",
        ROOT / "Dockerfile",
        *(file for file in inside if file.is_file() and file.suffix not in (".md", ".pyc", ".png", ".safetensors")),
    )


@cache
def strings() -> tuple[str, ...]:
    """The strings of the Python code but its docstrings; what is filled in is an ellipsis."""
    return tuple(text for file in code_files() if file.suffix == ".py" for text in strings_of(file.read_text()))


def strings_of(source: str) -> list[str]:
    """Those of one file's text; parts with a name in the file once as … and once in full, settings by full names."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    named = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }

    def text(node: ast.expr, names: Mapping[str, ast.expr]) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(text(part, names) for part in node.values)
        if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
            value = names.get(node.value.id)
            return text(value, names) if isinstance(value, ast.JoinedStr | ast.Constant) else "…"
        return text_of(node) or "…"

    found = []
    for node in ast.walk(tree):
        if id(node) not in docstrings and (isinstance(node, ast.JoinedStr) or text_of(node)):
            for said in dict.fromkeys((text(node, {}), text(node, named))):
                found.append(re.sub(r"@([a-z]\w*\.[\w.]+\b)(=(?![\w$\[{(.\-+]))?", _spelled, said))
    return found


def text_of(node: ast.AST) -> str:
    """Of a string's constant; "" of anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _spelled(short: re.Match[str]) -> str:
    """A setting that `pacs/integration/checks/wording.py` spells out."""
    section = "actor_rollout_ref." if short[1].startswith(("actor.", "rollout.", "ref.", "model.")) else ""
    return section + short[1] + ("=…" if short[2] else "")


@cache
def code_words() -> frozenset[str]:
    """Every word of the code, its scripts and its settings."""
    return frozenset(word for file in code_files() for word in re.findall(r"\w+", file.read_text(encoding="utf-8")))
