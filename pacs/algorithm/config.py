"""The settings of the algorithm. Each field is a Hydra key under `pacs.`, and is checked when it is set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from pacs.algorithm.checks import check_choice, nearest_word
from pacs.algorithm.class_balance import WEIGHT_SCOPES
from pacs.algorithm.scores import ESTIMATORS

SINGLE_CLASS_GROUPS = ("keep", "drop")


@dataclass(frozen=True)
class ReferenceConfig:
    """When the reference policy is replaced by the current one: the keys under `pacs.reference.`.

    Raises:
        ValueError: a value out of bounds or of another type.
    """

    #: Replace the reference after the last update of every so many steps; None (null) never does.
    reset_every: int | None = 20
    #: Re-initialise the optimizer's state whenever the reference is replaced.
    reset_optimizer: bool = True

    def __post_init__(self) -> None:
        every = self.reset_every
        if every is not None and (not isinstance(every, int) or isinstance(every, bool) or every < 1):
            zero = " (0 would leave no step to reset after)" if every == 0 else ""
            raise ValueError(
                f"pacs.reference.reset_every={every!r} must be a whole number of steps >= 1, or null{zero}: "
                "use 1 to reset after every step or null for never"
            )
        _check_bool("pacs.reference.reset_optimizer", self.reset_optimizer)


@dataclass(frozen=True)
class PacsConfig:
    """The loss and its reference: the keys under `pacs.`.

    Raises:
        ValueError: a value out of bounds, of another type, or not known.
    """

    #: Scale of the log-probability ratio in the reward proxy (Eq. 7); above 0.
    beta: float = 1.0
    #: How a response is compared with its group (Eq. 6): rloo, grpo, dr_grpo, or none for no comparison.
    estimator: str = "rloo"
    #: Over which rows the two classes are balanced: group, batch (the whole train batch), or none.
    weight_scope: str = "group"
    #: Divide the reward proxy of a response by its length in tokens.
    normalize_by_length: bool = False
    #: Add the first term of Eq. 5, the policy gradient weighted by the loss of each response.
    policy_gradient_term: bool = False
    #: What groups of one class do: keep (weight 1, counted in N) or drop (out of both).
    single_class_groups: str = "keep"
    #: When the reference is replaced.
    reference: ReferenceConfig = field(default_factory=ReferenceConfig)

    def __post_init__(self) -> None:
        number = isinstance(self.beta, int | float) and not isinstance(self.beta, bool)
        if not number or not math.isfinite(self.beta) or self.beta <= 0:
            raise ValueError(f"pacs.beta={self.beta!r} must be a finite number above 0; the paper uses 1.0")
        check_choice("pacs.estimator", self.estimator, ESTIMATORS)
        check_choice("pacs.weight_scope", self.weight_scope, WEIGHT_SCOPES)
        check_choice("pacs.single_class_groups", self.single_class_groups, SINGLE_CLASS_GROUPS)
        _check_bool("pacs.normalize_by_length", self.normalize_by_length)
        _check_bool("pacs.policy_gradient_term", self.policy_gradient_term)
        if not isinstance(self.reference, ReferenceConfig):
            raise ValueError(f"pacs.reference={self.reference!r} must be a ReferenceConfig")

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "PacsConfig":
        """The config of a nested mapping, as it stands under `pacs` in a composed Hydra config.

        Raises:
            ValueError: a key that is not known, or a value that its field refuses.
        """
        values = _known_items("pacs", mapping, cls)
        if "reference" in values:
            reference = _known_items("pacs.reference", values["reference"], ReferenceConfig)
            values["reference"] = ReferenceConfig(**reference)
        return cls(**values)

    def check_group_size(self, n: int) -> None:
        """Refuse `n` responses a prompt (verl's `actor_rollout_ref.rollout.n`) if none could be compared.

        Raises:
            ValueError: fewer than two, or two with grpo.
        """
        if n < 2:
            raise ValueError(
                f"actor_rollout_ref.rollout.n={n}: PACS compares the responses to one prompt; sample at "
                "least 2 (the paper: 8)"
            )
        if n == 2 and self.estimator == "grpo":
            raise ValueError(
                "actor_rollout_ref.rollout.n=2 with pacs.estimator=grpo: in a group of two its scores are "
                "±1/√2 whatever the rewards are, so that its gradient is zero; use pacs.estimator=rloo or "
                "dr_grpo, or actor_rollout_ref.rollout.n of at least 3"
            )


def _check_bool(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{key}={value!r} must be true or false, not {type(value).__name__}")


def _known_items(key: str, mapping: Mapping[str, Any], cls: type) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        raise ValueError(f"{key}={mapping!r} must be a mapping of settings, not {type(mapping).__name__}")
    known = [known_field.name for known_field in fields(cls)]
    for name in mapping:
        if name not in known:
            nearest = nearest_word(name, _FULL_KEYS)
            hint = f" (did you mean {_FULL_KEYS[nearest]}?)" if nearest else ""
            raise ValueError(f"{key}.{name} is not a setting{hint}: {key} has {', '.join(known)}")
    return dict(mapping)


_FULL_KEYS = {known.name: f"pacs.{known.name}" for known in fields(PacsConfig)} | {
    known.name: f"pacs.reference.{known.name}" for known in fields(ReferenceConfig)
}
