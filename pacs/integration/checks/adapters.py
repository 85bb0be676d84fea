"""What LoRA needs of a config: the keys that FSDP reads, and what a run with adapters cannot do."""

from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.switches import Only, other_than
from pacs.integration.checks.wording import full_name, spelled
from pacs.verl_keys.config import has_adapters

#: vLLM's largest rank, and verl's.
LARGEST_RANK = 512
_MEGATRON = "Megatron reads it; with FSDP all weights would be trained, or others: the keys are @model.lora_rank, "
_MEGATRON += "@model.lora_alpha, @model.target_modules and @model.exclude_modules"
#: Of verl's section `model.lora` the values that mean nothing; `merge` alone is read.
MEGATRONS = {
    "type": "lora", "rank": 0, "alpha": 32, "dropout": 0.0, "exclude_modules": [], "dropout_position": "pre",
    "target_modules": ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"], "lora_A_init_method": "xavier",
    "lora_B_init_method": "zero", "a2a_experimental": False, "dtype": None, "adapter_path": None,
    "freeze_vision_model": True, "freeze_vision_projection": True, "freeze_language_model": True,
}  # fmt: skip
#: What is read with adapters alone, and its values where nobody means to have any.
WITH_ADAPTERS = {
    "lora_alpha": (16,), "target_modules": ("all-linear",), "exclude_modules": (None,), "lora.merge": (False,),
}  # fmt: skip
REFUSED: Only = {
    **{f"model.lora.{name}": ((value,), _MEGATRON) for name, value in MEGATRONS.items()},
    "model.lora_adapter_path": (
        (None,),
        "without @model.lora_rank verl trains all weights in its place, and with it neither rank nor alpha is what the "
        "config says: merge that adapter into its model (peft's merge_and_unload) and train a new one",
    ),
    "model.target_parameters": ((None,), "adapters of parameters that are no linear layer cannot be exported"),
    "critic.model.lora_rank": ((0,), "verl's critic cannot be built with adapters, and its head would not be trained"),
    "critic.model.lora_adapter_path": ((None,), "verl's critic cannot be built with adapters"),
}
#: The same where there are adapters.
REFUSED_WITH_ADAPTERS: Only = {
    "actor.checkpoint.save_lora_only": (
        (False,),
        "a checkpoint without the weights under its adapters is neither resumed on other ranks nor exported",
    ),
    "rollout.layered_summon": ((False,), "it saves memory with FSDP1, and needs a load_format other than dummy"),
}


@spelled
def adapter_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config's LoRA, a sentence each with the setting and the mend."""
    model = config.actor_rollout_ref.model
    yield from other_than(REFUSED, config)
    rank, alpha = model.lora_rank, model.lora_alpha
    if not isinstance(rank, int) or not 0 <= rank <= LARGEST_RANK:
        yield f"@model.lora_rank=: use a whole number of at most {LARGEST_RANK} (8 to 64 are usual), or 0 for none."
        return
    if not has_adapters(config):
        names = [name for name, values in WITH_ADAPTERS.items() if plain_setting(model, name) not in values]
        if names:
            read = ", ".join(f"@model.{name}=" for name in names)
            yield f"{read}: read with @model.lora_rank alone: set that above 0, or leave it out."
        return
    if not isinstance(alpha, int) or alpha < 1:
        yield "@model.lora_alpha=: use a whole number of at least 1; adapters are multiplied by it over the rank."
    yield from other_than(REFUSED_WITH_ADAPTERS, config)
    if "hf_model" in (OmegaConf.select(config, full_name("actor.checkpoint.save_contents")) or []):
        yield (
            "@actor.checkpoint.save_contents= has hf_model: verl would write a model whose weights have peft's names, "
            "which nothing can load. Leave it out: `pacs export` merges the adapters."
        )
    if model.lora.merge and config.actor_rollout_ref.rollout.dtype not in ("bfloat16", "bf16"):
        yield (
            "@model.lora.merge=true with @rollout.dtype=: verl sends merged weights in bfloat16, so that vLLM would "
            "sample from a coarser policy than its dtype says: leave merge out, or set @rollout.dtype=bfloat16."
        )


def plain_setting(model: DictConfig, name: str) -> Any:
    """A setting of the model's section, without OmegaConf's containers."""
    value = OmegaConf.select(model, name)
    return OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
