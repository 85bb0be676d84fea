"""Secrets of a run's config, which verl would show and send to loggers (see `registry`)."""

import os

from omegaconf import DictConfig, OmegaConf

from pacs.base.redaction import is_secret, redact, redacted
from pacs.runs.processes import TOKEN

#: What verl hands to a logger out of the config that it sends there.
OF_LOGGERS = ("trainer.wandb_proxy", "trainer.rl_insight")


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
