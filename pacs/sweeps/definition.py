"""What a sweep varies: configs/sweep/NAME.yaml."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import Field
from pydantic.dataclasses import dataclass

from pacs.base.errors import UserError, did_you_mean, one_line
from pacs.base.paths import config_dir

Scalar = str | int | float | bool | None
T = TypeVar("T")
#: A list that is not empty.
Listed = Annotated[list[T], Field(min_length=1)]


@dataclass(frozen=True)
class Sweep:
    """A set of runs.

    Attributes:
        name: of its file.
        description: the file's first comment.
        algorithms: primary configs.
        recipe: that all runs share.
        values: key -> the values that are swept.
        tasks: on which the trained models are evaluated.
        leave_out: values of swept keys that together make the same run as others do.
    """

    name: str
    description: str
    algorithms: Listed[str]
    recipe: str
    values: Mapping[str, Listed[Scalar]]
    tasks: Sequence[str] = ()
    leave_out: Sequence[Annotated[Mapping[str, Scalar], Field(min_length=1)]] = ()

    @property
    def runs(self) -> int:
        """How many, as it is defined."""
        grid = (dict(zip(self.values, each, strict=True)) for each in product(*self.values.values()))
        return len(self.algorithms) * sum(
            not any(case.items() <= each.items() for case in self.leave_out) for each in grid
        )

    def chosen(self, names: str | None) -> list[str]:
        """Those of the algorithms that are named, in the sweep's order; all if `names` is None.

        Args:
            names: of primary configs, with commas between them.

        Raises:
            UserError: the sweep has no such algorithm.
        """
        if names is None:
            return self.algorithms
        asked = names.split(",")
        for name in asked:
            if name not in self.algorithms:
                hint = did_you_mean(name, self.algorithms)
                raise UserError(
                    f"--algorithms {names}: {self.name} has no algorithm {name!r}: it has "
                    f"{', '.join(self.algorithms)}.{hint}"
                )
        return [algorithm for algorithm in self.algorithms if algorithm in asked]

    @property
    def overrides(self) -> list[str]:
        """The values as Hydra's multirun takes them."""
        return [f"{key}={','.join(map(_text, values))}" for key, values in self.values.items()]


def read_sweep(name: str) -> Sweep:
    """The sweep of that name.

    Raises:
        UserError: there is none, or its file is wrong.
    """
    files = sweep_files()
    if name not in files:
        raise UserError(f"{name}: no such sweep: there are {', '.join(files)}.{did_you_mean(name, files)}")
    file = files[name]
    text = file.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    try:
        return Sweep(name, first.removeprefix("#").strip() if first.startswith("#") else "", **yaml.safe_load(text))
    except (TypeError, ValueError, AttributeError, yaml.YAMLError) as error:
        raise UserError(
            f"{file} is no sweep ({one_line(error)}): give it algorithms, recipe, values, tasks and leave_out"
        ) from error


def sweep_files() -> dict[str, Path]:
    """Name -> file of every sweep."""
    return {file.stem: file for file in sorted((config_dir() / "sweep").glob("*.yaml"))}


def _text(value: Scalar) -> str:
    """A value in Hydra's grammar."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
