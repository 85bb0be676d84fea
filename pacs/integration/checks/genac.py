"""What a critic that writes text (`genac`) needs of a config, and of its folder."""

from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm.genac.method import GenAc
from pacs.base.errors import UserError, did_you_mean
from pacs.base.settings import flatten
from pacs.evaluation.genac.templates import template_named
from pacs.integration.checks.batch import engine_problems
from pacs.integration.checks.bounds import value_problems
from pacs.integration.checks.critic_section import of_critic, section_problems
from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.models import config_or_problem, head_problems, named_problems, vocabulary_problems
from pacs.integration.checks.pacs import QUANTIZED
from pacs.integration.checks.prompts import tokenizer_of
from pacs.integration.checks.wording import spelled, written
from pacs.integration.schema import method_in
from pacs.runs.genac_settings import GenacSettings
from pacs.verl_keys import config as keys
from pacs.verl_keys.algorithm_changes import plain

#: Share of a GPU's memory that the engines of both models may have together.
MOST_MEMORY = 0.95


@spelled
def genac_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config that has, or needs, a critic that writes text; a sentence each."""
    is_genac = keys.method(config) == "pacs" and str(OmegaConf.select(config, "method.name")) == "genac"
    if not keys.has_generative_critic(config):
        if is_genac:
            yield "method.name=genac needs the section genac, which says what its critic is: use --config-name genac."
        return
    if not is_genac:
        yield "The section genac is read by method.name=genac alone: use --config-name genac, or leave it out."
        return
    try:
        settings = GenacSettings.from_mapping(plain(config.genac))
    except ValueError as error:
        yield str(error)
        return
    known = flatten(plain(config.actor_rollout_ref))
    changed = flatten(plain(OmegaConf.create({"critic": settings.critic or {}}))["critic"])
    unknown = [key for key in changed if key not in known and not any(name.startswith(f"{key}.") for name in known)]
    for key in unknown:
        yield (
            f"genac.critic.{key} is not a setting of a worker: it takes the keys below actor_rollout_ref"
            f".{did_you_mean(key, known)}"
        )
    if unknown:
        return
    if problems := list(section_problems(config)):
        yield from problems
        return
    for check in (value_problems, engine_problems):
        yield from of_critic(check, config)
    yield from _lengths(config, settings)
    yield from _others(config, settings)


def _lengths(config: DictConfig, settings: GenacSettings) -> Iterator[str]:
    """Everything that the critic reads and writes fits its engine and its micro-batches."""
    section = keys.critic_section(config)
    needed = keys.longest_row(config) + settings.template_tokens + settings.trace_tokens
    parts = (
        "data.max_prompt_length, data.max_response_length, genac.template_tokens and genac.trace_tokens make "
        f"{needed} tokens"
    )
    held = section.rollout.max_model_len
    if not isinstance(held, int) or held < needed:
        yield f"genac.critic.rollout.max_model_len={held}: {parts}: leave it out, or lower the lengths."
    if section.actor.ppo_max_token_len_per_gpu < needed:
        yield (
            f"genac.critic.actor.ppo_max_token_len_per_gpu={section.actor.ppo_max_token_len_per_gpu} does not hold one "
            f"row: {parts}: raise it."
        )
    if settings.segments.most_tokens < settings.segments.least_tokens:
        yield (
            f"genac.segments.most_tokens={settings.segments.most_tokens} is below "
            f"genac.segments.least_tokens={settings.segments.least_tokens}: raise the one, or lower the other."
        )
    if not section.actor.use_dynamic_bsz:
        yield (
            "genac: the critic's rows are as many as the policy's responses, of any number: set "
            "actor_rollout_ref.actor.use_dynamic_bsz=true."
        )
    if (shared := keys.sequence_parallel_size(config)) > 1:
        yield (
            f"genac with ulysses_sequence_parallel_size={shared}: the critic's attention, which shares a response "
            "among its traces, is not divided among ranks: set it to 1."
        )


@spelled
def _others(config: DictConfig, settings: GenacSettings) -> Iterator[str]:
    rollout, trainer = config.actor_rollout_ref.rollout, config.trainer
    if settings.rate.first is None and not trainer.get("val_before_train", True):
        yield (
            "genac.rate.first=null takes the pass rate of the validation before training: set "
            "@trainer.val_before_train=true, or give the rate (`pacs evaluate` measures it)."
        )
    yield from feature_problems(config, "genac.template")
    responses = keys.prompts_per_step(config) * keys.responses_per_prompt(config)
    ranks = keys.data_parallel_size(config)
    if settings.updates_per_step * ranks > responses:
        yield (
            f"genac.updates_per_step={settings.updates_per_step}: each update takes the traces about a response on "
            f"each rank ({ranks}), and a step has {responses} responses (@data.train_batch_size= times @rollout.n=): "
            f"lower it to {max(responses // ranks, 1)} at most."
        )
    of_critic = keys.critic_section(config).rollout
    for name in QUANTIZED:
        value = OmegaConf.select(keys.critic_section(config), name)
        if value not in (None, False, "auto"):
            yield (
                f"genac.critic.{name}={written(value)} (the policy's, where it is not set): the traces would be of "
                "another critic than the trained one, which nothing makes up for: leave it out, or set it to null."
            )
    for key, all_of_it in (("top_p", 1), ("top_k", -1)):
        if of_critic[key] != all_of_it:
            yield (
                f"genac.critic.rollout.{key}={of_critic[key]}: the critic is trained on what its whole distribution "
                f"gave: leave it out, or set it to {all_of_it}."
            )
    shares = rollout.gpu_memory_utilization, keys.critic_section(config).rollout.gpu_memory_utilization
    if trainer.device != "cpu" and sum(shares) > MOST_MEMORY:
        yield (
            f"@rollout.gpu_memory_utilization= and genac.critic.rollout.gpu_memory_utilization={shares[1]} make "
            f"{sum(shares):g} of each GPU, which the two engines share: lower them to {MOST_MEMORY} together."
        )


@spelled
def critic_folder_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the critic's files and its template, a sentence each; none without such a critic."""
    if not keys.has_generative_critic(config) or not isinstance(method_in(config), GenAc):
        return
    try:
        template = template_named(config.genac.template, "genac.template=")
    except UserError as error:
        yield str(error) if str(error)[-1] in ".?" else f"{error}."
        return
    if not template.tail:  # verl takes a token's log-probability from the place before it in the row
        yield (
            f"genac.template={config.genac.template} ends with {{partial_solution}}: each trace would go on from the "
            "one before it in their row: write something behind it, as </partial_solution>."
        )
    path = str(keys.critic_section(config).model.path)
    named = f"genac.critic.model.path={path}"
    if path == str(config.actor_rollout_ref.model.path) and not Path(path).expanduser().is_dir():
        return  # another check says what is wrong with it
    if problems := list(named_problems(path, named, template=False)):
        yield from problems
        return
    # The library of models takes seconds to import.
    from pacs.integration.checks.architecture import architecture_problems, shared_prefix_problem

    found = config_or_problem(path, named)
    if isinstance(found, str):
        yield found
        return
    more = config.genac.template_tokens + config.genac.trace_tokens
    if problems := list(of_critic(architecture_problems, config, more_tokens=more)):
        yield from problems
        return
    context, held = found.get("max_position_embeddings"), keys.critic_section(config).rollout.max_model_len
    if why := shared_prefix_problem(found, config, keys.longest_row(config) + more):
        shared = "the critic's traces share a row, which needs plain attention to all of it"
        yield f"{named} {why}: {shared}: choose another critic."
    if context is not None and context < held:
        yield (
            f"{named} has {context} positions (max_position_embeddings), but problem, response, "
            f"template and trace make {held}: lower genac.trace_tokens, genac.template_tokens or "
            "data.max_response_length, or choose a critic with a longer context."
        )
    yield from head_problems(config, found, named)
    policys = tokenizer_of(config)
    if policys is None:
        return
    around = template.head("", 0.5, config.genac.model_size), template.tail
    tokens = sum(len(policys.encode(text, add_special_tokens=False)) for text in around)
    if tokens > config.genac.template_tokens:
        yield (
            f"genac.template={config.genac.template} has {tokens} tokens around problem and response: raise "
            f"genac.template_tokens={config.genac.template_tokens} to as many, or shorten it."
        )
    mend = "the critic reads the policy's tokens, so that it has to be of the same vocabulary"
    yield from vocabulary_problems(policys, path, named, mend)
