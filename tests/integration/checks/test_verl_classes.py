"""Settings that verl's own classes and builders refuse."""

import pytest
import torch

from pacs.base.errors import UserError
from pacs.composing import compose_run

OPTIM = "actor_rollout_ref.actor.optim"


@pytest.mark.parametrize("name", ["SparseAdam", "LBFGS", "Muon"])
def test_an_optimizer_that_cannot_step_is_refused(name: str) -> None:
    assert hasattr(torch.optim, name)
    with pytest.raises(UserError, match=f"{OPTIM}.optimizer={name}, .*the optimizer refuses that"):
        compose_run("pacs", ["recipe=arithmetic", f"{OPTIM}.optimizer={name}"])


@pytest.mark.parametrize("name", ["pacs", "grpo", "ppo"])
def test_a_key_of_no_field_is_refused_under_every_algorithm(name: str) -> None:
    with pytest.raises(UserError, match=r"rollout.frequency_penalty=1: verl's RolloutConfig has no such setting"):
        compose_run(name, ["recipe=arithmetic", "+actor_rollout_ref.rollout.frequency_penalty=1"])
