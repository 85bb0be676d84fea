"""Keys that have moved: what was `pacs.*` is `method.*` and `run.*`. The old names go on working for one release."""

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml
from omegaconf import DictConfig, OmegaConf, open_dict

from pacs.base.errors import UserError
from pacs.base.settings import flatten
from pacs.base.terminal import print

#: The section that was divided.
OLD = "pacs"
#: Its keys that are about a run, by their new names; all others are the method's.
_OF_THE_RUN = {
    "run_dir": "dir", "sample_groups": "sample_groups", "reasoning": "reasoning", "rollouts": "rollouts",
    "faults": "faults", "resume": "resume",
}  # fmt: skip

#: A package of ours that a run's config names (`rollout.agent.agent_loop_manager_class`).
_OLD_PACKAGE, _NEW_PACKAGE = "pacs.integration.compatibility.", "pacs.integration.patches."
#: Classes that it names in the same way, and the one that stands for them.
_MANAGERS = ("seeded_rollouts.SeededAgentLoopManager", "dars_rollouts.DarsAgentLoopManager")
_MANAGER = f"{_NEW_PACKAGE}agent_loops.Manager"
#: What is said of a config that has the old section.
SECTIONS_NOTE = (
    "the section `pacs` of your config goes with the next release: the run's keys (run_dir as `dir`, sample_groups, "
    "reasoning, rollouts, faults, resume) stand under `run` now, the method's under `method` (`method` as `name`)."
)


def new_key(key: str) -> str:
    """`method.beta` of `pacs.beta`, `run.dir` of `pacs.run_dir`; any other key as it is."""
    section, dot, setting = key.partition(".")
    if section != OLD or not dot:
        return key
    first, dot, below = setting.partition(".")
    if first in _OF_THE_RUN:
        return f"run.{_OF_THE_RUN[first]}{dot}{below}"
    return "method.name" if setting == "method" else f"method.{setting}"


def with_new_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config in which the old section's values stand at their new places.

    Args:
        config: nested, as YAML has it: of a run by an earlier version, or composed from a user's files. Interpolations
            of old keys are rewritten, too. A value of the old section wins over one at its new place.
    """
    moved: dict[str, Any] = _interpolations({key: value for key, value in config.items() if key != OLD})
    old = config.get(OLD)
    for key, value in (_interpolations(old) if isinstance(old, Mapping) else {}).items():
        *parents, name = new_key(f"{OLD}.{key}").split(".")
        section = moved
        for parent in parents:
            section = section.setdefault(parent, {})
        section[name] = _merged(section.get(name), value)
    return moved


def with_new_names(words: Sequence[str], kept: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Hydra's overrides with the names that their keys have in the composed config, and a note on each that is old.

    Args:
        words: `key=value`, with Hydra's prefixes.
        kept: keys of the old section that a user's config still declares: their overrides, old or new, must name them
            as that file does, for Hydra to find them.
    """
    files = {new_key(f"{OLD}.{key}"): f"{OLD}.{key}" for key in kept}
    renamed, notes = [], []
    for word in words:
        if re.match(rf"(\+\+?)?{OLD}=", word):
            raise UserError(f"{word.lstrip('+')} is no section: its keys are method.* and run.* now.")
        found = re.match(r"(\+\+?|~)?([\w.]+)(.*)", word, flags=re.DOTALL)
        if found is None:
            renamed.append(word)
            continue
        prefix, key, value = found.groups(default="")
        new = new_key(key)
        if new != key:
            notes.append(f"{key} is called {new} now; the old name goes with the next release.")
        renamed.append(f"{prefix}{files.get(new, new)}{value}")
    return renamed, notes


def renamed(words: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Overrides by the names that their keys have in the composed config; old names are noted on stderr.

    Args:
        words: Hydra's.
        options: of Hydra's, whose `--config-dir` may have configs that still have the section `pacs`.
    """
    kept: set[str] = set()
    for folder in _config_folders(options):
        for file in (*folder.glob("*.yaml"), *folder.glob("*/*.yaml")):  # primary configs, and options of groups
            kept.update(flatten(_old_section(file)))
    names, notes = with_new_names(words, kept)
    for note in notes:
        print(f"pacs: {note}", file=sys.stderr)
    return names


def move_old_section(config: DictConfig) -> bool:
    """Put what a user's file still says under `pacs` where it belongs, in place; whether there was such a section."""
    before = OmegaConf.to_container(config, resolve=False)
    assert isinstance(before, dict)
    after = with_new_keys({str(key): value for key, value in before.items() if key != "hydra"})
    with open_dict(config):
        config.pop(OLD, None)
        for key, value in after.items():
            if value != before.get(key):
                config[key] = value
    return OLD in before


def _merged(there: Any, value: Any) -> Any:
    if not (isinstance(there, Mapping) and isinstance(value, Mapping)):
        return value
    return {**there, **{key: _merged(there.get(key), below) for key, below in value.items()}}


def _interpolations(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _interpolations(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_interpolations(value) for value in node]
    if isinstance(node, str) and node.startswith((_OLD_PACKAGE, _NEW_PACKAGE)):
        return _MANAGER if node.endswith(_MANAGERS) else node.replace(_OLD_PACKAGE, _NEW_PACKAGE)
    if isinstance(node, str) and f"{OLD}." in node:
        # A resolver of ours (`${pacs.sum:...}`) has a colon behind its name.
        return re.sub(r"(\$\{(?:oc\.select:)?)(pacs\.[\w.]+)(?=[},])", lambda m: m[1] + new_key(m[2]), node)
    return node


def _old_section(file: Path) -> Mapping[str, Any]:
    """What a config says under `pacs`; of a file that cannot be read nothing: Hydra says so, if it is the run's."""
    try:
        text = file.read_text(encoding="utf-8")
        content = yaml.safe_load(text) if re.search(rf"^{OLD}:", text, flags=re.MULTILINE) else None
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    section = content.get(OLD) if isinstance(content, dict) else None
    return section if isinstance(section, dict) else {}


def _config_folders(options: Sequence[str]) -> list[Path]:
    """Of the option `--config-dir`."""
    given = [word.partition("=")[2] for word in options if word.startswith("--config-dir=")]
    given += [following for word, following in pairwise(options) if word in ("--config-dir", "-cd")]
    return [Path(folder) for folder in given]
