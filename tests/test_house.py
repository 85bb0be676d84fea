"""Rules of the house: imports, where verl's keys may stand, how long a file may be, how text is printed, and names.

Only `pacs/integration/` imports verl, and `pacs/algorithm/` knows torch, pydantic and `pacs/base/` alone. verl's
settings and metrics are named there and in `pacs/verl_keys/`.
"""

import ast
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

import pytest

from pacs.base.run_folder import RunFolder
from tests.house import (
    FILES,
    INTEGRATION_LAYERS,
    LAYERS,
    PAGE,
    ROOT,
    code_lines,
    imported_modules,
    layer_of,
    used_layers,
    with_drawing,
)

TERMINAL = "pacs.base.terminal"
ONLY_IN_INTEGRATION = {"verl", "transfer_queue"}


def text_of(path: PurePosixPath) -> str:
    return (ROOT / path).read_text()


def violations(rule: Callable[[PurePosixPath], Sequence[object]]) -> dict[str, list[object]]:
    """Of all files: what a rule finds in each."""
    return {str(path): list(found) for path in FILES if (found := rule(path))}


def forbidden_imports(source: str, path: PurePosixPath) -> list[str]:
    """The imports of a file that break a rule."""
    allowed_in_algorithm = {"torch", "pydantic", *sys.stdlib_module_names}
    forbidden = []
    for module in imported_modules(source, path):
        top = module.split(".")[0]
        foreign = top not in allowed_in_algorithm and not f"{module}.".startswith(("pacs.algorithm.", "pacs.base."))
        if (path.is_relative_to("pacs/algorithm") and foreign) or (
            top in ONLY_IN_INTEGRATION and not path.is_relative_to("pacs/integration")
        ):
            forbidden.append(module)
    return forbidden


def test_imports_keep_the_rules() -> None:
    assert violations(lambda path: forbidden_imports(text_of(path), path)) == {}


def test_the_checker_sees_the_real_files() -> None:
    """It finds the algorithm's torch and the integration's verl, so that finding nothing means something."""
    seen = {path: list(imported_modules(text_of(path), path)) for path in FILES}
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


def test_no_import_goes_upwards() -> None:
    assert violations(lambda path: upward_imports(text_of(path), path)) == {}


def upward_imports_inside(source: str, path: PurePosixPath) -> list[str]:
    """The imports of a file of `pacs/integration/` that lie in a layer there above its own, or in none."""
    package = "pacs.integration"
    layer = layer_of(".".join(path.with_suffix("").parts), package)
    if layer in (None, "__init__"):
        return []
    below = {None, *INTEGRATION_LAYERS[: INTEGRATION_LAYERS.index(str(layer)) + 1]}
    return [module for module in imported_modules(source, path) if layer_of(module, package) not in below]


def test_no_import_inside_integration_goes_upwards() -> None:
    assert violations(lambda path: upward_imports_inside(text_of(path), path)) == {}
    found = upward_imports_inside(
        "from pacs.integration import checks", PurePosixPath("pacs/integration/trainer/bad.py")
    )
    assert found == ["pacs.integration.checks"]
    parts = {path.parts[2].removesuffix(".py") for path in FILES if path.is_relative_to("pacs/integration")}
    assert parts - {"__init__"} == set(INTEGRATION_LAYERS)


def test_one_file_names_what_a_runs_folder_holds() -> None:
    names = {name for name in RunFolder.FILES if "." in name} - {RunFolder.CONFIG} | {RunFolder.FAILED_PROMPT}

    def spelt(path: PurePosixPath) -> list[str]:
        texts = (node.value for node in ast.walk(ast.parse(text_of(path))) if isinstance(node, ast.Constant))
        return [str(text) for text in texts if text in names]

    assert len(names) > 5
    assert set(violations(spelt)) == {"pacs/base/run_folder.py"}


def test_lines_of_code_are_counted_without_words() -> None:
    source = (
        '"""Doc.\n\nMore."""\n\n# why\nx = [\n    1,  # one\n]\n\n\ndef f():\n    """Doc."""\n    return """a\nb"""\n'
    )
    assert code_lines(source) == 3 + 1 + 2


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
        ("importlib.import_module('pacs.sweeps.grid')", "pacs/integration/launch/bad.py"),
        ("from pacs import nowhere", "pacs/cli.py"),
    ],
)
def test_the_checker_finds_an_upward_import(line: str, path: str) -> None:
    assert len(upward_imports(line, PurePosixPath(path))) == 1
    assert upward_imports("from pacs.base import files\nimport torch", PurePosixPath(path)) == []


def test_a_file_can_be_read_in_one_go() -> None:
    def too_long(path: PurePosixPath) -> list[str]:
        lines, most = len(text_of(path).splitlines()), 150 if path.is_relative_to("pacs/algorithm") else 250
        return [f"{lines} lines of {most}"] if lines > most else []

    assert violations(too_long) == {}


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


def test_what_is_printed_goes_through_the_terminal_s_own_module() -> None:
    """Text of others is obeyed by a terminal; `pacs.base.terminal.print` shows it instead."""
    may_print = (
        "pacs/base/terminal.py",
        "pacs/integration/patches/registry.py",  # what verl prints, without secrets
    )
    assert violations(lambda path: [] if str(path) in may_print else bare_prints(text_of(path))) == {}


def test_the_checker_finds_what_is_printed() -> None:
    assert bare_prints("print(1)\nsys.stdout.write('x')\nbuiltins.print(2)") == [1, 2, 3]
    assert bare_prints("from pacs.base.terminal import print\nprint(1)") == []


VERLS_PLACES = ("pacs/integration", "pacs/verl_keys")
SECTIONS = ("actor_rollout_ref", "trainer", "data", "algorithm", "critic", "reward", "ray_kwargs")
METRICS = "critic|actor|timing_s|response_length|prompt_length|val-core|perf|training|rollout_corr"
#: A setting's name or glob, also as a word of a command (`+data.seed=1`), and a metric's name or pattern: a text, or a
#: part of an f-string, that is nothing else. Prose that names a key for the user to change has spaces; `reward.yaml` is
#: a file.
KEY = re.compile(rf"\+{{0,2}}({'|'.join(SECTIONS)})(?!\.yaml)(\.[\w*]+)+\.?(=\S*)?|\S*(?<![\w/])({METRICS})/\S*")


def verl_keys(source: str) -> list[int]:
    """Lines that have a key of verl's: in a string of its own, or as an attribute or an item of a config."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Constant(value=str(text)) if KEY.fullmatch(text):
                lines.append(node.lineno)
            case (
                ast.Attribute(value=ast.Name(id=base) | ast.Attribute(attr=base), attr=section)
                | ast.Subscript(
                    value=ast.Name(id=base) | ast.Attribute(attr=base), slice=ast.Constant(value=str(section))
                )
            ) if base in {"config", "settings"} and section in SECTIONS:
                lines.append(node.lineno)
    return lines


def test_verl_s_keys_are_in_verl_s_places() -> None:
    """A new verl that renames one touches these alone."""

    def keys(path: PurePosixPath) -> list[int]:
        return [] if any(map(path.is_relative_to, VERLS_PLACES)) else verl_keys(text_of(path))

    assert violations(keys) == {}


@pytest.mark.parametrize(
    "line",
    [
        "config.trainer.nnodes",
        "run.config.data.seed",
        "self.config.reward",
        "settings['critic']",
        "select(config, 'trainer.v1.trainer_mode')",
        "['trainer.max_*_ckpt_to_keep']",
        "'reward.custom_reward_function.reward_kwargs.'",
        "'+data.seed=1'",
        "f'trainer.nnodes={nodes}'",
        "f'critic.model.path={path} is not there'",
        "run.series('critic/score/mean')",
        "r'pacs/.+|val-core/.+'",
        "f'timing_s/{phase}'",
    ],
)
def test_the_checker_finds_verl_s_keys(line: str) -> None:
    assert verl_keys(line) == [1]


@pytest.mark.parametrize(
    "line",
    [
        "'raise trainer.nnodes, or wait'",
        "f'lower trainer.n_gpus_per_node={wanted}, or wait'",
        "config.run.dir",
        "card.data.to_dict()",
        "'pacs/critic/accuracy_fraction'",
        "'pacs.data.load'",
        "'reward.yaml'",
        "'critic'",
    ],
)
def test_the_checker_lets_prose_and_our_own_names_pass(line: str) -> None:
    assert verl_keys(line) == []


#: Words that do not say what a thing is: as the name of one they send a reader to look for it.
UNTELLING = {"counted", "own", "rest", "seen", "taking_part", "whole"}


def untelling_names(source: str) -> list[str]:
    """Variables, arguments, functions, classes and attributes that are called so and no more."""
    names = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.append(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.append(name)
    return [name for name in names if name.strip("_").lower() in UNTELLING]


def test_names_say_what_they_hold() -> None:
    files = [path for folder in ("pacs", "recipes", "benchmarks") for path in sorted((ROOT / folder).rglob("*.py"))]
    assert {str(path): names for path in files if (names := untelling_names(path.read_text()))} == {}


def test_the_checker_finds_names_that_do_not_say_it() -> None:
    source = "own = 1\nself.seen = 2\ndef _rest(whole): ...\nclass Counted: ...\nown_text, seen_before = ours.own, 3"
    assert sorted(untelling_names(source)) == ["Counted", "_rest", "own", "seen", "whole"]
