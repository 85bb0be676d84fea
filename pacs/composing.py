"""A run composed as `pacs train` composes it, for the commands that only look at it."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from pacs.base.errors import UserError, did_you_mean, nearest
from pacs.base.moved_keys import move_old_section, new_key, renamed
from pacs.base.paths import config_dir, verl_configs
from pacs.base.redaction import BLANK, is_secret
from pacs.verl_keys import names

#: The class of ours that is trained with; a primary config names its own.
METHOD = "method.name"
#: Folders of configs/ that a run takes nothing from by name.
NOT_GROUPS = frozenset({"shared", "sweep"})
#: Losses and trainers of verl that are no primary config, and why.
LEFT_OUT = {
    "colocate_async": "a setting of every method's here: set run.rollouts.partial.ahead=0.5 beside --config-name",
    "geo_mean": "verl takes a plain mean over each micro-batch, so that the gradient depends on how rows are packed: "
    "use --config-name gspo, whose ratio is a response's, too",
    "grpo_passk": "it is pass_at_k here: use --config-name pass_at_k",
    "separate_async": "a setting of every method's here: set actor_rollout_ref.rollout.nnodes=1 (docs/scaling.md)",
    "remax": "verl's V1 trainer samples no greedy response to compare with: use --config-name rloo",
}


def compose_run(name: str, overrides: Sequence[str]) -> tuple[DictConfig, str | None]:
    """Compose and check a run; nothing of the machine is looked at.

    Args:
        name: of the primary config.
        overrides: Hydra's.

    Returns:
        The config, and the option of its group `hardware`.

    Raises:
        UserError: it cannot be.
    """
    from pacs.integration.checks import run as checks
    from pacs.integration.launch import launcher

    overrides = renamed(overrides)
    if unread := override_problems(overrides):
        raise UserError("the run cannot be composed:\n" + "\n".join(f"- {problem}" for problem in unread))
    try:
        with initialize_config_dir(str(config_dir()), version_base=None):
            config = compose(name, overrides=list(overrides), return_hydra_config=True)
            wrong = kind_problems(config, name, overrides)
        hardware = config.hydra.runtime.choices.get("hardware")
        with open_dict(config):
            del config["hydra"]
        if wrong:
            raise checks.ConfigError(wrong)
        launcher.prepare(config)
    except (HydraException, OmegaConfBaseException) as error:
        problem = composition_problem(error, ["--config-name", name, *overrides])
        raise UserError(f"the run cannot be composed:\n{problem}") from error
    except checks.ConfigError as error:
        raise UserError(f"the run could not start:\n{error}") from error
    return config, hardware


def composition_problem(error: Exception, arguments: Sequence[str]) -> str:
    """Hydra's or OmegaConf's complaint, with the nearest key for one that does not exist."""
    chosen = get_args_parser().parse_known_args(arguments)[0].config_name
    algorithm = "pacs" if chosen is None else chosen
    if isinstance(error, MissingConfigException) and error.missing_cfg_file == algorithm:
        known = algorithms()
        if algorithm in LEFT_OUT:
            return f"- --config-name {algorithm}: {LEFT_OUT[algorithm]}."
        return f"- --config-name {algorithm}: there are {', '.join(known)}.{did_you_mean(algorithm, known)}"
    options_of = r"Could not find '([^'/]+)/([^']+)'\s+Available options in '\1':\n((?:\t\S+\n?)+)"
    if lacking := re.search(options_of, str(error)):
        group, name, options = lacking[1], lacking[2], lacking[3].split()
        return f"- {group}={name}: there are {', '.join(options)}.{did_you_mean(name, options)}"
    if ambiguous := re.search(r"Ambiguous value for argument '(([^=]+)=\S+)'", str(error)):
        word, key = ambiguous.groups()
        if is_secret(key):  # whatever it holds, commas included
            word = f"{key}={BLANK}"
        sweep = f"for a run of each value use `pacs sweep NAME {word}` (`pacs sweep` lists the names)"
        return f"- {word}: for a list write {key}=[...], for a text put it in quotes, {sweep}."
    cause = error.__cause__ or error
    unknown = re.search(r"full_key: (\S+)", str(cause))
    if unknown is None or "not in struct" not in str(cause):
        return f"- {error}"
    key = unknown.group(1)
    if key == "method":  # a config of verl's own methods has no such section: the setting that was meant
        written = (word.partition("=")[0].lstrip("+") for word in arguments)
        key = next((word for word in written if word.startswith("method.")), key)
    method = next((word.split("=", 1)[1] for word in arguments if re.match(rf"\+*{METHOD}=", word)), "")
    if key == METHOD:
        of_ours = "a class of yours is trained with --config-name pacs."
        return f"- {METHOD}={method}: {of_ours if '.' in method else _by_name(method)}"
    if "." not in method and (other := _of_another_method(key, algorithm)):
        return f"- {other}"
    parent, _, name = key.rpartition(".")
    siblings = cause.parent_node if isinstance(cause, OmegaConfBaseException) else None
    near = [f"{parent}.{other}".removeprefix(".") for other in nearest(name, siblings or (), count=3)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    # `run` takes no more keys, nor does a method of ours; a class of the user's may.
    section = key.partition(".")[0]
    added = section != "run" and (section != "method" or "." in method or algorithm not in algorithms())
    add = f"; +{key}=... would add it" if added else ""
    return f"- There is no key {key}.{hint} (`pacs train --cfg job` prints them all{add}.)"


def _of_another_method(key: str, algorithm: str) -> str | None:
    """A sentence about a key that is a setting of methods, but not of a config of ours; None of any other."""
    from pacs.algorithm import METHODS  # torch is slow to import

    readers = [name for name, method in METHODS.items() if _field(key) in method.model_fields]
    if not readers or algorithm in readers or algorithm not in algorithms():
        return None
    unread = f"{key} is a setting of {', '.join(readers)}, and --config-name {algorithm} does not read it"
    return f"{unread}: leave it out, or use --config-name {readers[0]}."


def _field(key: str) -> str | None:
    """The setting of `method` that a key is of, or is."""
    section, _, inner = key.partition(".")
    return inner.partition(".")[0] if section == "method" and inner else None


def override_problems(words: Sequence[str]) -> list[str]:
    """What is wrong with overrides as they are written, a sentence each; nothing is composed."""
    problems = []
    for word in words:
        key, equals, value = word.partition("=")
        if not key:
            problems.append(f"'{word}' names no key: write key=value, or leave it out.")
            continue
        if key.startswith(("hydra.run.", "hydra.sweep.")):
            problems.append(f"{key}: Hydra makes no folder here: leave it out; a run's folder is run.dir.")
            continue
        if not equals and not key.startswith("~"):
            chosen = [f"{group}={key}" for group, options in reversed(groups().items()) if key in options]
            chosen += [f"--config-name {key}"] if key in algorithms() else []
            problems.append(f"{key}: what is it to be? Write {' or '.join(chosen) or f'{key}=VALUE'}.")
            continue
        try:
            (override,) = OverridesParser.create().parse_overrides([word])
        except HydraException as error:
            shown = BLANK if is_secret(key) else f"{value} cannot be read ({str(error).splitlines()[0]})"
            problems.append(f"{key}: its value {shown}: put a text in quotes, \"{key}='...'\".")
            continue
        if override.is_delete() or override.is_sweep_override() or isinstance(override.value(), str | list):
            continue
        if (name := str(override.key_or_group)) in groups():
            problems.append(f"{word}: there are {', '.join(groups()[name])}.")
        elif Path(verl_configs(), name).is_dir():  # Hydra takes it for a group, too
            problems.append(f"{word}: it is a section: set keys in it, as {name}.KEY=VALUE, or leave it out.")
    return problems


def kind_problems(config: DictConfig, name: str, overrides: Sequence[str]) -> list[str]:
    """Overrides whose values are not what may stand there, a sentence each: of another kind, or another config's.

    Args:
        config: composed with them.
        name: of the primary config, which Hydra, initialized, finds.
        overrides: Hydra's.
    """
    given = OverridesParser.create().parse_overrides(list(overrides))
    groups = [override for override in given if (config_dir() / str(override.key_or_group)).is_dir()]
    plain = _defaults(config_dir(), name, tuple(str(override.input_line) for override in groups))
    problems = []
    own_class = "." in str(OmegaConf.select(config, METHOD))
    for key in dict.fromkeys(new_key(str(override.key_or_group)) for override in given if override not in groups):
        default, value = (OmegaConf.select(each, key) for each in (plain, config))
        null = "." in key and (not isinstance(default, DictConfig) or names.may_be_null(key))
        if (words := _other_kind(default, value, null=null)) is not None and key not in names.NUMBER_OR_TEXT:
            problems.append(f"{key}={'null' if value is None else value}: {words}.")
        elif not own_class and (field := _field(key)) and field not in (OmegaConf.select(plain, "method") or {}):
            problems += [other] if (other := _of_another_method(key, name)) else []
    for key in (METHOD, names.METHOD):
        value = OmegaConf.select(config, key)
        if value != OmegaConf.select(plain, key) and not (key == METHOD and own_class):
            yours = f", or a class of yours by {METHOD}=my.module.Loss" if key == METHOD else ""
            problems.append(f"{key}={value}: {_by_name(str(value), yours)}")
    return problems


@cache
def _defaults(_: Path, name: str, groups: tuple[str, ...]) -> DictConfig:
    """The config without overrides of keys; a sweep asks for the same one for each of its runs."""
    plain: DictConfig = compose(name, overrides=list(groups))
    move_old_section(plain)
    return plain


def _by_name(algorithm: str, otherwise: str = "") -> str:
    """How to choose what a word was to choose, in a sentence."""
    known = algorithms()
    if algorithm in known:
        return f"its settings are in a primary config: use --config-name {algorithm} instead."
    if algorithm in LEFT_OUT:
        return f"{LEFT_OUT[algorithm]}."
    choice = f"choose by --config-name one of {', '.join(known)}{otherwise}"
    return f"there is none of this name; {choice}.{did_you_mean(algorithm, known)}"


def _other_kind(default: Any, value: Any, *, null: bool) -> str | None:
    """What to use in place of `value`, in words; None where its kind is the default's, or either may be none."""
    if default is None or (value is None and null):
        return None
    if isinstance(default, DictConfig) and not isinstance(value, DictConfig):
        return f"it is a section: set a key in it ({', '.join([*map(str, list(default)[:3]), '...'])}), or leave it out"
    if isinstance(default, bool) != isinstance(value, bool) and not isinstance(default, DictConfig):
        return "use true or false" if isinstance(default, bool) else f"use a value like {default}, not true or false"
    if isinstance(default, int | float) and not isinstance(value, int | float):
        return f"use a number, as {default}"
    if isinstance(default, ListConfig) and not isinstance(value, ListConfig | str):
        return f"use a list, as [{','.join(map(str, default))}]"
    return None


def algorithms() -> list[str]:
    """The primary configs."""
    return sorted(file.stem for file in config_dir().glob("*.yaml"))


def groups() -> dict[str, list[str]]:
    """The config groups of a run, each with its options."""
    folders = sorted(path for path in config_dir().iterdir() if path.is_dir() and path.name not in NOT_GROUPS)
    return {folder.name: sorted(file.stem for file in folder.glob("*.yaml")) for folder in folders}


def without_dashes(option: str) -> str:
    """How a setting is written that was given as an option; nothing of what is no setting."""
    key = option.partition("=")[0].lstrip("-")
    return f" A setting is written without dashes: {key}=VALUE." if key in groups() or "." in key else ""


def quoted(text: str) -> str:
    """A text in Hydra's grammar."""
    if re.fullmatch(r"[\w./+-]+", text, re.ASCII):
        return text
    return str(QuotedString(text, Quote.single).with_quotes())
