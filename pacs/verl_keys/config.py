"""What a composed, resolvable config says, by what it means.

Another verl that has no such key makes these raise omegaconf's ConfigAttributeError.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.verl_keys import names
from pacs.verl_keys.algorithm_changes import plain

#: verl's `SYNTHETIC_PADDING_SEQ_LEN`; a config is checked before verl is imported, which takes seconds.
PADDING_TOKENS = 128

#: The attention of rows in which several texts go on from one trunk, as transformers knows it.
SHARED_PREFIX = "shared_prefix"

T = TypeVar("T")


def _setting(name: str, kind: Callable[[Any], T]) -> Callable[[DictConfig], T]:
    """What reads this setting of a config."""
    return lambda config: kind(attrgetter(name)(config))


def _nullable(value: int | None) -> int | None:
    return value


#: The trainer's name: pacs, or a baseline's.
method = _setting(names.METHOD, str)
#: The model that is trained: a folder, or a name of the Hub.
policy_path = _setting(names.POLICY_PATH, str)
#: The column of the data that has the chat messages.
prompt_column = _setting("data.prompt_key", str)
#: Prompts of a training step.
prompts_per_step = _setting(names.PROMPTS_PER_STEP, int)
#: Prompts of a mini-batch, for which the weights change once.
prompts_per_update = _setting(names.PROMPTS_PER_UPDATE, int)
#: How often a step trains on each of its responses.
epochs_per_step = _setting("actor_rollout_ref.actor.ppo_epochs", int)
#: Responses that are sampled to each prompt; with DARS the first ones.
responses_per_prompt = _setting(names.RESPONSES_PER_PROMPT, int)
#: Tokens of a prompt, at most.
longest_prompt = _setting(names.LONGEST_PROMPT, int)
#: Tokens of a response, at most.
longest_response = _setting(names.LONGEST_RESPONSE, int)
#: What the ranks train on: cpu or cuda.
device = _setting("trainer.device", str)
#: Machines.
nodes = _setting(names.NODES, int)
#: Training ranks on each machine, one a GPU.
ranks_per_node = _setting("trainer.n_gpus_per_node", int)
#: Ray's CPUs of a machine, which are slots for actors; None: as many as it has cores.
actor_slots = _setting("ray_kwargs.ray_init.num_cpus", _nullable)
#: Steps of the run; None where its epochs decide.
total_steps = _setting(names.TOTAL_STEPS, _nullable)
#: Steps after which a checkpoint is saved; below 1: none is.
steps_between_checkpoints = _setting("trainer.save_freq", int)
#: How many checkpoints are kept; None: all.
kept_checkpoints = _setting("trainer.max_actor_ckpt_to_keep", _nullable)


def _switch(name: str) -> Callable[[DictConfig], bool]:
    """Whether this setting switches something on; a config that has it not does not."""
    return lambda config: bool(OmegaConf.select(config, name))


#: Whether prompts are drawn by their pass rates.
draws_from_pool = _switch("run.rollouts.pool.weights")
#: Whether hard prompts get more responses than the first ones (DARS).
draws_more = _switch("run.rollouts.dars.schedule")
#: Whether wrong responses are tried again with guidance.
guides = _switch("run.rollouts.guided.after")
#: Whether the steps of responses are valued by completions (VinePPO).
values_steps = _switch("run.rollouts.vine.completions")
#: Whether groups whose responses have all earned the same are sampled anew.
filters_groups = _switch("algorithm.filter_groups.enable")


def attention(config: DictConfig, model: str = "actor_rollout_ref.model") -> str:
    """The attention of the policy, or of the model in another section; that of verl where none is named."""
    return str(OmegaConf.select(config, f"{model}.override_config.attn_implementation", default="flash_attention_2"))


def external_libraries(config: DictConfig) -> list[str]:
    """Modules that verl imports before it builds a model."""
    libraries = OmegaConf.select(config, names.EXTERNAL_LIBRARY) or []
    return [libraries] if isinstance(libraries, str) else [str(each) for each in libraries]


def has_critic(config: DictConfig) -> bool:
    """As verl's need_critic."""
    enabled = config.critic.enable
    return bool(config.algorithm.adv_estimator == "gae" if enabled is None else enabled)


def has_adapters(config: DictConfig) -> bool:
    """Whether adapters are trained (LoRA) in place of the policy's weights."""
    return adapter_rank(config) > 0


def adapter_rank(config: DictConfig) -> int:
    """r of LoRA; 0 where all weights are trained."""
    return int(config.actor_rollout_ref.model.lora_rank)


def adapted_modules(config: DictConfig) -> list[str] | None:
    """Names of the linear layers that have adapters; None: all that are in the decoder.

    Raises:
        UserError: they are given by a regular expression, or some are left out by one.
    """
    model = config.actor_rollout_ref.model
    if model.target_modules == "all-linear" and model.exclude_modules is None:
        return None
    if OmegaConf.is_list(model.target_modules) and model.exclude_modules is None:
        return [str(name) for name in model.target_modules]
    named = "actor_rollout_ref.model.target_modules"
    raise UserError(f"{named}: the plan knows all-linear and a list of names alone, without exclude_modules")


def has_kl(config: DictConfig) -> bool:
    """Whether verl's loss or its reward has a KL term, for which there is a reference policy."""
    return bool(config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward)


def train_files(config: DictConfig) -> list[str]:
    """The files of the training data."""
    files = config.data.train_files
    return [str(file) for file in (files if OmegaConf.is_list(files) else [files]) if file]


def data_files(config: DictConfig) -> list[str]:
    """The files of the training data, and those of the validation's."""
    files = config.data.val_files
    return train_files(config) + [str(file) for file in (files if OmegaConf.is_list(files) else [files]) if file]


def chat_template_options(config: DictConfig) -> dict[str, Any]:
    """What the chat template is given beside the messages."""
    return dict(plain(config.data.get("apply_chat_template_kwargs") or {}))


def data_seed(config: DictConfig) -> int:
    """Of the order of prompts."""
    return int(config.data.get("seed") or 0)


def prompts_per_fetch(config: DictConfig) -> int:
    """Prompts that verl takes of its loader at a time."""
    return int(config.data.get("gen_batch_size") or prompts_per_step(config))


def has_partial_rollouts(config: DictConfig) -> bool:
    """Whether a step leaves the responses that are not done to the next ones (verl's colocate_async)."""
    return prompts_ahead(config) > 0


def prompts_ahead(config: DictConfig) -> int:
    """Prompts that are sampled beyond those of a step."""
    ahead = OmegaConf.select(config, "run.rollouts.partial.ahead")
    return int(ahead * prompts_per_step(config)) if ahead else 0


def has_turns(config: DictConfig) -> bool:
    """Whether responses may have several turns: verl's loop with tools makes them, or one of the user's own."""
    return str(config.actor_rollout_ref.rollout.agent.default_agent_loop) != "single_turn_agent"


def has_generative_critic(config: DictConfig) -> bool:
    """Whether a critic that writes text values the segments of responses (GenAC)."""
    return "genac" in config


def critic_section(config: DictConfig) -> DictConfig:
    """The generative critic's worker and engine: the policy's section with what `genac.critic` changes."""
    section = OmegaConf.merge(resolved_section(config.actor_rollout_ref), resolved_section(config.genac.critic))
    assert isinstance(section, DictConfig)
    OmegaConf.update(section, "model.override_config.attn_implementation", SHARED_PREFIX)
    section.rollout.response_length = config.genac.trace_tokens
    section.rollout.prompt_length = section.rollout.max_model_len - config.genac.trace_tokens
    return section


def resolved_section(section: DictConfig) -> DictConfig:
    """A copy of a section with its references filled in, which stands by itself."""
    copied: DictConfig = OmegaConf.create(dict(plain(section)))
    return copied


def trains_completions(config: DictConfig) -> bool:
    """Whether the completions of a response's prefixes are trained on, those of a prefix as a group."""
    is_number = type(OmegaConf.select(config, "run.rollouts.vine.completions")) is int  # else it is refused
    return is_number and values_steps(config) and bool(OmegaConf.select(config, "run.rollouts.vine.train_completions"))


def uneven_groups(config: DictConfig) -> bool:
    """Whether a prompt may get more rows than `responses_per_prompt`."""
    return draws_more(config) or trains_completions(config)


def most_responses(config: DictConfig) -> int:
    """Responses that a prompt may have, trained completions of theirs among them."""
    if draws_more(config):
        return int(config.run.rollouts.dars.most)
    if not trains_completions(config):
        return responses_per_prompt(config)
    vine = config.run.rollouts.vine
    return int(responses_per_prompt(config) * (1 + (vine.most_steps - 1) * vine.completions))


def longest_row(config: DictConfig) -> int:
    """Tokens of a prompt and its response, at most."""
    return longest_prompt(config) + longest_response(config)


def longest_sequence_tokens(config: DictConfig) -> int:
    """Tokens that one row may have: a prompt and its response, or one of verl's padding rows."""
    return max(longest_row(config), PADDING_TOKENS)


def token_budget(config: DictConfig) -> int:
    """Tokens that a dynamic micro-batch of the update may hold, over the ranks that share its sequences."""
    return int(config.actor_rollout_ref.actor.ppo_max_token_len_per_gpu) * sequence_parallel_size(config)


def ranks(config: DictConfig) -> int:
    """Training ranks on all machines."""
    return ranks_per_node(config) * nodes(config)


def sequence_parallel_size(config: DictConfig) -> int:
    """Ranks that share a sequence: verl's older key if it is above 1, else that of the engine, as verl has it."""
    actor = config.actor_rollout_ref.actor
    older = int(actor.ulysses_sequence_parallel_size)
    return older if older > 1 else int(actor.fsdp_config.ulysses_sequence_parallel_size)


def data_parallel_size(config: DictConfig) -> int:
    """Ranks among which a mini-batch is divided: all of them, less those that share a sequence."""
    return ranks(config) // sequence_parallel_size(config)
