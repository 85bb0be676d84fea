"""Settings of a critic that writes text (`genac.critic`): what is refused of the policy's, and what nothing reads."""

from collections.abc import Callable, Iterator, Mapping

from omegaconf import DictConfig, OmegaConf

from pacs.base.settings import flatten
from pacs.integration.checks.wording import written
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import has_adapters, has_generative_critic, resolved_section, sequence_parallel_size

POLICY, CRITIC = "actor_rollout_ref.", "genac.critic."
_OF_LOSSES = (
    "actor.clip_ratio", "actor.clip_ratio_low", "actor.clip_ratio_high", "actor.clip_ratio_c", "actor.policy_loss",
    "actor.loss_agg_mode", "actor.loss_scale_factor", "actor.entropy_coeff", "actor.use_kl_loss", "actor.kl_loss_coef",
    "actor.kl_loss_type",
)  # fmt: skip
#: Settings, or sections of such, that the critic's worker and engine do not read, and why.
UNREAD: Mapping[str, str] = {
    "ref": "the critic has no reference",
    **dict.fromkeys(
        ("actor.ppo_mini_batch_size", "actor.ppo_epochs", "actor.shuffle"),
        "genac.updates_per_step says how the critic's traces are divided",
    ),
    **dict.fromkeys(_OF_LOSSES, "the critic's loss is REINFORCE"),
    "rollout.n": "a state has one trace",
    **dict.fromkeys(
        ("rollout.response_length", "rollout.prompt_length"), "genac.trace_tokens says how long a trace may be"
    ),
    **dict.fromkeys(("rollout.val_kwargs", "rollout.agent", "rollout.multi_turn"), "it is of the policy's rollouts"),
    "model.override_config.attn_implementation": "the critic has an attention of its own, which shares a response",
}


def as_policy(config: DictConfig) -> DictConfig:
    """A config whose policy has the critic's settings."""
    made: DictConfig = OmegaConf.create(dict(plain(config)))
    section = OmegaConf.merge(resolved_section(config.actor_rollout_ref), resolved_section(config.genac.critic))
    made.actor_rollout_ref = section
    OmegaConf.set_struct(made, True)
    return made


def section_problems(config: DictConfig) -> Iterator[str]:
    """Of `genac.critic`: what is missing in it, what nothing reads, and what is tried of no critic; a sentence each."""
    given = config.genac.critic
    if not OmegaConf.is_dict(given):
        yield f"genac.critic={written(given)}: it is a section: set keys in it, or leave it out."
        return
    for name in given:
        if not OmegaConf.is_dict(given[name]):
            yield f"genac.critic.{name}={written(given[name])}: it is a section: set keys in it, or leave it out."
            return
    if not OmegaConf.select(given, "model.path"):
        yield "genac.critic.model.path is empty: leave it out, or name the critic's folder."
        return
    if type(held := OmegaConf.select(given, "rollout.max_model_len")) is not int:
        yield f"genac.critic.rollout.max_model_len={written(held)}: leave it out, or use a whole number of tokens."
        return
    policys = flatten(plain(config.actor_rollout_ref))
    for key, value in flatten(plain(given)).items():
        if isinstance(policys.get(key), bool) and not isinstance(value, bool):
            yield f"genac.critic.{key}={written(value)}: use true or false."
        if type(policys.get(key)) in (int, float) and type(value) not in (int, float):
            yield f"genac.critic.{key}={written(value)}: use a number, as {policys[key]}."
        for unread, why in UNREAD.items():
            if key == unread or key.startswith(f"{unread}."):
                yield f"genac.critic.{key}={written(value)} is not read: {why}: leave it out."
    critic = as_policy(config)
    if has_adapters(critic) and not has_adapters(config):
        yield f"genac.critic.model.lora_rank={given.model.lora_rank} is not tried: leave it out."
    if (shared := sequence_parallel_size(critic)) != sequence_parallel_size(config):
        yield (
            f"genac.critic: ulysses_sequence_parallel_size={shared}: the critic's attention, which shares a response "
            "among its traces, is not divided among ranks: leave it out."
        )


def of_critic(
    check: Callable[[DictConfig], Iterator[str]], config: DictConfig, *, more_tokens: int = 0
) -> Iterator[str]:
    """What a check of the policy's settings says of the critic's, where it does not say the same of the policy's own.

    Args:
        check: spells settings out.
        config: of any run; without a critic that writes text nothing is said.
        more_tokens: of the critic's rows beside prompt and response, for a check that looks at the rows' lengths.
    """
    if not has_generative_critic(config):
        return
    policys = set(check(config))
    critic = as_policy(config)
    critic.data.max_response_length += more_tokens
    for sentence in check(critic):
        if sentence not in policys:
            yield sentence.replace(POLICY, CRITIC)
