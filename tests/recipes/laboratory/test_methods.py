"""Methods by name; advantages, losses and gradients of the usual ones beside those of the installed verl."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

from pacs.algorithm import METHODS as TRAINED_BY_SCORES
from pacs.algorithm import batch_constants, check_method, method_loss
from pacs.algorithm.aggregated import Grpo
from pacs.base.errors import UserError
from recipes.laboratory import questions
from recipes.laboratory.dapo import Dapo
from recipes.laboratory.methods import METHODS, method_named, resolved
from recipes.laboratory.ppo import ADVANTAGES, Ppo, advantages_and_returns, value_loss
from recipes.laboratory.settings import Settings

CONFIGS = Path(__file__).parents[3] / "configs"
GROUPS, SIZE, TOKENS, LIMIT = 6, 5, 9, 12


class Case:
    """Random responses, of groups with none, one, some and all right, by a policy that has moved by some nats."""

    def __init__(self, seed: int) -> None:
        random = torch.Generator().manual_seed(seed)
        rows = GROUPS * SIZE
        lengths = torch.randint(1, TOKENS + 1, (rows,), generator=random)
        self.mask = torch.arange(TOKENS) < lengths[:, None]
        self.old = -3 * torch.rand(rows, TOKENS, generator=random, dtype=torch.float64)
        moved = torch.randn(rows, TOKENS, generator=random, dtype=torch.float64)
        moved[::7] *= 20  # beyond every clip, and beyond the bound of the exponent
        self.own = (self.old + moved).requires_grad_()
        self.labels = (torch.rand(GROUPS, SIZE, generator=random) < torch.linspace(0, 1, GROUPS)[:, None]).double()
        self.labels[0], self.labels[1], self.labels[-1] = 0, torch.tensor([0.0, 0, 1, 0, 0]), 1
        self.labels = self.labels.flatten()
        self.groups = torch.arange(GROUPS).repeat_interleave(SIZE)
        self.token_rewards = torch.zeros(rows, TOKENS, dtype=torch.float64)
        self.token_rewards[torch.arange(rows), lengths - 1] = self.labels
        self.values = torch.rand(rows, TOKENS, generator=random, dtype=torch.float64)
        self.new_values = (self.values + torch.randn(rows, TOKENS, generator=random).double()).requires_grad_()


def verl_actor(name: str) -> ActorConfig:
    """The actor's settings of configs/<name>.yaml."""
    actor = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["actor_rollout_ref"]["actor"]
    clip = actor.get("clip_ratio", 0.2)
    mode = actor["loss_agg_mode"]
    config = ActorConfig(
        strategy="fsdp2",
        rollout_n=SIZE,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=clip,
        clip_ratio_low=actor.get("clip_ratio_low", clip),
        clip_ratio_high=actor.get("clip_ratio_high", clip),
        clip_ratio_c=actor.get("clip_ratio_c", 3.0),
        loss_agg_mode=mode,
    )
    if "loss_scale_factor" in actor:
        assert actor["loss_scale_factor"] == "${data.max_response_length}"
        config.global_batch_info["loss_scale_factor"] = LIMIT
    return config


def verl_advantages(name: str, case: Case) -> torch.Tensor:
    """(B, T) by the estimator of configs/<name>.yaml."""
    algorithm = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["algorithm"]
    given = (case.token_rewards.clone(), case.mask.double(), np.array(case.groups))
    if algorithm["adv_estimator"] == "rloo":
        return core_algos.compute_rloo_outcome_advantage(*given)[0]
    by_std = algorithm["norm_adv_by_std_in_grpo"]
    return core_algos.compute_grpo_outcome_advantage(*given, norm_adv_by_std_in_grpo=by_std)[0]


def verl_loss(case: Case, advantages: torch.Tensor, config: ActorConfig) -> tuple[float, torch.Tensor]:
    """The policy loss, and its gradient by the log-probabilities."""
    own = case.own.detach().clone().requires_grad_()
    mode = config.loss_agg_mode
    loss, _ = core_algos.compute_policy_loss_vanilla(
        case.old, own, advantages, case.mask.double(), loss_agg_mode=mode, config=config
    )
    return float(loss.detach()), torch.autograd.grad(loss, own)[0]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", ["grpo", "dapo", "dr_grpo", "rloo"])
def test_the_usual_ones_are_verls(name: str, seed: int) -> None:
    """As the configs of the real stack have them, on ratios far from 1."""
    case, method = Case(seed), method_named(name, {"max_response_tokens": LIMIT})
    advantages = verl_advantages(name, case)
    constants = batch_constants(case.labels, case.groups, method, response_mask=case.mask)
    assert torch.allclose(constants.credit[:, None] * case.mask, advantages, rtol=1e-9, atol=1e-12)
    loss, _ = method_loss(case.own, case.old, case.mask, case.labels, case.groups, method, constants=constants)
    expected, gradient = verl_loss(case, advantages, verl_actor(name))
    assert loss.item() == pytest.approx(expected, rel=1e-9)
    assert torch.allclose(torch.autograd.grad(loss, case.own)[0], gradient, rtol=1e-9, atol=1e-15)


def test_without_a_clip_the_ratio_is_as_it_is_and_without_a_ratio_it_is_reinforce() -> None:
    case = Case(seed=2)
    weights = batch_constants(case.labels, case.groups, Grpo()).credit
    moved = (case.own - case.old).detach()
    for ratio, by_token in (("unclipped", moved.clamp(-20, 20).exp() * (moved.abs() <= 20)), ("none", 1.0)):
        method = Grpo(ratio=ratio)
        loss, _ = method_loss(case.own, case.old, case.mask, case.labels, case.groups, method, denominator=7)
        expected = -(weights[:, None] * by_token * case.mask) / 7
        assert torch.allclose(torch.autograd.grad(loss, case.own)[0], expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("ratio", ["clipped", "unclipped", "none"])
@pytest.mark.parametrize("name", ["grpo", "dapo", "dr_grpo", "rloo"])
def test_they_can_be_trained_on(name: str, ratio: str) -> None:
    check_method(method_named(name, {"ratio": ratio, "max_response_tokens": LIMIT}))


def test_ppo_can_be_trained_on() -> None:
    check_method(Ppo())


@pytest.mark.parametrize("lambdas", [(1.0, 1.0), (0.95, 1.0), (0.5, 0.0)])
def test_ppos_advantages_and_losses_are_verls(lambdas: tuple[float, float]) -> None:
    case = Case(seed=3)
    mask = case.mask.double()
    advantages, returns = advantages_and_returns(case.labels, case.values, case.mask, *lambdas)
    (expected, _), (_, expected_returns) = (
        core_algos.compute_gae_advantage_return(case.token_rewards, case.values, mask, 1.0, lam) for lam in lambdas
    )
    assert torch.allclose(advantages, expected * mask, rtol=1e-9, atol=1e-12)
    assert torch.allclose(returns, expected_returns * mask, rtol=1e-9, atol=1e-12)

    method, tokens = Ppo(), int(case.mask.sum())
    given = {ADVANTAGES: advantages}
    constants = batch_constants(case.labels, case.groups, method, response_mask=case.mask, streams=given)
    assert constants.shares.sum() == tokens
    loss, _ = method_loss(case.own, case.old, case.mask, case.labels, case.groups, method, constants=constants)
    value, gradient = verl_loss(case, expected, verl_actor("ppo"))
    assert loss.item() == pytest.approx(value, rel=1e-9)
    assert torch.allclose(torch.autograd.grad(loss, case.own)[0], gradient, rtol=1e-9, atol=1e-15)

    own = value_loss(case.new_values, case.values, returns, case.mask, method.clip_value, tokens)
    theirs, _ = core_algos.compute_value_loss(case.new_values, expected_returns, case.values, mask, 0.5)
    assert own.item() == pytest.approx(theirs.item(), rel=1e-9)
    gradients = [torch.autograd.grad(loss, case.new_values)[0] for loss in (own, theirs)]
    assert torch.allclose(*gradients, rtol=1e-9, atol=1e-15)


# Names and options


def test_every_method_has_a_name() -> None:
    assert set(METHODS) == {*TRAINED_BY_SCORES, "grpo", "dr_grpo", "rloo", "dapo", "ppo", "vcppo"}
    for name in TRAINED_BY_SCORES:
        assert type(method_named(name, {})) is TRAINED_BY_SCORES[name]
    assert method_named("pacs", {"beta": 2.0, "objective": "pass_rate"}).beta == 2.0
    assert isinstance(method_named("dapo", {"rounds": 5}), Dapo)


def test_a_section_given_in_part_keeps_the_rest_of_the_methods_own() -> None:
    """The reference of all but the paper's PACS is the policy that sampled."""
    reference = method_named("grpo", {"reference": {"reset_optimizer": True}}).reference
    assert (reference.reset_every, reference.reset_optimizer) == (1, True)
    reference = method_named("pacs_paper", {"reference": {"reset_every": None}}).reference
    assert (reference.reset_every, reference.reset_optimizer) == (None, True)
    reference = method_named("pacs_authors", {"reference": {"reset_every": 5}}).reference
    assert (reference.reset_every, reference.reset_optimizer) == (5, False)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gpro", {}, "method=gpro is not known: choose one of pacs,.*Did you mean grpo?"),
        ("pacs", {"beta": -1.0}, "options of method=pacs: method.beta=-1.0 must be greater than 0"),
        ("grpo", {"clip_hihg": 0.3}, "method.clip_hihg is not a setting .did you mean method.clip_high"),
        ("grpo", {"ratio": "cliped"}, "method.ratio=cliped is not known .did you mean clipped"),
        ("grpo", {"reference": {"reset_evry": 1}}, "method.reference.reset_evry is not a setting"),
        ("grpo", {"reference": {"reset_every": 20}}, "reset_every=20, but its ratios are to the policy that sampled"),
        ("disco", {"reference": {"reset_every": None}}, "reset_every=None, but its ratios"),
        ("pacs", {"reference": 5}, "method.reference=5: it is a section"),
        ("pacs", {"method": "grpo"}, "options.method is no option"),
        ("ppo", {"critic_lr": 0.0}, "method.critic_lr=0.0 must be greater than 0"),
        ("dapo", {"rounds": 0}, "method.rounds=0 must be greater than or equal to 1"),
    ],
)
def test_what_is_wrong_is_refused(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        method_named(name, options)


def test_resolved_options_are_all_of_them() -> None:
    options = {"beta": 0.5, "reference": {"reset_every": 3}}
    values = resolved(Settings(options=options))
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["beta"] == 0.5
    assert values["objective"] == "log_odds"
    assert values["reference"] | {"reset_every": 3, "warmup_steps": 0, "reset_optimizer": False} == values["reference"]
    assert resolved(Settings(options=values)) == values
    for name in METHODS:
        vine = {"completions": 9} if name in ("vineppo", "genac") else {}
        teacher = {"method": "grpo"} if name in ("distillation", "pacs_distilled") else {}
        settings = Settings(method=name, vine=vine, teacher=teacher)
        assert method_named(name, resolved(settings)) == method_named(name, {})


OWN = """
import torch
from pacs.algorithm.method import Method, Rows
class Squared(Method):
    scale: float = 1.0
    def losses(self, rows: Rows) -> torch.Tensor:
        return (rows.log_ratios - self.scale * rows.labels) ** 2
"""


def test_a_method_and_a_question_of_ones_own_are_planned_beside_ours(tmp_path: Path) -> None:
    (tmp_path / "squared.py").write_text(OWN)
    question = (questions.FOLDER / "rates.yaml").read_text().split("arms:")[0]
    question = re.sub("baselines: .*", "baselines: [grpo]", question)
    arms = "arms:\n  grpo: {method: grpo}\n  mine: {method: squared.Squared, options: {scale: 2.0}}\n"
    (tmp_path / "mine.yaml").write_text(question + arms)
    environ = os.environ | {"PYTHONPATH": f"{Path(__file__).parents[3]}:{tmp_path}"}
    words = [sys.executable, "-m", "recipes.laboratory", "mine.yaml", "--dry-run"]
    run = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "countdown: mine (fresh), lr 0.0003, seed 0" in run.stdout
    assert "mine countdown: 8 of 16 runs are there, 8 left" in run.stdout  # those of grpo are ours
    wrong = (tmp_path / "mine.yaml").read_text().replace("scale: 2.0", "scal: 2.0")
    (tmp_path / "mine.yaml").write_text(wrong)
    run = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "method.scal is not a setting (did you mean method.scale?)" in run.stderr


def test_a_class_attribute_without_a_type_is_refused_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "untyped.py").write_text(OWN.replace("scale: float = 1.0", "scale: float = 1.0; smallest_group = 2"))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match=r"smallest_group.*@property def smallest_group"):
        method_named("untyped.Squared", {})
