"""A run composed as `pacs train` composes it, for the commands that only look at it."""

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from pacs.paths import config_dir
from pacs.training import composition_problem


class CompositionError(ValueError):
    """The run cannot be composed, or not be started as it is; the message says what to change."""


def compose_run(name: str, overrides: Sequence[str]) -> tuple[DictConfig, str | None]:
    """Compose and check a run; nothing of the machine is looked at.

    Args:
        name: of the primary config.
        overrides: Hydra's.

    Returns:
        The config, and the option of its group `hardware`.

    Raises:
        CompositionError: it cannot be.
    """
    from pacs.integration import checks, launch

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
        raise CompositionError(f"the run cannot be composed:\n{problem}") from error
    except checks.ConfigError as error:
        raise CompositionError(f"the run could not start:\n{error}") from error
    return config, hardware


def quoted(text: str) -> str:
    """A text in Hydra's grammar."""
    if re.fullmatch(r"[\w./+-]+", text):
        return text
    return "'" + re.sub(r"(\\*)'", r"\1\1\\'", text) + "'"
