"""A reward function that is not there: its file is read, and not run."""

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig

from pacs.base.suggestions import did_you_mean


def reward_function_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with `reward.custom_reward_function`, a sentence each with the setting and the mend."""
    reward = config.reward.custom_reward_function
    if reward.path is None:
        return
    key, path = "reward.custom_reward_function", str(reward.path)
    file = (
        _source_of(path.removeprefix("pkg://").replace("/", "."))
        if path.startswith("pkg://")
        else Path(path.removeprefix("file://")).expanduser()
    )
    if file is None or not file.is_file():
        yield f"{key}.path={path}: no such {'module' if file is None else 'file'}: give the file of the function."
        return
    try:
        names = defined_names(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError) as error:
        yield f"{key}.path={path} cannot be read as Python ({error}): mend the file."
        return
    if reward.name not in names and "*" not in names:
        yield f"{key}.name={reward.name}: {path} defines no such function.{did_you_mean(str(reward.name), names)}"


def _source_of(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def defined_names(source: str) -> set[str]:
    """The names that a source defines or imports, also within `if` and `try`; "*" if it imports all of a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names |= {alias.asname or alias.name for alias in imported}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names
