"""What is refused as unread is what verl's own loss or estimator does not depend on, and nothing else is."""

import numpy as np
import pytest
import torch
from omegaconf import DictConfig, OmegaConf
from verl import DataProto
from verl.trainer.config import AlgoConfig
from verl.trainer.ppo.core_algos import get_policy_loss_fn
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.workers.config import ActorConfig, PolicyLossConfig

from pacs.composing import compose_run
from pacs.integration import checks
from pacs.integration.checks.unused_settings import LEFT_AS_THEY_ARE, OF_ESTIMATORS, OF_LOSSES, unread_problems
from pacs.integration.checks.wording import full_name

ACTOR, ALGORITHM = "actor_rollout_ref.actor.", "algorithm."
#: Other values than verl's, with which a loss that reads them is another.
OTHER = {
    "clip_ratio": 0.05,
    "clip_ratio_c": 1.5,
    "tau_pos": 2.0,
    "tau_neg": 3.0,
    "policy_loss.clip_cov_ratio": 0.3,
    "policy_loss.clip_cov_lb": -5.0,
    "policy_loss.clip_cov_ub": 1.2,
    "policy_loss.kl_cov_ratio": 0.5,
    "policy_loss.ppo_kl_coef": 3.0,
    "policy_loss.dro_beta": 0.7,
}
#: verl's dro has no value to begin with.
GIVEN = {"policy_loss.dro_beta": 0.1, "policy_loss.clip_cov_ratio": 0.1}


def loss_of(mode: str, settings: dict[str, float]) -> torch.Tensor:
    """verl's loss of rows whose ratios, advantages and covariances are spread wide."""
    settings = GIVEN | settings
    ratio = settings.pop("clip_ratio", 0.2)
    of_policy = {key.split(".")[1]: value for key, value in settings.items() if key.startswith("policy_loss.")}
    of_actor = {key: value for key, value in settings.items() if not key.startswith("policy_loss.")}
    config = ActorConfig(
        strategy="fsdp2",
        rollout_n=8,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=ratio,
        clip_ratio_low=ratio,
        clip_ratio_high=ratio,
        policy_loss=PolicyLossConfig(loss_mode=mode, **of_policy),
        **of_actor,
    )
    draws = torch.Generator().manual_seed(0)
    old, new = (-torch.rand(64, 16, generator=draws).mul(3).exp() for _ in range(2))
    # A response's mean ratio is near 1, as gspo's is; tokens of some have one far from it.
    new[:32] = old[:32] + 0.3 * torch.randn(32, 16, generator=draws)
    advantages = torch.randn(64, 1, generator=draws).mul(2).expand(64, 16)
    torch.manual_seed(0)  # clip_cov draws its tokens
    return get_policy_loss_fn(mode)(
        old_log_prob=old,
        log_prob=new,
        advantages=advantages,
        response_mask=torch.ones(64, 16),
        loss_agg_mode="token-mean",
        config=config,
    )[0]


@pytest.mark.parametrize("mode", OF_LOSSES)
def test_a_loss_depends_on_what_it_is_said_to_read(mode: str) -> None:
    plain = loss_of(mode, {})
    read = {key for key, value in OTHER.items() if loss_of(mode, {key: value}) != plain}
    assert read == {key.removeprefix("actor.") for key in OF_LOSSES[mode]} - {"clip_ratio_low", "clip_ratio_high"}


@pytest.mark.parametrize("estimator", OF_ESTIMATORS)
def test_advantages_depend_on_what_they_are_said_to_read(estimator: str) -> None:
    def advantages(**settings: float | bool) -> torch.Tensor:
        config = AlgoConfig(adv_estimator=estimator, **settings)
        draws = torch.Generator().manual_seed(0)
        rewards = torch.zeros(8, 5)
        rewards[:, -1] = torch.rand(8, generator=draws)
        data = DataProto.from_dict(
            tensors={
                "token_level_rewards": rewards,
                "values": torch.rand(8, 5, generator=draws),
                "response_mask": torch.ones(8, 5),
            },
            non_tensors={"uid": np.array(["a"] * 4 + ["b"] * 4, dtype=object)},
        )
        by_std = config.norm_adv_by_std_in_grpo
        found = compute_advantage(data, estimator, config.gamma, config.lam, 4, by_std, config)
        advantages: torch.Tensor = found.batch["advantages"]
        return advantages

    plain, other = advantages(), {"gamma": 0.5, "lam": 0.5, "norm_adv_by_std_in_grpo": False}
    read = {key for key, value in other.items() if not torch.equal(advantages(**{key: value}), plain)}
    assert read == {key.removeprefix(ALGORITHM) for key in OF_ESTIMATORS[estimator]}


#: Of verl's algorithms those that are named below; tests/test_configs.py has each of them checked as a whole.
NAMED = ("grpo", "rloo", "gspo")


@pytest.fixture(scope="module")
def configs() -> dict[str, DictConfig]:
    return {name: compose_run(name, ["recipe=qwen3_8b"])[0] for name in (*NAMED, "pacs")}


def test_the_shipped_configs_set_nothing_that_is_not_read(configs: dict[str, DictConfig]) -> None:
    assert [list(unread_problems(configs[name])) for name in NAMED] == [[] for _ in NAMED]


def test_what_is_left_as_it_is_is_what_verl_has(configs: dict[str, DictConfig]) -> None:
    shipped = {key: (OmegaConf.select(configs["pacs"], full_name(key), default="missing"),) for key in LEFT_AS_THEY_ARE}
    assert shipped == {key: values[:1] for key, values in LEFT_AS_THEY_ARE.items()}


def test_a_coefficient_of_zero_is_no_mistake(configs: dict[str, DictConfig]) -> None:
    config = configs["grpo"].copy()
    OmegaConf.update(config, f"{ACTOR}kl_loss_coef", 0.0)
    assert list(unread_problems(config)) == []
    OmegaConf.update(config, f"{ACTOR}kl_loss_coef", 0.01)
    (problem,) = unread_problems(config)
    assert problem.startswith(f"{ACTOR}kl_loss_coef=0.01: read with {ACTOR}use_kl_loss=true alone")
    OmegaConf.update(config, f"{ACTOR}use_kl_loss", True)
    assert list(unread_problems(config)) == []


@pytest.mark.parametrize(
    ("name", "key", "value", "mend"),
    [
        ("rloo", f"{ACTOR}policy_loss.loss_mode", "gspo", "or use --config-name gspo"),
        ("gspo", f"{ACTOR}policy_loss.loss_mode", "vanilla", "leave it out."),
        ("grpo", f"{ALGORITHM}adv_estimator", "rloo", "leave it out"),
    ],
)
def test_a_run_by_the_name_of_another_is_warned_of(
    name: str, key: str, value: str, mend: str, configs: dict[str, DictConfig]
) -> None:
    assert checks.warnings(configs[name]) == []
    config = configs[name].copy()
    OmegaConf.update(config, key, value)
    (warning,) = checks.warnings(config)
    assert warning.startswith(f"{key}={value}: ")
    assert f"say {name}: " in warning
    assert mend in warning
