"""Settings are checked when they are made, and say what to change."""

import math
from dataclasses import asdict, replace

import pytest

from pacs.base.errors import UserError
from recipes.laboratory.settings import Settings


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"steps": 0}, "steps=0 must be a whole number of at least 1"),
        ({"steps": 2.0}, "steps=2.0 must be a whole number"),
        ({"steps": True}, "steps=True must be a whole number"),
        ({"prompts": 0, "updates_per_step": 1}, "prompts=0 must be"),
        ({"responses": 0}, "responses=0 must be"),
        ({"train_problems": 31}, "train_problems=31: a step takes prompts=32 different ones"),
        ({"updates_per_step": 3}, "updates_per_step=3 does not divide prompts=32"),
        ({"lr": 0}, "lr=0 must be a number above 0"),
        ({"lr": -1e-4}, "lr=-0.0001 must be"),
        ({"lr": "1e-4"}, "lr='1e-4' must be a number"),
        ({"lr": math.nan}, "lr=nan must be"),
        ({"lr": math.inf}, "lr=inf must be a finite number"),
        ({"clip_grad": 0.0}, r"clip_grad=0\.0 must be"),
        ({"clip_grad": "inf"}, "clip_grad='inf' must be a number"),
        ({"lr_decay": 1}, "lr_decay=1 must be true or false"),
        ({"lr_warmup_updates": -1}, "lr_warmup_updates=-1 must be a whole number of at least 0"),
        ({"staleness": -1}, "staleness=-1 must be"),
        ({"reference_is_sampler": 1, "staleness": 1}, "reference_is_sampler=1 must be true or false"),
        ({"reference_is_sampler": True, "method": "pacs_authors"}, "asks for staleness of at least 1"),
        (
            {"reference_is_sampler": True, "staleness": 1, "options": {"reference": {"reset_every": None}}},
            "reference_is_sampler=true asks .* leave it out",
        ),
        ({"reference_is_sampler": True, "staleness": 1, "method": "grpo"}, "reference_is_sampler=true asks"),
        ({"evaluate_every": -1}, "evaluate_every=-1 must be"),
        ({"seed": -1}, "seed=-1 must be"),
        ({"method": "pcas"}, "method=pcas is not known.*Did you mean pacs?"),
        ({"responses": 1}, "responses=1: pacs with these options compares at least 2 responses"),
        ({"responses": 2, "options": {"estimator": "grpo"}}, "responses=2: pacs .* at least 3"),
        (
            {"staleness": 1, "options": {"token_weight": {"name": "era"}}},
            "method.token_weight.name=era with staleness",
        ),
        (
            {"staleness": 1, "options": {"token_weight": {"name": "steer", "steer": {"form": "exact"}}}},
            "form=exact with staleness: .* set form to public, or staleness to 0",
        ),
        ({"options": {"betta": 1.0}}, "method.betta is not a setting .did you mean method.beta"),
    ],
)
def test_what_is_wrong_is_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**wrong)


def test_changed_settings_are_checked_too() -> None:
    assert replace(Settings(), lr=1, staleness=2) == Settings(lr=1, staleness=2)
    with pytest.raises(UserError, match="steps=0"):
        replace(Settings(), steps=0)


def test_they_are_plain_data() -> None:
    settings = Settings(method="pacs", options={"reference": {"reset_every": None}}, clip_grad=1.0)
    assert Settings(**asdict(settings)) == settings
    assert Settings(responses=1, options={"estimator": "none"}).responses == 1
