"""A resumed optimizer against one whose settings were changed in place and that never stopped."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch.optim.lr_scheduler import LambdaLR

from pacs.integration.worker.optimizer_settings import settings_kept


class Trained:
    """A parameter, AdamW and a schedule that warms up over 4 steps."""

    def __init__(self, **settings: Any) -> None:
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.optimizer = torch.optim.AdamW([self.weight], **settings)
        self.schedule = LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 4))

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.weight.grad = self.weight.detach() ** 2 - 0.3
            self.optimizer.step()
            self.schedule.step()

    def load(self, other: "Trained") -> None:
        with torch.no_grad():
            self.weight.copy_(other.weight)
        self.optimizer.load_state_dict(deepcopy(other.optimizer.state_dict()))
        self.schedule.load_state_dict(other.schedule.state_dict())


BEFORE: dict[str, Any] = {"lr": 0.1, "betas": (0.9, 0.99), "weight_decay": 0.0}


@pytest.mark.parametrize(
    "now", [BEFORE, BEFORE | {"lr": 0.03}, BEFORE | {"betas": (0.5, 0.9)}, BEFORE | {"weight_decay": 0.2}]
)
@pytest.mark.parametrize("steps", [2, 6])
def test_it_goes_on_as_one_whose_settings_were_changed_in_place(now: dict[str, Any], steps: int) -> None:
    stopped = Trained(**BEFORE)
    stopped.train(steps)
    resumed = Trained(**now)
    with settings_kept(resumed.optimizer, resumed.schedule):
        resumed.load(stopped)

    (group,) = stopped.optimizer.param_groups
    group.update(now)
    group["lr"] = now["lr"] * min(1.0, (steps + 1) / 4)
    stopped.schedule.base_lrs = [now["lr"]]
    assert resumed.schedule.get_last_lr() == [group["lr"]]
    for trained in (stopped, resumed):
        trained.train(5)
    assert torch.equal(resumed.weight, stopped.weight)
