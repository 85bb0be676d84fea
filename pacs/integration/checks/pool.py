"""What a pool of prompts (`run.rollouts.pool`) needs of a config, of the data and of the model."""

from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.data.rates import Rates, rates_file, read_rates
from pacs.evaluation.model import model_sha256
from pacs.integration.checks.data_rows import Note
from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.runs.settings import PoolSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import draws_from_pool, policy_path, train_files

RATES = "run.rollouts.pool.rates=true"
#: What is believed of a problem of which nothing is known.
UNKNOWN = 0.5
OF_A_TARGET = ("target", "final_target", "curriculum_steps")


@spelled
def pool_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the settings of a pool; a sentence each."""
    yield from feature_problems(config, "run.rollouts.pool.weights")
    if not draws_from_pool(config):
        return
    try:
        settings = PoolSettings.from_mapping(plain(config.run.rollouts)["pool"])
    except ValueError:  # said of the section `run`
        return
    if not settings.low < settings.high:
        yield "@run.rollouts.pool.low= is not below @run.rollouts.pool.high=: lower it, or raise the other."
    elif not settings.rates and not settings.low <= UNKNOWN <= settings.high:
        yield (
            "@run.rollouts.pool.low= and @run.rollouts.pool.high= leave out 0.5, which is believed of every problem as "
            "long as nothing is known: set run.rollouts.pool.rates=true (after `pacs data rate`), or widen them."
        )
    default = PoolSettings()
    targets = [name for name in OF_A_TARGET if getattr(settings, name) != getattr(default, name)]
    if targets and settings.weights != "target":
        yield (
            f"@run.rollouts.pool.{targets[0]}= is not read with @run.rollouts.pool.weights=: set weights=target, or "
            "leave this out."
        )
    elif (settings.final_target is None) != (settings.curriculum_steps is None):
        yield (
            "@run.rollouts.pool.final_target= and @run.rollouts.pool.curriculum_steps= go together: set both, or leave "
            "both out."
        )
    if not config.data.shuffle:
        yield (
            "@data.shuffle= asks for the data's own order, and @run.rollouts.pool.weights= draws: leave one of them "
            "out."
        )
    if settings.rates and (config.data.get("custom_cls") or {}).get("path") is not None:
        yield (
            "@run.rollouts.pool.rates=: rates are of the rows of verl's own dataset, and this run has "
            "@data.custom_cls.path=: leave one of them out (without rates the pool learns them)."
        )


def rates_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the rates beside the data, a sentence each with the mend; nothing where none are asked for."""
    for file, rates in _rates(config):
        command = f"pacs data rate {policy_path(config)} --data {file}"
        if isinstance(rates, UserError):
            yield f"{RATES}: {rates}: run `{command}`, or set it to false: the pool then learns them."
        elif rates.data_sha256 != file_sha256(file):
            yield (
                f"{RATES}: {rates_file(file)} is of other data (sha256 {rates.data_sha256[:12]}) than {file} is now: "
                f"rate the data again (`{command}`, with another --out if it asks for one), or set it to false."
            )


def note_rated_model(config: DictConfig, note: Note) -> None:
    """Warn of rates that are another model's, as far as the run's model is a folder here."""
    rated = {rates.model_sha256: rates.model for _, rates in _rates(config) if isinstance(rates, Rates)}
    folder = Path(policy_path(config)).expanduser()
    if not rated or not folder.is_dir():
        return
    for digest in rated.keys() - {model_sha256(folder)}:
        note(
            f"warning: {RATES}: the rates are of another model ({rated[digest]}, sha256 "
            f"{digest[:12]}) than {folder}: the pool begins with what that one solves"
        )


def _rates(config: DictConfig) -> Iterator[tuple[Path, Rates | UserError]]:
    """The rates of each file that is here, or why they cannot be read."""
    pool = config.run.rollouts.pool
    for file in map(Path, train_files(config) if draws_from_pool(config) and pool.rates else []):
        file = file.expanduser()
        try:
            yield file, read_rates(rates_file(file))
        except UserError as error:
            yield file, error
