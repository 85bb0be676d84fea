"""The rules of the house: who imports whom, how long a file may be, and that all is printed in one way."""

import ast
import sys
from pathlib import PurePosixPath

import pytest

from tests.house import FILES, LAYERS, PAGE, ROOT, imported_modules, layer_of, used_layers, with_drawing

TERMINAL = "pacs.base.terminal"
ONLY_IN_INTEGRATION = {"verl", "transfer_queue"}


def forbidden_imports(source: str, path: PurePosixPath) -> list[str]:
    """The imports of a file that break a rule."""
    allowed_in_algorithm = {"torch", "pydantic", *sys.stdlib_module_names}
    forbidden = []
    for module in imported_modules(source, path):
        top = module.split(".")[0]
        foreign = top not in allowed_in_algorithm and not f"{module}.".startswith("pacs.algorithm.")
        if (path.is_relative_to("pacs/algorithm") and foreign) or (
            top in ONLY_IN_INTEGRATION and not path.is_relative_to("pacs/integration")
        ):
            forbidden.append(module)
    return forbidden


@pytest.mark.parametrize("path", FILES, ids=str)
def test_imports_keep_the_rules(path: PurePosixPath) -> None:
    assert forbidden_imports((ROOT / path).read_text(), path) == []


def test_the_checker_sees_the_real_files() -> None:
    """It finds the algorithm's torch and the integration's verl, so that finding nothing means something."""
    seen = {path: list(imported_modules((ROOT / path).read_text(), path)) for path in FILES}
    assert "torch" in seen[PurePosixPath("pacs/algorithm/update.py")]
    assert any(m.split(".")[0] == "verl" for p in FILES if p.is_relative_to("pacs/integration") for m in seen[p])


@pytest.mark.parametrize(
    "line",
    [
        "import verl",
        "import os, verl.utils as u",
        "from verl.trainer import main_ppo",
        "def f():\n    from verl import DataProto",
        "if TYPE_CHECKING:\n    import transfer_queue",
        "importlib.import_module('verl.protocol')",
        "__import__('verl')",
    ],
)
def test_the_checker_finds_verl(line: str) -> None:
    """In every way to import it, in every folder but integration/."""
    for folder in ("pacs/data", "pacs/algorithm", "pacs"):
        assert len(forbidden_imports(line, PurePosixPath(folder, "bad.py"))) == 1
    assert forbidden_imports(line, PurePosixPath("pacs/integration/good.py")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import numpy as np",
        "import pacs",
        "import pacs.rewards",
        "from pacs import rewards",
        "from pacs.algorithmic import x",
        "from .. import rewards",
        "from ..rewards import verifier",
    ],
)
def test_the_checker_keeps_algorithm_to_torch(line: str) -> None:
    assert len(forbidden_imports(line, PurePosixPath("pacs/algorithm/bad.py"))) == 1
    assert forbidden_imports(line, PurePosixPath("pacs/report/good.py")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import torch.nn.functional as F",
        "import math",
        "from collections.abc import Mapping",
        "from . import groups",
        "from .groups import Groups",
        "from pacs import algorithm",
        "import pacs.algorithm",
        "from pacs.algorithm.groups import Groups",
        "import torch",
    ],
)
def test_the_checker_lets_torch_and_the_standard_library_pass(line: str) -> None:
    assert forbidden_imports(line, PurePosixPath("pacs/algorithm/good.py")) == []


def upward_imports(source: str, path: PurePosixPath) -> list[str]:
    """The imports of a file that lie in a layer above its own, or in none."""
    own = layer_of(".".join(path.with_suffix("").parts))
    below = {None, *LAYERS[: LAYERS.index(str(own)) + 1]} if own != "__init__" else {None}
    return [module for module in imported_modules(source, path) if layer_of(module) not in below]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_no_import_goes_upwards(path: PurePosixPath) -> None:
    assert upward_imports((ROOT / path).read_text(), path) == []


def test_every_layer_is_there_and_used() -> None:
    used = used_layers()
    assert set(used) == set(LAYERS)
    assert all(used[layer] for layer in LAYERS if layer not in ("base", "algorithm", "paper"))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("from pacs.commands import plan", "pacs/planning/bad.py"),
        ("def f():\n    from pacs.report import page", "pacs/runs/bad.py"),
        ("from ..evaluation import sample", "pacs/data/bad.py"),
        ("import pacs.runs.state", "pacs/base/bad.py"),
        ("from pacs import cli", "pacs/commands/bad.py"),
        ("importlib.import_module('pacs.sweeps.grid')", "pacs/integration/start/bad.py"),
        ("from pacs import nowhere", "pacs/cli.py"),
    ],
)
def test_the_checker_finds_an_upward_import(line: str, path: str) -> None:
    assert len(upward_imports(line, PurePosixPath(path))) == 1
    assert upward_imports("from pacs.base import files\nimport torch", PurePosixPath(path)) == []


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_can_be_read_in_one_go(path: PurePosixPath) -> None:
    most = 150 if path.is_relative_to("pacs/algorithm") else 250
    assert len((ROOT / path).read_text().splitlines()) <= most


def test_the_drawing_is_of_today_s_imports() -> None:
    """`python -m tests.house` draws it anew."""
    page = PAGE.read_text()
    assert with_drawing(page) == page


def bare_prints(source: str) -> list[int]:
    """Lines that print by Python's own `print`, or write to a standard stream, past `pacs.base.terminal`."""
    tree = ast.parse(source)
    ours = any(
        isinstance(node, ast.ImportFrom) and node.module == TERMINAL and "print" in [name.name for name in node.names]
        for node in ast.walk(tree)
    )
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print")) if not ours:
                lines.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr"), attr="write")):
                lines.append(node.lineno)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="builtins"), attr="print")):
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("path", FILES, ids=str)
def test_what_is_printed_goes_through_the_terminal_s_own_module(path: PurePosixPath) -> None:
    """Text of others is obeyed by a terminal; `pacs.base.terminal.print` shows it instead."""
    own = (
        "pacs/base/terminal.py",
        "pacs/integration/compatibility/shown_config.py",
    )
    assert str(path) in own or bare_prints((ROOT / path).read_text()) == []


def test_the_checker_finds_what_is_printed() -> None:
    assert bare_prints("print(1)\nsys.stdout.write('x')\nbuiltins.print(2)") == [1, 2, 3]
    assert bare_prints("from pacs.base.terminal import print\nprint(1)") == []
