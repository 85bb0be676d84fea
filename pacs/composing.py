"""A run composed as `pacs train` composes it, for the commands that only look at it."""

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from pacs.base.errors import UserError
from pacs.base.paths import config_dir
from pacs.base.redaction import BLANK, is_secret
from pacs.base.suggestions import did_you_mean, nearest


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
    from pacs.integration import checks
    from pacs.integration.start import launch

    try:
        with initialize_config_dir(str(config_dir()), version_base=None):
            config = compose(name, overrides=list(overrides), return_hydra_config=True)
        hardware = config.hydra.runtime.choices.get("hardware")
        with open_dict(config):
            del config["hydra"]
        with redirect_stdout(sys.stderr):  # verl says there that all is well
            launch.prepare(config)
    except (HydraException, OmegaConfBaseException) as error:
        problem = composition_problem(error, ["--config-name", name, *overrides])
        raise UserError(f"the run cannot be composed:\n{problem}") from error
    except checks.ConfigError as error:
        raise UserError(f"the run could not start:\n{error}") from error
    return config, hardware


def composition_problem(error: Exception, arguments: Sequence[str]) -> str:
    """Hydra's or OmegaConf's complaint, with the nearest key for one that does not exist."""
    algorithm = _config_name(arguments)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file == algorithm:
        known = algorithms()
        return f"- --config-name {algorithm}: there are {', '.join(known)}.{did_you_mean(algorithm, known)}"
    if ambiguous := re.search(r"Ambiguous value for argument '(([^=]+)=\S+)'", str(error)):
        word, key = ambiguous.groups()
        if is_secret(key):  # whatever it holds, commas included
            word = f"{key}={BLANK}"
        return (
            f"- {word}: for a list write {key}=[...], for a text put it in quotes, for a run of each value use "
            f"`pacs sweep NAME {word}` (`pacs sweep` lists the names)."
        )
    cause = error.__cause__ or error
    unknown = re.search(r"full_key: (\S+)", str(cause))
    if unknown is None or "not in struct" not in str(cause):
        return f"- {error}"
    key = unknown.group(1)
    parent, _, name = key.rpartition(".")
    siblings = cause.parent_node if isinstance(cause, OmegaConfBaseException) else None
    prefix = f"{parent}." if parent else ""
    near = [prefix + other for other in nearest(name, siblings or (), count=3)]
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"- There is no key {key}.{hint} (`pacs train --cfg job` prints them all; +{key}=... would add it.)"


def _config_name(arguments: Sequence[str]) -> str:
    for i, argument in enumerate(arguments):
        if argument in ("--config-name", "-cn"):
            return arguments[i + 1]
        if argument.startswith("--config-name="):
            return argument.split("=", 1)[1]
    return "pacs"


def algorithms() -> list[str]:
    """The primary configs."""
    return sorted(file.stem for file in config_dir().glob("*.yaml"))


def quoted(text: str) -> str:
    """A text in Hydra's grammar."""
    if re.fullmatch(r"[\w./+-]+", text):
        return text
    return "'" + re.sub(r"(\\*)'", r"\1\1\\'", text) + "'"
