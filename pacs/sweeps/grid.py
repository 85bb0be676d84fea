"""The runs of a sweep, composed over the grid of Hydra's multirun, and named."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from pacs.base.errors import UserError
from pacs.base.moved_keys import renamed
from pacs.base.paths import config_dir
from pacs.base.settings import short_names
from pacs.composing import METHOD, composition_problem, override_problems, quoted
from pacs.sweeps.definition import Sweep
from pacs.verl_keys.config import total_steps
from pacs.verl_keys.names import DATA_SEED, ROLLOUT_SEED, RUN_NAME
from pacs.verl_keys.names import METHOD as TRAINER

#: What the sweep sets for each run.
OURS = ("run.dir", RUN_NAME)


@dataclass
class PlannedRun:
    """A run of a sweep.

    Attributes:
        algorithm: its primary config.
        settings: swept key -> value, as text; of several algorithms also "algorithm".
        folder: of the run.
        overrides: with which `pacs train` is this run.
        config: composed.
        step: that it has reached, on the disk.
        elsewhere: what results.json says of it, if it was trained elsewhere (`pacs.sweeps.check`).
    """

    algorithm: str
    settings: dict[str, str]
    folder: Path
    overrides: list[str]
    config: DictConfig
    step: int = field(default=0)
    elsewhere: dict[str, Any] | None = field(default=None)

    @property
    def total_steps(self) -> int:
        """Where it ends."""
        steps = total_steps(self.config)
        assert steps is not None
        return steps

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to train."""
        return self.elsewhere is not None or self.step >= self.total_steps

    @property
    def label(self) -> str:
        """What tells it from the others."""
        return label_of(self.settings) or self.algorithm

    @property
    def command(self) -> list[str]:
        """That is this run alone."""
        return ["pacs train", "--config-name", self.algorithm, *self.overrides]


def label_of(settings: dict[str, str]) -> str:
    """Settings as one says them: "beta=0.5, seed=1"."""
    names = short_names(settings)
    return ", ".join(value if key == "algorithm" else f"{names[key]}={value}" for key, value in settings.items())


def recipe_of(sweep: Sweep, given: Sequence[str]) -> str:
    """The recipe that the runs have: the one given last, or the sweep's own."""
    return next((word.partition("=")[2] for word in reversed(given) if word.startswith("recipe=")), sweep.recipe)


def plan_runs(
    sweep: Sweep, given: Sequence[str], out: Path, algorithms: Sequence[str] | None = None
) -> list[PlannedRun]:
    """Compose the runs of a sweep.

    Args:
        sweep: what it varies.
        given: overrides of the user; one of a key that the sweep varies takes its values' place.
        out: the sweep's folder.
        algorithms: those of the sweep's to take (default: all). A run's name is the same either way.

    Raises:
        UserError: they cannot be composed, or two of them would have one folder.
    """
    given = renamed(given)
    if unread := override_problems(given):
        raise UserError("the runs cannot be composed:\n" + "\n".join(f"- {problem}" for problem in unread))
    for word in given:
        written = word.split("=")[0]
        if (key := written.lstrip("+~")) in OURS:
            raise UserError(f"{word}: each run has its own: --out names the folder of them all")
        if key == TRAINER or (key == METHOD and "." not in word.partition("=")[2]):
            about = "a sweep's file says which algorithms are trained (configs/sweep): leave it out"
            raise UserError(f"{word}: {about}, or choose some of them by --algorithms")
        if key in sweep.values and written != key:
            raise UserError(f"{word}: the sweep varies {key}: write {key}=VALUE, or {key}=VALUE,VALUE")
    words = [f"recipe={sweep.recipe}", *sweep.overrides, *given]
    runs = []
    for algorithm in sweep.algorithms if algorithms is None else algorithms:
        try:
            keys = _swept_keys(sweep, given)
            jobs = _multirun(algorithm, words)
        except (HydraException, OmegaConfBaseException) as error:
            problem = composition_problem(error, ["--config-name", algorithm, *given])
            raise UserError(f"{algorithm}: the runs cannot be composed:\n{problem}") from error
        for overrides, config in _without_repeats(sweep, jobs):
            values = dict(word.split("=", 1) for word in overrides)
            settings = {"algorithm": algorithm} if len(sweep.algorithms) > 1 else {}
            settings |= {key: values[key] for key in keys}
            runs.append(_name(PlannedRun(algorithm, settings, out, overrides, config)))
    twice = [folder for folder, count in Counter(run.folder for run in runs).items() if count > 1]
    if twice:
        raise UserError(f"{twice[0]}: two runs would have this folder: give each value once")
    first_of: dict[object, PlannedRun] = {}
    for run in runs:
        if (other := first_of.setdefault(_form(run), run)) is not run:
            raise UserError(f"{other.label} and {run.label} are one run, with the same settings: give each value once")
    return runs


def _form(run: PlannedRun) -> object:
    """The settings of a run but for its folder and its name; of 1 and 1.0, which are one number, the same."""

    def hashable(value: Any) -> object:
        if isinstance(value, dict):
            return tuple((key, hashable(each)) for key, each in sorted(value.items(), key=str))
        if isinstance(value, list):
            return tuple(map(hashable, value))
        return str(value) if isinstance(value, bool) else value

    config = run.config.copy()
    for key in OURS:
        OmegaConf.update(config, key, None)
    return run.algorithm, hashable(OmegaConf.to_container(config, resolve=False))


def _swept_keys(sweep: Sweep, given: Sequence[str]) -> list[str]:
    """The keys that name a run: the sweep's own, and those of which several values are given."""
    parsed = OverridesParser.create().parse_overrides(list(given))
    return list(dict.fromkeys([*sweep.values, *(str(o.get_key_element()) for o in parsed if o.is_sweep_override())]))


def _multirun(algorithm: str, words: Sequence[str]) -> list[tuple[list[str], DictConfig]]:
    """The overrides and the config of each run of Hydra's grid, in its order."""
    (grid,) = BasicSweeper.split_arguments(OverridesParser.create().parse_overrides(list(words)), max_batch_size=None)
    with initialize_config_dir(str(config_dir()), version_base=None):
        return [(overrides, compose(algorithm, overrides=overrides)) for overrides in grid]


def _without_repeats(sweep: Sweep, jobs: list[tuple[list[str], DictConfig]]) -> list[tuple[list[str], DictConfig]]:
    """The runs but for those of `leave_out`, where each of its keys still has several values."""

    def has(config: DictConfig, case: Mapping[str, Any]) -> bool:
        return all(OmegaConf.select(config, key) == value for key, value in case.items())

    several = [
        case
        for case in sweep.leave_out
        if all(len({str(OmegaConf.select(config, key)) for _, config in jobs}) > 1 for key in case)
    ]
    return [(overrides, config) for overrides, config in jobs if not any(has(config, case) for case in several)]


def _name(run: PlannedRun) -> PlannedRun:
    """Give a run in the sweep's folder its own, a name for W&B, and one seed."""
    names = short_names(run.settings)
    parts = [value if key == "algorithm" else f"{names[key]}_{value}" for key, value in run.settings.items()]
    sweep, name = run.folder, re.sub(r"[^\w.+-]+", "_", "-".join(parts)) or run.algorithm
    run.folder = sweep / name
    given: dict[str, str | int] = {"run.dir": str(run.folder), RUN_NAME: f"{sweep.name}-{name}"}
    # A run's seed is one: that of the data is that of the rollouts, too, unless that is given.
    seed = OmegaConf.select(run.config, DATA_SEED)
    if seed is not None and not any(word.lstrip("+").startswith(f"{ROLLOUT_SEED}=") for word in run.overrides):
        given[ROLLOUT_SEED] = seed
    with open_dict(run.config):
        for key, value in given.items():
            OmegaConf.update(run.config, key, value)
            run.overrides.append(f"{key}={quoted(str(value))}")
    return run
