"""The house: which package of `pacs` may use which, the drawing of it in CONTRIBUTING.md, and how large each is.

python -m tests.house             (writes the drawing into CONTRIBUTING.md)
python -m tests.house --count     (lines of code of each package: without docstrings, comments and blank lines)
"""

import argparse
import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
FILES = [PurePosixPath(path.relative_to(ROOT)) for path in sorted((ROOT / "pacs").rglob("*.py"))]

#: Packages and modules directly in `pacs/`, from the ground up: each uses none but those before it.
LAYERS = (
    "base",
    "verl_keys",
    "algorithm",
    "rewards",
    "metrics",
    "paper",
    "data",
    "checkpoints",
    "runs",
    "report",
    "export",
    "evaluation",
    "diversity",
    "integration",
    "composing",
    "planning",
    "sweeps",
    "doctor",
    "cluster",
    "commands",
    "completion",
    "cli",
    "__main__",
)
#: Packages and modules of `pacs/integration/`, likewise.
INTEGRATION_LAYERS = (
    "schema",
    "exchange",
    "strategy",
    "patches",
    "provenance",
    "nodes",
    "checkpoints",
    "exactness",
    "worker",
    "preflight",
    "trainer",
    "reward_manager",
    "plugin",
    "plain_sft",
    "checks",
    "launch",
)

PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- drawn by python -m tests.house -->\n", "<!-- end of the drawing -->\n"


def imported_modules(source: str, path: PurePosixPath) -> Iterator[str]:
    """Full names of all that is imported anywhere in a file: at its top, in functions, and by name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                package = path.parts[: len(path.parts) - level] if level else ()
                base = [*package, *([module] if module else [])]
                yield from (".".join([*base, alias.name]) for alias in names)
            case ast.Call(
                func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Constant(value=str(module)), *_]
            ):
                if name in {"import_module", "__import__"}:
                    yield module


def layer_of(module: str, package: str = "pacs") -> str | None:
    """`runs` of `pacs.runs.state`; None of what is not in the package, and of the package itself."""
    inside = module.removeprefix(f"{package}.")
    return inside.split(".")[0] if inside != module else None


def used_layers() -> dict[str, set[str]]:
    """Each layer, and the others that its files import."""
    used: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for path in FILES:
        layer = layer_of(".".join(path.with_suffix("").parts))
        if layer != "__init__":
            modules = imported_modules((ROOT / path).read_text(), path)
            used[str(layer)] |= {other for module in modules if (other := layer_of(module)) not in (None, layer)}
    used["cli"].add("commands")  # which it imports by name, one at a time
    return used


def drawing() -> str:
    """A flowchart in Mermaid, with the arrows that do not follow from others, and a line on what each layer is."""
    used = used_layers()

    def below(layer: str) -> set[str]:
        return used[layer] | {each for other in used[layer] for each in below(other)}

    lines = ["```mermaid", "flowchart BT"]
    for layer in LAYERS[:-1]:
        direct = [o for o in LAYERS if o in used[layer] and not any(o in below(i) for i in used[layer])]
        lines += [f"  {other} --> {layer}" for other in direct]
    lines += ["```", "", *_table("pacs", LAYERS[:-1])]
    lines += ["", "Inside `pacs/integration/`, likewise:", "", *_table("pacs/integration", INTEGRATION_LAYERS)]
    return "\n".join(" ".join(line.split()) if line.startswith("|") else line for line in lines) + "\n"


def _table(folder: str, layers: Sequence[str]) -> Iterator[str]:
    """Each layer, and the first paragraph of its docstring."""
    yield from ("| from the ground up | what it is |", "|---|---|")
    for layer in layers:
        file = ROOT / folder / layer / "__init__.py"
        is_package = file.exists()
        text = ast.get_docstring(ast.parse((file if is_package else ROOT / folder / f"{layer}.py").read_text()))
        yield f"| `{folder}/{layer}{'/' if is_package else '.py'}` | {(text or '').split(chr(10) * 2)[0]} |"


def with_drawing(page: str) -> str:
    """CONTRIBUTING.md with the drawing of today's imports."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + drawing() + END + rest.split(END)[1]


def code_lines(source: str) -> int:
    """Lines with code: no docstring, comment or blank line."""
    texts: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())) as text, *_]:
                    texts.update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    nothing = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    }  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in nothing:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - texts)


def count() -> str:
    """Lines of code of each package of `pacs/`, largest first, and of all."""
    lines: Counter[str] = Counter()
    for path in FILES:
        lines[path.parts[1]] += code_lines((ROOT / path).read_text())
    return "\n".join(f"{number:6}  {name}" for name, number in [*lines.most_common(), ("all", lines.total())])


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.house", description=__doc__.splitlines()[0])
    parser.add_argument("--count", action="store_true", help="print the lines of code of each package")
    if parser.parse_args().count:
        print(count())
    else:
        PAGE.write_text(with_drawing(PAGE.read_text()))
