"""The list of files by which CONTRIBUTING.md leads through a training step."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 14
BEGIN = "## One training step, file by file"


def listed() -> list[str]:
    section = (ROOT / "CONTRIBUTING.md").read_text().split(BEGIN)[1].split("\n## ")[0]
    return re.findall(r"^\d+\. `([^`]+)`", section, flags=re.MULTILINE)


def imported(file: str) -> set[str]:
    """The files of `pacs` that a file imports names from, packages' own names followed to where they are defined."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pacs."):
            module = str(node.module).replace(".", "/")
            if (ROOT / f"{module}.py").exists():
                found.add(f"{module}.py")
            else:
                names = {alias.name for alias in node.names}
                found |= {f"{module}/{name}.py" for name in names if (ROOT / module / f"{name}.py").exists()}
                init = ast.parse((ROOT / module / "__init__.py").read_text())
                for inner in ast.walk(init):
                    if isinstance(inner, ast.ImportFrom) and names & {alias.name for alias in inner.names}:
                        found.add(str(inner.module).replace(".", "/") + ".py")
    return found


def test_it_is_short_and_each_file_is_met_in_one_before_it() -> None:
    files = listed()
    assert files[0] == "pacs/integration/trainer/step.py"
    assert 1 < len(files) <= MOST
    for place, file in enumerate(files[1:], start=1):
        # The workers are other processes: the trainer that starts them names their class and the loss.
        before = [*files[:place], "pacs/integration/trainer/method_trainer.py", "pacs/algorithm/names.py"]
        assert any(file in imported(other) for other in before), file


def test_all_that_the_step_calls_of_ours_is_on_it() -> None:
    tree = ast.parse((ROOT / "pacs/integration/trainer/step.py").read_text())
    step = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "training_step")
    called = {node.func.id for node in ast.walk(step) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pacs."):
            file = str(node.module).replace(".", "/") + ".py"
            if called & {alias.name for alias in node.names}:
                assert file in listed(), file
            defined |= {alias.name for alias in node.names}
    assert called - {"marked_timer"} <= defined
    assert len(ast.unparse(step).splitlines()) <= 80
