"""The verifiers by name, and the reward that verl calls, which picks among them."""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any, Final

#: Name of each verifier, as in a row's `extra_info["verifier"]`, and the function that does it.
VERIFIERS: Final = {
    "math": "pacs.rewards.math:compute_score",
    "multiple_choice": "pacs.rewards.multiple_choice:compute_score",
    "code": "pacs.rewards.code:compute_score",
    "exact_match": "pacs.rewards.exact_match:compute_score",
}
#: Of rows that name none.
DEFAULT: Final = "math"
_SETTINGS: Final = "reward.custom_reward_function.reward_kwargs"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    **settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Grade one response by the verifier that its row names: the reward for verl, by path.

    Args:
        data_source: the name of the data set.
        solution_str: the response.
        ground_truth: the right answer, in the verifier's form.
        extra_info: the row's; `verifier` names the verifier (`math` if it is None or not there).
        settings: keyword arguments of the verifiers, by their names.

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
    check_settings(settings)
    return _function(name)(data_source, solution_str, ground_truth, extra_info, **settings.get(name, {}))


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise `ValueError` if a verifier of that name does not exist, or does not take what is set for it.

    Args:
        settings: as `compute_score` takes them.
    """
    for name, arguments in settings.items():
        if name not in VERIFIERS:
            raise ValueError(f"{_SETTINGS}.{name}: no such verifier. There are {', '.join(VERIFIERS)}.")
        if not isinstance(arguments, Mapping):
            raise ValueError(f"{_SETTINGS}.{name}={arguments}: give the settings of {name} by their names.")
        signature = _signature(name)
        try:
            signature.bind("", "", "", None, **arguments)
        except TypeError as error:
            takes = ", ".join([*signature.parameters][4:]) or "no settings"
            raise ValueError(f"{_SETTINGS}.{name}: {error}; it takes {takes}.") from None


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(_function(name))


@cache
def _function(name: str) -> Callable[..., dict[str, Any]]:
    return resolve_name(VERIFIERS[name])  # type: ignore[no-any-return]
