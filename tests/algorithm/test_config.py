import pickle
from typing import Any

import pytest
from pydantic import Field, ValidationError

from pacs.algorithm import Pacs, ReferenceConfig, Settings, method_of


def test_defaults_are_the_documented_ones() -> None:
    assert Pacs() == Pacs(
        beta=1.0,
        estimator="rloo",
        objective="log_odds",
        weight_scope="group",
        normalize_by_length=False,
        policy_gradient_term=False,
        single_class_groups="keep",
        reference=ReferenceConfig(reset_every=1, reset_optimizer=False),
    )


def test_from_mapping_reads_nested_settings() -> None:
    """Settings that are not given keep their defaults, and the mapping is left as it was."""
    mapping = {"beta": 2, "estimator": "none", "reference": {"reset_every": None}}
    config = Pacs.from_mapping(mapping)
    assert config == Pacs(beta=2.0, estimator="none", reference=ReferenceConfig(reset_every=None))
    assert mapping == {"beta": 2, "estimator": "none", "reference": {"reset_every": None}}
    assert Pacs.from_mapping({}) == Pacs()


def test_is_frozen_and_travels_between_processes() -> None:
    config = Pacs(reference=ReferenceConfig(reset_every=1))
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(ValidationError, match="frozen"):
        config.beta = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0}, "method.beta=0 must be greater than 0: the paper uses 1.0"),
        ({"beta": -1.0}, "method.beta=-1.0 must be"),
        ({"beta": float("inf")}, "method.beta=inf must be a finite number"),
        ({"beta": float("nan")}, "method.beta=nan must be"),
        ({"beta": "1e-1"}, "method.beta='1e-1' must be"),
        ({"beta": True}, "method.beta=True must be"),
        (
            {"estimator": "rlo"},
            r"method.estimator=rlo is not known \(did you mean rloo\?\): choose one of rloo, grpo, dr_grpo, ",
        ),
        ({"estimator": "foo"}, "method.estimator=foo is not known: choose one of rloo, grpo, dr_grpo, none"),
        ({"estimator": "Dr-GRPO"}, r"method.estimator=Dr-GRPO is not known \(did you mean dr_grpo\?\)"),
        ({"estimator": None}, r"method.estimator=None is not known \(did you mean none\?\)"),
        (
            {"weight_scope": "grp"},
            r"method.weight_scope=grp .*did you mean group\?\): choose one of group, batch",
        ),
        ({"weight_scope": "none"}, "method.weight_scope=none: weights are left out by method.objective=pass_rate"),
        (
            {"objective": "log_rate"},
            r"method.objective=log_rate .*log_pass_rate\?\): choose one of log_odds, pass_rate",
        ),
        (
            {"single_class_groups": "dropped"},
            r"method.single_class_groups=dropped .*drop\?\): choose one of keep, drop",
        ),
        ({"normalize_by_length": "true"}, "method.normalize_by_length='true' must be true or false, not str"),
        ({"policy_gradient_term": 1}, "method.policy_gradient_term=1 must be true or false, not int"),
        (
            {"reference": {"reset_every": 0}},
            "reset_every=0 must be greater than or equal to 1: .* 1 to reset after every step, or null for never",
        ),
        (
            {"reference": {"reset_every": -5}},
            "method.reference.reset_every=-5 must be .*: a whole number of steps",
        ),
        (
            {"reference": {"reset_every": 2.0}},
            "method.reference.reset_every=2.0 must be a valid integer: a whole number of steps",
        ),
        ({"reference": {"reset_every": "20"}}, "method.reference.reset_every='20' must be a valid integer"),
        ({"reference": {"reset_every": True}}, "method.reference.reset_every=True must be a valid integer"),
        (
            {"reference": {"reset_optimizer": "no"}},
            "method.reference.reset_optimizer='no' must be true or false",
        ),
        ({"reference": 20}, "method.reference=20: it is a section"),
        ({"reference": None}, "method.reference=null: it is a section"),
        (
            {"estimater": "rloo"},
            r"method.estimater is not a setting \(did you mean method.estimator\?\): method has .*beta, ",
        ),
        (
            {"reset_every": 5},
            r"method.reset_every is not a setting \(did you mean method.reference.reset_every\?\)",
        ),
        (
            {"zzz": 5},
            "method.zzz is not a setting: method has reference, update, token_weight, metrics, beta, estimator, ",
        ),
        (
            {"reference": {"reset_evry": 5}},
            r"method.reference.reset_evry is not a setting \(did you mean method.reference.reset_every\?\): "
            "method.reference has reset_every, .*reset_optimizer, warmup_steps$",
        ),
        ({"reference": {"warmup_steps": -1}}, "method.reference.warmup_steps=-1 must be .*: a whole number of steps"),
        (
            {"reference": {"reset_at_log_ratio": 2.0}},
            "reset_at_log_ratio=2.0 with method.reference.reset_every=1: every step resets anyway; set .*null",
        ),
        (
            {"reference": {"warmup_steps": 5, "reset_every": 5}},
            "method.reference.warmup_steps=5 with .*reset_every=5: .*never come back .*fewer warm-up steps",
        ),
        (
            {"reference": {"reset_at_saturation": 0}},
            "method.reference.reset_at_saturation=0 must be greater than 0: a share",
        ),
        (
            {"reference": {"reset_at_saturation": 50}},
            "reset_at_saturation=50 must be less .* to 1: a share",
        ),
        (
            {"reference": {"reset_at_log_ratio": "2"}},
            "method.reference.reset_at_log_ratio='2' must be a valid number",
        ),
        ({"update": {"strategy": "cache"}}, r"method.update.strategy=cache is not known \(did you mean cached\?\)"),
        ({"strategy": "cached"}, r"method.strategy is not a setting \(did you mean method.update.strategy\?\)"),
        ({"metrics": {"entropy_every": 0}}, "method.metrics.entropy_every=0 must be .* or null for never"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    """Each message names the full key, and what to write instead."""
    with pytest.raises(ValueError, match=message):
        Pacs.from_mapping(settings)


def test_the_constructor_checks_as_well() -> None:
    with pytest.raises(ValueError, match="Input should be 'rloo', 'grpo'"):
        Pacs(estimator="foo")  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [None, "rloo", ["beta"]])
def test_what_is_no_mapping_is_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match="it is a section"):
        Pacs.from_mapping(settings)


class Odd(Settings):
    """Fields of kinds that ours do not have."""

    needed: int = Field(description="how many")
    either: int | str = 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "method.needed is needed and not there: how many$"),
        ({"needed": "x"}, "method.needed='x' must be a valid integer.*: how many$"),
        ({"needed": 1, "either": 1.5}, r"method.either=1.5 must be a valid"),
    ],
)
def test_settings_of_somebody_else_are_refused_in_words(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Odd.from_mapping(settings)


class Squared(Pacs):
    """A method of somebody else."""


def test_a_method_is_named_by_a_word_or_an_import_path() -> None:
    assert method_of({"beta": 2.0}) == method_of({"name": "pacs", "beta": 2.0}) == Pacs(beta=2.0)
    assert method_of({"name": f"{__name__}.Squared", "beta": 2.0}) == Squared(beta=2.0)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "pasc",
            r"method.name=pasc is not known: choose one of pacs, .* or give the import path.*Did you mean pacs",
        ),
        ("no_such.module.Loss", "method.name=no_such.module.Loss cannot be imported .*PYTHONPATH"),
        ("math.pi", "method.name=math.pi is no subclass of pacs.algorithm.Method"),
        ("my..Loss", "method.name=my..Loss cannot be imported"),
    ],
)
def test_a_method_that_is_none_is_refused(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        method_of({"name": name})
