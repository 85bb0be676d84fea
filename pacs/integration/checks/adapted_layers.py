"""Which layers of a model would get LoRA's adapters, by peft's own choice, on the model without memory."""

import warnings
from collections.abc import Iterator

from omegaconf import DictConfig
from peft import LoraConfig, TaskType, get_peft_model
from peft.tuners.lora import LoraLayer
from torch import nn
from transformers import PreTrainedModel

from pacs.base.errors import one_line
from pacs.integration.checks.adapters import plain_setting
from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import has_adapters


@spelled
def adapted_layer_problems(config: DictConfig, built: PreTrainedModel) -> Iterator[str]:
    """Which layers would get adapters and must not; clauses that go on from the model's name, with the mend.

    Args:
        config: of the run.
        built: the model, without memory; it is changed.
    """
    if not has_adapters(config):
        return
    model, named = config.actor_rollout_ref.model, "@model.target_modules="
    embeddings = {"embedding": built.get_input_embeddings(), "head": built.get_output_embeddings()}
    tied, layers = embeddings["head"] is not None and bool(built.all_tied_weights_keys), "set it to all-linear"
    chosen = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=model.lora_rank,
        target_modules=plain_setting(model, "target_modules"),
        exclude_modules=plain_setting(model, "exclude_modules"),
    )
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            adapted = get_peft_model(built, chosen)
    except (ValueError, TypeError) as error:
        yield f"would get no adapters by {named} and @model.exclude_modules= ({one_line(error)[:300]}): {layers}."
        return
    if any("no modules were excluded" in str(warning.message) for warning in warned):
        yield (
            "has no layer that @model.exclude_modules= leaves out: as a text it is a regular expression of whole names "
            r"(.*\.k_proj); mend it, or leave it out."
        )
        return
    found = {name: part.get_base_layer() for name, part in adapted.named_modules() if isinstance(part, LoraLayer)}
    for what, layer in embeddings.items():
        if not any(each is layer for each in found.values()):
            continue
        why = "a merged sync to vLLM would leave them out, and vLLM may not know them"
        if tied:
            why = "embedding and head are one tensor there, so that merged adapters make another model of both"
        whose = f"would get adapters on its {what} by {named}"
        yield f"{whose}, and {why}: {layers}, or name layers of the decoder alone."
        return
    if others := sorted({type(layer).__name__ for layer in found.values() if type(layer) is not nn.Linear}):
        yield (
            f"would get adapters on {', '.join(others)} by {named}, and those of linear layers alone are exported: "
            "name others in @model.target_modules, or these in @model.exclude_modules."
        )
