"""Every method by its name: those of pacs.algorithm, and the usual ones that verl runs in the real stack."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pacs.algorithm import METHODS as TRAINED_BY_SCORES
from pacs.algorithm import Method, method_of
from pacs.algorithm.names import class_of
from pacs.base.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from recipes.laboratory.settings import Settings

#: Those that `pacs train` runs by verl's own losses, and ours here, by import path.
BASELINES = {
    "grpo": "pacs.algorithm.aggregated.Grpo",
    "dr_grpo": "pacs.algorithm.aggregated.DrGrpo",
    "rloo": "pacs.algorithm.aggregated.Rloo",
    "dapo": "recipes.laboratory.dapo.Dapo",
    "ppo": "recipes.laboratory.ppo.Ppo",
    "vcppo": "recipes.laboratory.ppo.VcPpo",
}
METHODS = (*TRAINED_BY_SCORES, *BASELINES)


def method_named(name: str, options: Mapping[str, Any]) -> Method:
    """The method of that name with its options; what these leave out has the method's own default.

    Raises:
        UserError: there is no such method or option, an option has a value that is refused, or the reference is not
            the policy that sampled, which the method compares with.
    """
    if name not in METHODS and "." not in name:
        raise UserError(
            f"method={name} is not known: choose one of {', '.join(METHODS)}, or give the import path of a class of "
            f"yours (my.module.Loss).{did_you_mean(name, METHODS)}"
        )
    if "method" in options:
        raise UserError("options.method is no option: the setting `method` names the method")
    path = BASELINES.get(name, name)
    try:
        method_class = class_of(path)
    except ValueError as error:
        raise UserError(str(error)) from error
    # A section that is given in part keeps the rest of the method's own: GRPO's reference is not PACS's.
    section = {key: _filled(method_class, key, value) for key, value in options.items()}
    try:
        method = method_of({"name": path, **section})
    except ValueError as error:
        raise UserError(f"options of method={name}: {error}") from error
    if method.compares_with_sampler and method.reference.reset_every != 1:
        raise UserError(
            f"options of method={name}: method.reference.reset_every={method.reference.reset_every}, but its ratios "
            "are to the policy that sampled: leave it at 1"
        )
    return method


def resolved(settings: "Settings") -> dict[str, Any]:
    """Every option of the method that settings name, also those that they leave at their defaults, as JSON."""
    return method_named(settings.method, settings.options).model_dump(mode="json")


def _filled(method: type[Method], key: str, value: Any) -> Any:
    """A section's value with what it leaves out."""
    field = method.model_fields.get(key)
    if not isinstance(value, Mapping) or field is None or not hasattr(field.default, "model_dump"):
        return value
    return {**field.default.model_dump(), **value}
