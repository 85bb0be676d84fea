"""What values of a response's steps (`run.rollouts.vine`) need of a config."""

from collections.abc import Iterator

from omegaconf import DictConfig

from pacs.algorithm.vineppo import STEP_VALUE
from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import method_in
from pacs.verl_keys.config import method, trains_completions, values_steps


@spelled
def vine_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whose steps are to be valued by completions; a sentence each."""
    yield from feature_problems(config, "run.rollouts.vine.completions")
    if trains_completions(config):
        yield from _group_problems(config)
    elif values_steps(config) and not config.run.rollouts.vine.get("train_completions") and not _is_read(config):
        yield (
            "@run.rollouts.vine.completions=: the method reads no values of steps, and the completions would be for "
            "nothing: use --config-name vineppo, train on them (run.rollouts.vine.train_completions=true), or leave "
            "it out."
        )


def _group_problems(config: DictConfig) -> Iterator[str]:
    """Of completions that are trained on."""
    given, vine = "@run.rollouts.vine.train_completions=", config.run.rollouts.vine
    if method(config) != "pacs":
        yield f"{given}: verl's own algorithms, as {method(config)}, compare a prompt's rows: use a method of ours."
        return
    if _is_read(config):
        yield f"{given}: this method credits steps by their values, and there are none: leave it out, or use pacs."
        return
    try:
        least = method_in(config).smallest_group
    except ValueError:  # another check says what is wrong with the method
        return
    if vine.completions < least:
        yield f"@run.rollouts.vine.completions=: this method compares at least {least} of a prefix: sample more."
    if vine.most_steps < 2:
        yield f"{given} with @run.rollouts.vine.most_steps=: a response in one step has no prefix: raise that."
    yield from feature_problems(config, "run.rollouts.vine.train_completions")


def _is_read(config: DictConfig) -> bool:
    if method(config) != "pacs":
        return False
    try:
        return STEP_VALUE in method_in(config).reads
    except ValueError:  # another check says what is wrong with the method
        return True
