"""verl's keys of corrections in a run of ours: as ours, by verl's own weights."""

import copy
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from verl.trainer.config.algorithm import RolloutCorrectionConfig
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_rejection_mask

from pacs.algorithm import CorrectionConfig, correction_weights
from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.verl_keys.algorithm_changes import algorithm_changes, algorithm_settings
from pacs.verl_keys.correction import OURS, OURS_UNSET, UNSET, VERLS, take_over

#: verl's keys, and how many of the tokens below have the weight 0 by them.
MEANT = {
    "truncated": ({"rollout_is": "token", "rollout_is_threshold": 1.5}, 0),
    "by a text": ({"rollout_is": "token", "rollout_is_threshold": "1.2"}, 0),
    "by default": ({"rollout_is": "token"}, 0),
    "IcePop": ({"rollout_is": "token", "rollout_is_threshold": "0.5_1.5"}, 100),
    "rejected": ({"rollout_rs": "seq_mean_k1", "rollout_rs_threshold": "1.05"}, 300),
    "in a band": ({"rollout_rs": "seq_mean_k1", "rollout_rs_threshold": "0.97_1.2"}, 100),
    "both": (
        {
            "rollout_is": "token",
            "rollout_is_threshold": "0.4_3.0",
            "rollout_rs": "seq_mean_k1",
            "rollout_rs_threshold": 1.05,
        },
        300,
    ),
}


def config_of(verls: dict[str, Any], ours: dict[str, Any] | None = None) -> Any:
    sections = {"method": {"update": {"correction": OURS_UNSET | (ours or {})}}}
    return OmegaConf.create(sections | {"algorithm": {"rollout_correction": UNSET | verls}})


@pytest.mark.parametrize("name", MEANT)
def test_what_is_taken_over_gives_verl_s_weights(name: str) -> None:
    verls, zeros = MEANT[name]
    config = config_of(verls)
    said = take_over(config)
    assert len(said) == sum(key in verls for key in ("rollout_is", "rollout_rs"))
    assert OmegaConf.select(config, VERLS) == UNSET
    assert take_over(copy.deepcopy(config)) == []
    settings = CorrectionConfig.from_mapping(OmegaConf.to_container(OmegaConf.select(config, OURS)))
    rng = torch.Generator().manual_seed(0)
    rollout = -torch.rand(200, 9, generator=rng, dtype=torch.float64)
    old = rollout + 0.3 * torch.randn(200, 9, generator=rng, dtype=torch.float64)
    mask = torch.rand(200, 9, generator=rng) < 0.7
    mask[:, 0] = True
    found = correction_weights(old, rollout, mask, settings)[mask]
    weights, kept, _ = compute_rollout_correction_and_rejection_mask(old, rollout, mask.long(), **verls)
    expected = kept if weights is None else weights.batch["rollout_is_weights"] * kept
    torch.testing.assert_close(found, expected[mask].double(), rtol=0, atol=1e-6)
    assert (int((found == 0).sum()) > zeros) if zeros else bool(found.all())


def test_the_values_of_one_who_corrects_nothing() -> None:
    assert CorrectionConfig().model_dump() == OURS_UNSET
    verls = RolloutCorrectionConfig(rollout_is=None)  # as verl's configs have it
    assert {name: getattr(verls, name) for name in UNSET} == UNSET
    assert take_over(config_of({})) == []


def test_another_value_of_ours_is_refused_and_the_same_is_not() -> None:
    token = {"rollout_is": "token", "rollout_is_threshold": 3.0}
    assert take_over(config_of(token, {"kind": "truncate", "cap": 3.0, "sequence_cap": 1.1})) != []
    for ours in ({"kind": "mask"}, {"cap": 2.5}, {"lower": 0.5}):
        with pytest.raises(UserError, match="leave out one of them"):
            take_over(config_of(token, ours))
    rejected = {"rollout_rs": "seq_mean_k1", "rollout_rs_threshold": 1.1}
    with pytest.raises(UserError, match=r"means method.update.correction.sequence_lower=null, but that is 0.8"):
        take_over(config_of(rejected, {"sequence_cap": 1.1, "sequence_lower": 0.8}))


@pytest.mark.parametrize("threshold", [0, -1.0, "0_2", "_2", "2_", "", True, [2.0]])
def test_a_threshold_that_is_none(threshold: Any) -> None:
    with pytest.raises(UserError, match="use a ratio above 1"):
        take_over(config_of({"rollout_is": "token", "rollout_is_threshold": threshold}))


def test_either_spelling_is_the_same_run() -> None:
    """Under every command, which composes by the same function; a checkpoint of one is gone on with by the other."""
    verls = [f"{VERLS}.rollout_is=token", f"{VERLS}.rollout_is_threshold=0.5_5.0"]
    ours = [f"{OURS}.kind=mask", f"{OURS}.cap=5.0", f"{OURS}.lower=0.5"]
    first, second = (compose_run("pacs", ["recipe=arithmetic", *words])[0] for words in (verls, ours))
    assert algorithm_settings(first) == algorithm_settings(second)
    assert algorithm_changes(first, second) == []
    assert OmegaConf.select(first, OURS) == OURS_UNSET | {"kind": "mask", "cap": 5.0, "lower": 0.5}


def test_verl_s_own_algorithms_keep_them() -> None:
    given = {"rollout_is": "token", "rollout_is_threshold": "0.5_5.0"}
    words = [f"{VERLS}.{name}={value}" for name, value in given.items()]
    config, _ = compose_run("grpo", ["recipe=arithmetic", *words])
    assert {name: OmegaConf.select(config, f"{VERLS}.{name}") for name in given} == given
