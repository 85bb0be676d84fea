"""verl's settings by their dotted names: to read a run's config.yaml by, to set them, and to tell a user of them."""

from typing import Final

METHOD: Final = "trainer.v1.trainer_mode"
#: A folder, or a name of the Hub.
POLICY_PATH: Final = "actor_rollout_ref.model.path"
#: The model of a critic that writes text, as it was at the start; ours.
CRITIC_PATH: Final = "genac.critic.model.path"
RUN_NAME: Final = "trainer.experiment_name"
#: Steps of a whole run.
TOTAL_STEPS: Final = "trainer.total_training_steps"
NODES: Final = "trainer.nnodes"
#: Tokens of a response, at most.
LONGEST_RESPONSE: Final = "data.max_response_length"
LONGEST_PROMPT: Final = "data.max_prompt_length"
PROMPTS_PER_STEP: Final = "data.train_batch_size"
PROMPTS_PER_UPDATE: Final = "actor_rollout_ref.actor.ppo_mini_batch_size"
RESPONSES_PER_PROMPT: Final = "actor_rollout_ref.rollout.n"
#: float32 or bf16, of weights and of Adam's moments.
TRAINED_DTYPE: Final = "actor_rollout_ref.actor.fsdp_config.model_dtype"
#: A file or a list.
TRAIN_FILES: Final = "data.train_files"
VALIDATION_FILES: Final = "data.val_files"
DATA_SEED: Final = "data.seed"
ROLLOUT_SEED: Final = "actor_rollout_ref.rollout.seed"
#: What vLLM samples with.
SAMPLING_DTYPE: Final = "actor_rollout_ref.rollout.dtype"
#: A mapping: its file, its name, and the arguments that it is given.
REWARD_FUNCTION: Final = "reward.custom_reward_function"
REWARD_ARGUMENTS: Final = f"{REWARD_FUNCTION}.reward_kwargs"
#: Of a Ray that runs already.
RAY_ADDRESS: Final = "ray_kwargs.ray_init.address"

#: Sections that verl asks about before it reads them; null in place of any other ends a worker.
OR_NULL: Final = frozenset({
    "custom_sampler", "env_vars", "mixed_precision", "mm_processor_kwargs", "overlong_buffer_cfg",
    "override_optimizer_config", "qat", "reward_kwargs", "rollout_correction", "runtime_env", "sampler_kwargs", "vllm",
})  # fmt: skip


def may_be_null(section: str) -> bool:
    """Whether null may stand in place of a section; of ours another check knows."""
    return section.startswith(("method.", "run.", "genac.")) or section.rpartition(".")[2] in OR_NULL


#: A number by default, which may be a text.
NUMBER_OR_TEXT: Final = ("algorithm.rollout_correction.rollout_is_threshold",)

# What makes room in memory.
_ACTOR, _ROLLOUT, _MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"
#: GiB of vLLM's cache on a CPU.
CPU_CACHE: Final = "ray_kwargs.ray_init.runtime_env.env_vars.VLLM_CPU_KVCACHE_SPACE"
#: Share of a GPU that vLLM takes.
ENGINE_MEMORY_SHARE: Final = f"{_ROLLOUT}.gpu_memory_utilization"
#: GPUs of one engine.
ENGINE_GPUS: Final = f"{_ROLLOUT}.tensor_model_parallel_size"
#: Whether vLLM gives its memory back while the trainer works.
ENGINE_FREES_MEMORY: Final = f"{_ROLLOUT}.free_cache_engine"
#: Tokens of a rank in a micro-batch of an update.
UPDATE_TOKENS: Final = f"{_ACTOR}.ppo_max_token_len_per_gpu"
CRITIC_UPDATE_TOKENS: Final = "critic.ppo_infer_max_token_len_per_gpu"
FUSED_HEAD: Final = f"{_MODEL}.use_fused_kernels"
GRADIENT_CHECKPOINTING: Final = f"{_MODEL}.enable_gradient_checkpointing"
#: A module or a list of them, which verl imports before it builds a model.
EXTERNAL_LIBRARY: Final = f"{_MODEL}.external_lib"
OPTIMIZER_OFFLOAD: Final = f"{_ACTOR}.fsdp_config.optimizer_offload"
WEIGHTS_OFFLOAD: Final = f"{_ACTOR}.fsdp_config.param_offload"
CRITIC_OPTIMIZER_OFFLOAD: Final = "critic.fsdp.optimizer_offload"

#: What is validated, how and when: it changes no weights, and what is measured of them (beginnings of keys).
OF_VALIDATION: Final = ("data.val", f"{_ROLLOUT}.val_kwargs", "trainer.test_freq")

#: The settings that a reader of a model card asks for first.
ON_THE_CARD: Final = (
    PROMPTS_PER_STEP,
    RESPONSES_PER_PROMPT,
    "actor_rollout_ref.rollout.temperature",
    LONGEST_PROMPT,
    LONGEST_RESPONSE,
    PROMPTS_PER_UPDATE,
    "actor_rollout_ref.actor.optim.lr",
)

#: Settings (globs) that do not make another experiment.
INCIDENTAL: Final = (
    # seeds
    "*.seed",
    "*_seed",
    # names, and the folders a run writes to
    "*.experiment_name",
    "*.project_name",
    "*.served_model_name",
    "trainer.default_local_dir",
    "trainer.default_hdfs_dir",
    "trainer.rollout_data_dir",
    "trainer.validation_data_dir",
    # how a run is saved, watched and resumed
    "*.checkpoint.*",
    "trainer.logger",
    "trainer.max_*_ckpt_to_keep",
    "trainer.resume_*",
    "trainer.save_freq",
    "trainer.test_freq",
    "trainer.log_val_generations",
)
