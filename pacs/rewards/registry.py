"""The verifiers by name, and the reward that verl calls, which picks among them."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final

from pydantic import create_model

from pacs.base.errors import did_you_mean
from pacs.base.typed_settings import Settings
from pacs.verl_keys.names import REWARD_ARGUMENTS

#: Name of each verifier, as in a row's `extra_info["verifier"]`, and the function that does it.
VERIFIERS: Final = {
    "math": "pacs.rewards.math:compute_score",
    "multiple_choice": "pacs.rewards.multiple_choice:compute_score",
    "code": "pacs.rewards.code:compute_score",
    "exact_match": "pacs.rewards.exact_match:compute_score",
    "countdown": "pacs.rewards.countdown:compute_score",
    "reference_probability": "pacs.rewards.reference_probability:compute_score",
}
#: What verl gives a reward function where it has started a reward model; no verifier asks it.
OF_A_REWARD_MODEL: Final = ("reward_router_address", "reward_model_tokenizer")
#: Of rows that name none.
DEFAULT: Final = "math"
#: This module as `reward.custom_reward_function.path` of a run names it.
PATH: Final = "pkg://pacs.rewards.registry"


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any] | None = None, **settings: Any
) -> dict[str, Any]:
    """Grade one response by the verifier that its row names: the reward for verl, by path.

    Args:
        data_source: the name of the data set.
        solution_str: the response.
        ground_truth: the right answer, in the verifier's form.
        extra_info: the row's; `verifier` names the verifier (`math` if it is None or not there).
        settings: keyword arguments of the verifiers, by their names; and what verl gives of a reward model.

    Returns:
        The verifier's `verdict`: `score`, `predicted`, `status`.

    Raises:
        ValueError: If there is no such verifier, or `check_settings` refuses the settings.
    """
    name = (extra_info or {}).get("verifier") or DEFAULT
    if name not in VERIFIERS:
        raise ValueError(
            f"extra_info.verifier={name} in a row of data source {data_source}: no such verifier. "
            f"There are {', '.join(VERIFIERS)}; prepare the data with one of them."
        )
    settings = {key: value for key, value in settings.items() if key not in OF_A_REWARD_MODEL}
    check_settings(settings)
    return _function(name)(data_source, solution_str, ground_truth, extra_info, **settings.get(name, {}))


def check_settings(settings: Mapping[str, Any], prefix: str = f"{REWARD_ARGUMENTS}.") -> None:
    """Raise `ValueError` if a verifier of that name does not exist, or does not take what is set for it.

    Args:
        settings: as `compute_score` takes them.
        prefix: what stands before a verifier's name where the settings were given, for errors.
    """
    for name, arguments in settings.items():
        if name not in VERIFIERS:
            raise ValueError(
                f"{prefix}{name}: no such verifier. There are {', '.join(VERIFIERS)}.{did_you_mean(name, VERIFIERS)}"
            )
        if not isinstance(arguments, Mapping):
            raise ValueError(f"{prefix}{name}={arguments}: give the settings of {name} by their names.")
        _settings(name, prefix).from_mapping(dict(arguments))


def resolved_settings(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """All settings of all verifiers, by verifier and name: those given, and the defaults of the others.

    Args:
        settings: as `compute_score` takes them, checked.
    """
    return {name: _defaults(name) | dict(settings.get(name, {})) for name in VERIFIERS}


@cache
def _parameters(name: str) -> list[inspect.Parameter]:
    """The settings of a verifier: what comes behind the four arguments of verl's custom rewards."""
    return [*inspect.signature(_function(name)).parameters.values()][4:]


@cache
def _settings(name: str, prefix: str) -> type[Settings]:
    """The settings as a section of a config, which says by its full key what is wrong with one."""
    fields: dict[str, Any] = {
        each.name: (Any if each.annotation is each.empty else each.annotation, each.default)
        for each in _parameters(name)
    }
    section = create_model(name, __base__=Settings, **fields)
    section.SECTION = f"{prefix}{name}"
    return section


def _defaults(name: str) -> dict[str, Any]:
    return {each.name: each.default for each in _parameters(name)}


@cache
def _function(name: str) -> Callable[..., dict[str, Any]]:
    return resolve_name(VERIFIERS[name])  # type: ignore[no-any-return]
