"""What a composed config says of a step."""

from dataclasses import replace
from typing import Literal

import numpy as np
from omegaconf import DictConfig

from pacs.algorithm import ReferenceSchedule
from pacs.algorithm.distillation import teacher_of
from pacs.base.errors import UserError
from pacs.planning import assumptions as assumed
from pacs.planning.architecture import Architecture, find_architecture
from pacs.planning.devices import Device
from pacs.planning.lengths import Lengths, Sample, step_lengths
from pacs.planning.workload import Reference, Workload
from pacs.verl_keys import config as keys
from pacs.verl_keys.names import LONGEST_RESPONSE
from pacs.verl_keys.workload import Trained, engine_gpus, read_critic, read_engine, read_policy


def read_workload(
    config: DictConfig, device: Device, mean_response_tokens: float | None = None, lengths: Sample | None = None
) -> Workload:
    """The step of a composed, resolvable config.

    Args:
        config: verl's config with a `pacs` section.
        device: that it runs on.
        mean_response_tokens: of a response; None: `MEAN_RESPONSE_SHARE` of the longest.
        lengths: that were seen of prompts, of responses, or of both; those come before `mean_response_tokens`.

    Raises:
        UserError: it is a run of another kind than ours.
    """
    from pacs.integration.strategy import choose

    longest = keys.longest_response(config)
    mean = assumed.MEAN_RESPONSE_SHARE.value * longest if mean_response_tokens is None else mean_response_tokens
    if not 0 < mean <= longest:
        raise UserError(f"--mean-response-tokens {mean:g} must be above 0 and at most {LONGEST_RESPONSE}={longest}")
    architecture = find_architecture(keys.policy_path(config))
    critic = read_critic(config, architecture.critic_parameters)
    algorithm, prompts = keys.method(config), keys.prompts_per_step(config)
    least, most = keys.responses_per_prompt(config), keys.most_responses(config)
    completions, trained = _completions(config), keys.trains_completions(config)
    group = round(least * (1 + completions) if trained else least + assumed.FURTHER_SHARE.value * (most - least))
    mini_batches = -(-prompts // keys.prompts_per_update(config))
    strategy = choose(config, most * keys.longest_sequence_tokens(config)).strategy if algorithm == "pacs" else None
    work = Workload(
        algorithm=algorithm if strategy is None else str(config.method.name),
        architecture=architecture,
        device=device,
        on_cpu=keys.device(config) == "cpu",
        ranks=keys.ranks(config),
        nodes=keys.nodes(config),
        sequence_parallel=keys.sequence_parallel_size(config),
        rows=prompts * group,
        assumed_group=group if keys.uneven_groups(config) else None,
        kept_share=assumed.KEPT_SHARE.value if keys.filters_groups(config) else None,
        completions=0 if trained else completions,
        mini_batches=mini_batches,
        epochs=keys.epochs_per_step(config),
        response_tokens=longest,
        lengths=step_lengths(prompts, group, mean, longest, keys.longest_prompt(config), lengths),
        row_tokens=keys.longest_row(config),
        policy=read_policy(config, architecture.parameters, architecture.vocab_size, _adapters(config, architecture)),
        critic=critic,
        reference=_reference(config, algorithm, one_update=mini_batches * keys.epochs_per_step(config) == 1),
        teacher=_teacher(config, algorithm),
        policy_passes=_policy_passes(config, strategy),
        strategy=strategy,
        engine=read_engine(config),
        steps=keys.total_steps(config),
        save_every=keys.steps_between_checkpoints(config),
        ahead=keys.prompts_ahead(config),
        max_staleness=config.run.rollouts.partial.max_staleness if keys.has_partial_rollouts(config) else 1,
        engine_gpus=engine_gpus(config),
    )
    if not keys.has_generative_critic(config):
        return work
    judge, asked = _judge(config, work)
    return replace(work, judge=judge, asked=asked)


def _judge(config: DictConfig, work: Workload) -> tuple[Workload, Workload]:
    """As `Workload.judge` and `Workload.asked` have it."""
    section, genac, rows = keys.critic_section(config), config.genac, work.lengths
    of_critic = config.copy()
    of_critic.actor_rollout_ref = section
    architecture = find_architecture(str(section.model.path))
    segment = max(min(assumed.SEGMENT_TOKENS.value, genac.segments.most_tokens), 1)
    trace = round(min(assumed.TRACE_TOKENS.value, genac.trace_tokens))
    traces = np.maximum(1, np.round(rows.responses / segment).astype(np.int64))
    problems = np.repeat(rows.prompts, len(rows.responses) // len(rows.prompts)) + genac.template_tokens
    # A trace sees its own part of the response alone.
    pairs = ((problems + rows.responses) ** 2 / 2 + traces * trace * (problems + rows.responses / 2 + trace / 2)).sum()
    judge = replace(
        work,
        architecture=architecture,
        lengths=Lengths(problems, rows.responses + traces * trace, rows.source, float(pairs)),
        row_tokens=min(int(section.rollout.max_model_len), int(section.actor.ppo_max_token_len_per_gpu)),
        policy=read_policy(of_critic, architecture.parameters, architecture.vocab_size),
        reference=None,
        policy_passes=0,
        strategy=None,
        mini_batches=min(genac.updates_per_step, len(rows.responses)),
        epochs=1,
        engine=read_engine(of_critic),
    )
    each = round(float(traces.mean()))
    written = Lengths(problems + rows.responses, np.full(each * len(problems), trace), rows.source)
    return judge, replace(judge, lengths=written)


def _adapters(config: DictConfig, architecture: Architecture) -> int:
    """Parameters of the policy's adapters."""
    rank = keys.adapter_rank(config)
    return architecture.adapter_parameters(rank, keys.adapted_modules(config)) if rank else 0


def _teacher(config: DictConfig, algorithm: str) -> tuple[Architecture, Trained] | None:
    """As `Workload.teacher` has it: laid out and sharded as the policy is."""
    from pacs.integration.schema import method_in

    if algorithm != "pacs" or not (teacher := teacher_of(method_in(config))):
        return None
    architecture = find_architecture(teacher)
    return architecture, read_policy(config, architecture.parameters, architecture.vocab_size)


def _completions(config: DictConfig) -> int:
    """As `Workload.completions` has it; those of the prompt, which its responses share, are not in it."""
    if not keys.values_steps(config):
        return 0
    vine = config.run.rollouts.vine
    return int((min(assumed.VALUED_STEPS.value, vine.most_steps) - 1) * vine.completions)


def _policy_passes(config: DictConfig, strategy: Literal["grouped", "cached"] | None) -> int:
    """As `Workload.policy_passes` has it."""
    from pacs.integration.schema import OF_OLD_LOG_PROBS, method_in

    if strategy is None:
        return 1
    # `cached` scores the rows of each mini-batch before its update, in every epoch.
    scoring = keys.epochs_per_step(config) if strategy == "cached" else 0
    return scoring + (not OF_OLD_LOG_PROBS.isdisjoint(method_in(config).reads))


def _reference(config: DictConfig, algorithm: str, *, one_update: bool) -> Reference | None:
    """As `Workload.reference` has it."""
    from pacs.integration.schema import method_in

    kept: Reference = "adapters" if keys.has_adapters(config) else "model"
    if algorithm != "pacs":
        return kept if keys.has_kl(config) else None
    if teacher_of(method_in(config)):
        return "model"
    if ReferenceSchedule(method_in(config).reference).needs_model:
        return kept
    return None if one_update else "policy"
