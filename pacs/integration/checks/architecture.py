"""What a model's architecture does not allow, from its config.json alone: no weights, no code but the library's own.

What is not known here (code of a model's own, attention that does not heed where a packed sequence begins) the probe in
the worker finds before the first rollout: `pacs.integration.exactness.layout_check`.
"""

import copy
import math
from collections.abc import Iterator
from typing import Any

import httpx
import torch
from huggingface_hub.errors import StrictDataclassError
from omegaconf import DictConfig, OmegaConf
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, PreTrainedConfig, PreTrainedModel
from transformers import __version__ as transformers_version
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from verl.utils.fsdp_utils import _select_fsdp2_wrap_targets
from verl.utils.model import get_hf_auto_model_class, update_model_config
from verl.utils.torch_dtypes import PrecisionType

from pacs.algorithm.carried import rank_stride
from pacs.base.errors import one_line
from pacs.integration.checks.adapted_layers import adapted_layer_problems
from pacs.integration.checks.models import read_model_config
from pacs.integration.checks.silent import ATTENTION, RECURRENT_LAYERS, silent_problems
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import method_in
from pacs.integration.worker.effective_ranks import final_norm
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import attention as attention_of
from pacs.verl_keys.config import method as method_of_run
from pacs.verl_keys.config import sequence_parallel_size

#: What transformers raises of a config.json that it does not take.
REFUSALS = (AttributeError, TypeError, ValueError, ImportError, AssertionError, StrictDataclassError)


@spelled
def architecture_problems(config: DictConfig) -> Iterator[str]:
    """What would fail in the worker, or give wrong gradients without a word; a sentence each with the mend.

    Nothing where the model's config.json cannot be had (`surroundings_problems` says so) or the model has code of its
    own, which is not executed here.
    """
    model = config.actor_rollout_ref.model
    try:
        found = read_model_config(str(model.path))
    except (OSError, ValueError, httpx.HTTPError):
        return
    kind = found.get("model_type")
    if kind is None or (model.trust_remote_code and "auto_map" in found):
        return
    if kind not in CONFIG_MAPPING:
        yield (
            f"@model.path=: its model_type {kind} is unknown to the installed transformers {transformers_version}: "
            "choose another model, or, if it comes with code that you trust, set @model.trust_remote_code=true."
        )
        return
    try:
        settings = _with_overrides(CONFIG_MAPPING[kind].from_dict(found), model)
    except REFUSALS as error:
        why = one_line(error)[:300]
        yield f"@model.path=: transformers refuses its config.json ({why}); see @model.override_config."
        return
    if problems := list(_verl_problems(settings, config)):
        yield from (f"@model.path= {problem}" for problem in problems)
        return
    model_class = _model_class(settings)
    assert model_class is not None  # or there were problems
    name = model_class.__name__
    try:
        with torch.device("meta"):
            built = model_class._from_config(copy.deepcopy(settings), attn_implementation="eager")
    except REFUSALS as error:
        yield f"@model.path=: transformers cannot build a {name} from its config.json ({one_line(error)[:300]})."
        return
    problems = [*_engine_problems(built, config), *silent_problems(config, built, settings)]
    problems += _rank_problems(built, config)
    problems += adapted_layer_problems(config, built)  # which changes the model
    yield from (f"@model.path= ({name}) {problem}" for problem in problems)


def shared_prefix_problem(found: dict[str, Any], config: DictConfig, longest: int) -> str | None:
    """Why several texts cannot go on from one trunk (`worker/shared_prefix.py`); words that follow the model's name.

    The mask of a shared row says who sees whom, in place of the model's own, and what is no attention has no mask.

    Args:
        found: the model's config.json.
        config: of the run.
        longest: tokens of a row, at most.
    """
    try:
        text = CONFIG_MAPPING[found["model_type"]].from_dict(found).get_text_config()
    except (KeyError, *REFUSALS):  # `architecture_problems` says so, or it is code of the model's own
        return None
    kinds = set(getattr(text, "layer_types", None) or ())
    if layers := sorted(RECURRENT_LAYERS & kinds):
        return f"has layers that carry numbers from each token to the next ({', '.join(layers)})"
    for key, kind in (("sliding_window", "sliding_attention"), ("attention_chunk_size", "chunked_attention")):
        width = getattr(text, key, None)
        if width and width < longest and (not kinds or kind in kinds):
            return f"attends to {width} tokens alone ({key}), and rows have up to {longest}"
    if config.trainer.device == "cpu" and (cap := getattr(text, "attn_logit_softcapping", None)):
        return f"caps the logits of its attention (attn_logit_softcapping={cap}), which nothing does on a CPU"
    return None


def _rank_problems(built: PreTrainedModel, config: DictConfig) -> Iterator[str]:
    """Whether the workers find the states whose effective ranks a run of ours measures."""
    try:
        if method_of_run(config) != "pacs" or rank_stride(method_in(config)) is None:
            return
    except ValueError:  # another check says what is wrong with the method
        return
    try:
        final_norm(built)
    except ValueError as error:
        yield f"is refused: {error}"


def _with_overrides(settings: PreTrainedConfig, model: DictConfig) -> PreTrainedConfig:
    """As verl's HFModelConfig makes it, less what depends on the tokenizer."""
    overrides = plain(model.get("override_config") or {})
    overrides = overrides.get("model_config", overrides)
    update_model_config(settings, {key: value for key, value in overrides.items() if key != "attn_implementation"})
    return settings


def _model_class(settings: PreTrainedConfig) -> type[PreTrainedModel] | None:
    """That verl loads; None if it is none with a language-model head."""
    auto = get_hf_auto_model_class(settings)
    if auto not in (AutoModelForCausalLM, AutoModelForImageTextToText):
        return None
    found = auto._model_mapping.get(type(settings), None)
    classes: tuple[type[PreTrainedModel], ...] = found if isinstance(found, tuple) else (found,)
    # Of several the library takes the one that is named.
    return next((each for each in classes if each and each.__name__ == settings.architectures[0]), classes[0])


def _verl_problems(settings: PreTrainedConfig, config: DictConfig) -> Iterator[str]:
    """What verl's HFModelConfig and its monkey patch ask of a config."""
    architectures = settings.architectures
    if not architectures or len(architectures) != 1:
        yield f"names {architectures or 'no'} architectures in its config.json, and verl needs just one."
        return
    named = f"is of the architecture {architectures[0]}"
    if _model_class(settings) is None:
        yield (
            f"{named}: verl gives a language-model head to architectures named ...ForCausalLM alone (and to models of "
            "image and text), and would train this one without its head: choose another model."
        )
        return
    try:
        heads, key_value_heads = _attention_heads(settings)
    except AttributeError as error:
        mend, known = "choose another model", getattr(settings.get_text_config(), "num_attention_heads", None)
        if error.name == "num_key_value_heads" and known is not None:
            mend = f"set +@model.override_config.num_key_value_heads={known} (each attention head has keys of its own)"
        yield f"{named}, whose config has no {error.name}, which verl's engine reads of every model: {mend}."
        return
    shared = sequence_parallel_size(config)
    if heads % shared or (key_value_heads % shared and shared % key_value_heads):
        yield (
            f"has {heads} attention heads and {key_value_heads} of keys and values, which {shared} ranks "
            f"(@actor.ulysses_sequence_parallel_size) cannot share: use a divisor of {heads} that divides "
            f"{key_value_heads} or is a multiple of it."
        )


def _attention_heads(settings: PreTrainedConfig) -> tuple[int, int]:
    """As verl's apply_monkey_patch reads them; AttributeError where it would raise it."""
    try:
        return settings.num_attention_heads, settings.num_key_value_heads
    except AttributeError:
        text = getattr(settings, "text_config", None) or settings.get_text_config()
        return text.num_attention_heads, text.num_key_value_heads


def _sharding_problem(model: PreTrainedModel, classes: list[str]) -> str | None:
    """Why FSDP2 could not shard layers of these classes one by one, as verl asks it to."""
    layers = _select_fsdp2_wrap_targets(model, classes)
    owners: dict[nn.Parameter, nn.Module] = {}
    for layer in layers:
        for parameter in layer.parameters():
            owner = owners.setdefault(parameter, layer)
            if owner is not layer:
                names = sorted({type(owner).__name__, type(layer).__name__})
                return f"has parameters that several layers to be sharded hold ({', '.join(names)})"
    return None


def _parameters_in(model: PreTrainedModel, name: str) -> int:
    """How many numbers the layers of a class hold."""
    layers = (module for module in model.modules() if type(module).__name__ == name)
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())


def _engine_problems(built: PreTrainedModel, config: DictConfig) -> Iterator[str]:
    """What FSDP2, the attention kernels and the transfer of weights ask of a model."""
    role, attention, shared = config.actor_rollout_ref, attention_of(config), sequence_parallel_size(config)
    key = "actor.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap"
    sharded = OmegaConf.select(role, key) or built._no_split_modules
    if not sharded:
        lists = [module for module in built.modules() if isinstance(module, nn.ModuleList) and len(module)]
        layers = ", ".join(sorted({type(each[0]).__name__ for each in lists})) or "not known"
        yield (
            f"does not say which of its layers FSDP2 is to shard one by one: set +@{key}=[...], and the same for "
            f"actor_rollout_ref.ref; what it has of repeated layers is {layers}."
        )
    else:
        classes = [sharded] if isinstance(sharded, str) else sorted(sharded)
        if (problem := _sharding_problem(built, classes)) is not None:
            fitting = [name for name in classes if _sharding_problem(built, [name]) is None]
            widest = max(fitting, key=lambda name: _parameters_in(built, name), default=None)
            mend = f"set +@{key}=[{widest}], and the same for actor_rollout_ref.ref" if widest else "choose another"
            yield f"{problem}, and FSDP2 gives each parameter to one of them: {mend}."
    there = {"sdpa": built._supports_sdpa, "flash_attention_2": built._supports_flash_attn, "eager": True}
    supported = [name for name, is_there in there.items() if is_there]
    absent = "with + before it where the key is not there yet"
    if attention in there and attention not in supported:
        yield f"has no {attention}: set {ATTENTION}={supported[0]} ({absent})."
    kernels = built._compatible_flash_implementations
    if attention in supported and attention.startswith("flash") and kernels and attention not in kernels:
        fetched = f"transformers would fetch {kernels[0]} from the Hub in its place"
        yield f"has no {attention}: {fetched}. Set {ATTENTION}=eager ({absent}), or that kernel (not tried here)."
    if shared > 1 and not attention.startswith("flash"):
        yield (
            f"would run with {ATTENTION}={attention} and sequences shared by {shared} ranks "
            "(ulysses_sequence_parallel_size), where each rank would attend to its own part alone: verl shares flash "
            "attention only; use that, or ulysses_sequence_parallel_size=1."
        )
    # verl's transfer to vLLM through shared memory, which a CPU needs, cuts no weight in two.
    number = PrecisionType.to_dtype(role.actor.fsdp_config.model_dtype).itemsize
    name, weight = max(built.named_parameters(), key=lambda named: named[1].numel())
    needed = math.ceil(number * weight.numel() / 2**20)
    if config.trainer.device == "cpu" and needed > role.rollout.checkpoint_engine.update_weights_bucket_megabytes:
        bucket = "@rollout.checkpoint_engine.update_weights_bucket_megabytes="
        yield (
            f"has a weight of {needed} MiB ({name}), and on a CPU vLLM is sent no more at a time than {bucket}: set it "
            f"to {needed}."
        )
