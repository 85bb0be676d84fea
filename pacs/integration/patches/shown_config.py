"""What verl shows of a run's config, and sends to loggers: without secrets."""

import builtins
import os
import pprint
from collections.abc import Callable
from functools import wraps
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.redaction import is_secret, redact, redacted
from pacs.runs.processes import TOKEN

#: What verl hands to a logger out of the config that it sends there.
OF_LOGGERS = ("trainer.wandb_proxy", "trainer.rl_insight")


def print_without_secrets(module: Any) -> None:
    """verl's task runner prints the whole config, its launcher what Ray is started with."""

    def print_redacted(*values: object, **options: Any) -> None:
        builtins.print(*(redact(str(value)) for value in values), **options)

    def pprint_redacted(value: object, **options: Any) -> None:
        pprint.pprint(redacted(value), **options)

    module.print, module.pprint = print_redacted, pprint_redacted


def log_without_secrets(module: Any) -> None:
    """verl's Tracking gives each logger the whole config."""
    module.Tracking.__init__ = _with_redacted_config(module.Tracking.__init__)


def _with_redacted_config(original: Callable[..., None]) -> Callable[..., None]:
    @wraps(original)
    def init(
        self: Any, project_name: str, experiment_name: str, default_backend: Any = "console", config: Any = None
    ) -> None:
        original(self, project_name, experiment_name, default_backend, redacted(config))

    return init


def logger_problem(config: DictConfig) -> str | None:
    """Why a logger would get a setting that does not work; None if none would."""
    for key in OF_LOGGERS:
        value = OmegaConf.select(config, key)
        plain = OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
        if redacted(plain, key) != plain:
            return (
                f"{key} has a password or another secret, which verl would send to the loggers with the whole config: "
                "give it in the environment (HTTPS_PROXY, or the logger's own variable)."
            )
    return None


def take_secrets_into_environment(variables: dict[str, str]) -> dict[str, str]:
    """Set the variables that are secret in this process, whose children Ray's are, and return the others.

    What `ray.init` is given Ray writes into its logs, which everyone on the machine can read.
    """
    # The start's own token is a name, by which its processes are found.
    secret = {n for n, value in variables.items() if n != TOKEN and (is_secret(n) or redact(value) != value)}
    os.environ.update({name: variables[name] for name in secret})
    return {name: value for name, value in variables.items() if name not in secret}
