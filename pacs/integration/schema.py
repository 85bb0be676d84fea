"""The algorithms by the names of their trainers, and which keys of `pacs` are PACS's and which are the run's."""

from typing import Any

from omegaconf import DictConfig, OmegaConf

#: Algorithms of verl; each has a primary config of this name.
BASELINES = (
    "ppo", "grpo", "dr_grpo", "dapo", "rloo",
    "gspo", "cispo", "sapo", "clip_cov", "kl_cov", "dppo_tv", "dppo_kl", "opo",
)  # fmt: skip

#: Keys of `pacs` about the run; all others are fields of `Pacs`, and there only under PACS.
RUN_KEYS = ("run_dir", "sample_groups", "faults", "resume", "rollouts", "reasoning")

#: The environment variable with which verl's platform is chosen in every process.
PLATFORM_VARIABLE = "VERL_PLATFORM"


def algorithm_section(config: DictConfig) -> dict[str, Any]:
    """The keys of `pacs` that make a `Pacs`."""
    section = OmegaConf.to_container(config.pacs, resolve=True)
    assert isinstance(section, dict)
    return {str(key): value for key, value in section.items() if key not in RUN_KEYS}
