"""The algorithms by the names of their trainers, and the method that a config describes."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm import Method, method_of
from pacs.rewards.composite import Composite, RewardSettings
from pacs.rewards.judge import Judge
from pacs.rewards.reference_probability import settings_of
from pacs.rewards.registry import PATH
from pacs.verl_keys.algorithm_changes import plain

#: Algorithms of verl; each has a primary config of this name.
BASELINES = (
    "ppo", "vcppo", "grpo", "dr_grpo", "dapo", "rloo",
    "gspo", "cispo", "sapo", "clip_cov", "kl_cov", "dppo_tv", "dppo_kl", "opo",
)  # fmt: skip

#: Streams that verl's pass of log pi_old writes.
OF_OLD_LOG_PROBS = frozenset({"old_log_probs", "entropy", "effective_rank", "mean_entropy_slope"})

#: The environment variable with which verl's platform is chosen in every process.
PLATFORM_VARIABLE = "VERL_PLATFORM"


def method_in(config: DictConfig) -> Method:
    """The method that the section `method` describes.

    Raises:
        ValueError: it does not exist, or a setting of it is refused: the key by its full name, and the mend.
    """
    if "method" not in config:
        raise ValueError("the config has no section method: add shared/method to its defaults")
    section = OmegaConf.to_container(config.method, resolve=True)
    assert isinstance(section, dict)
    return method_of({str(key): value for key, value in section.items()})


def composite_in(config: DictConfig) -> Composite | None:
    """What makes the rewards of a run from several parts; None where the verifier's score is the reward.

    Raises:
        ValueError: a setting of `run.reward` is refused: the key by its full name, and the mend.
    """
    settings = RewardSettings.from_mapping(plain(config.run.get("reward") or {}))
    return None if settings.total is None else Composite(settings, int(config.data.max_response_length))


def judge_in(config: DictConfig, router: str | None) -> Judge | None:
    """The judge of a run's rewards, asked at its own address or at that of verl's router; None without one."""
    composite = composite_in(config)
    if composite is None or "judge" not in composite.weights:
        return None
    settings = composite.settings.judge
    if settings.base_url is not None:
        return Judge(settings, settings.base_url, settings.model or "")
    assert router is not None, "verl has started no reward model"
    return Judge(settings, f"http://{router}/v1", config.reward.reward_model.model_path)


def reference_settings_in(config: DictConfig) -> dict[str, Any] | None:
    """`opens` and `baseline` of the verifier `reference_probability`; None where no verifier of ours grades."""
    reward = config.reward.custom_reward_function
    return settings_of(plain(reward.get("reward_kwargs") or {})) if reward.path == PATH else None
