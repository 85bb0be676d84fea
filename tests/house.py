"""The house: which package of `pacs` may use which, and the drawing of it in CONTRIBUTING.md.

python -m tests.house     (writes the drawing into CONTRIBUTING.md)
"""

import ast
from collections.abc import Iterator
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
    "configuration",
    "__main__",
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


def layer_of(module: str) -> str | None:
    """`runs` of `pacs.runs.state`; None of what is not ours, and of `pacs` itself."""
    names = module.split(".")
    return names[1] if names[0] == "pacs" and len(names) > 1 else None


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
    lines += ["```", "", "| from the ground up | what it is |", "|---|---|"]
    for layer in LAYERS[:-1]:
        file = ROOT / "pacs" / layer / "__init__.py"
        is_package = file.exists()
        text = ast.get_docstring(ast.parse((file if is_package else ROOT / "pacs" / f"{layer}.py").read_text()))
        lines.append(f"| `pacs/{layer}{'/' if is_package else '.py'}` | {(text or '').split(chr(10) * 2)[0]} |")
    return "\n".join(" ".join(line.split()) if line.startswith("|") else line for line in lines) + "\n"


def with_drawing(page: str) -> str:
    """CONTRIBUTING.md with the drawing of today's imports."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + drawing() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(with_drawing(PAGE.read_text()))
