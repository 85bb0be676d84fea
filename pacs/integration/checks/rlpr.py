"""What the verifier `reference_probability` and a filter by standard deviations need of a config, and of the data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.data.baseline import Baselines, baseline_file, read_baseline_file
from pacs.data.rates import problem_key
from pacs.data.schema import BATCH_ROWS
from pacs.evaluation.model import model_sha256
from pacs.integration.checks.data_rows import Note
from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import method_in, reference_settings_in
from pacs.rewards.reference_answer import NAME
from pacs.runs.settings import RlprSettings
from pacs.verl_keys import config as keys
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.names import REWARD_ARGUMENTS

WEIGHT: Final = "@run.rlpr.answer_weight="
TRAINED: Final = "data.train_files"
#: How our agent-loop managers' names begin.
OURS: Final = "pacs.integration."
ARGUMENTS: Final = f"{REWARD_ARGUMENTS}.{NAME}"


@spelled
def rlpr_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the settings whatever the data are; a sentence each with the setting and the mend."""
    rlpr = config.run.rlpr
    settings = reference_settings_in(config)
    if settings is not None and not str(settings["opens"]).strip():
        yield f"@{ARGUMENTS}.opens= opens nothing: give what stands before an answer, as \\boxed{{ or <answer>."
    yield from feature_problems(config, "run.rlpr.std_filter.share")
    if rlpr.std_filter.share is not None and keys.responses_per_prompt(config) < 2:
        one = "one response (@rollout.n=) has no standard deviation"
        yield f"@run.rlpr.std_filter.share=: {one}: sample more, or set it to null."
    if not rlpr.answer_weight:
        return
    if keys.method(config) != "pacs":
        yield (
            f"{WEIGHT}: verl's own algorithms, as {keys.method(config)}, have no such term: use a method of ours "
            "(--config-name pacs; GRPO of ours is a config whose method.name is pacs.algorithm.aggregated.Grpo), or "
            "set it to 0."
        )
    if not rlpr.mask_answer:
        yield (
            f"{WEIGHT} trains the reference answer in place of the sampled one, which @run.rlpr.mask_answer= asks "
            "to train: set mask_answer=true, or the weight to 0."
        )
    if config.actor_rollout_ref.rollout.get("enable_rollout_routing_replay"):
        yield (
            f"{WEIGHT}: @rollout.enable_rollout_routing_replay=true has no experts of tokens that were not sampled: "
            "leave out either."
        )
    if (temperature := config.actor_rollout_ref.rollout.get("temperature", 1.0)) != 1:
        yield (
            f"{WEIGHT} trains the reference answer's probability at @rollout.temperature={temperature}, and what is "
            "rewarded is that at 1, as vLLM gives it: leave out either."
        )
    if keys.draws_more(config) and config.run.rollouts.dars.scale:
        yield (
            f"{WEIGHT} is a mean over responses, in which a larger group pulls more, as @run.rollouts.dars.scale=true "
            "asks it not to: leave out either."
        )


@spelled
def reference_problems(config: DictConfig, files: Sequence[tuple[str, Path]]) -> Iterator[str]:
    """What is wrong with the verifier, its settings and the baselines beside the data; a sentence each.

    Args:
        config: of the run.
        files: its data, in verl's schema, each with the setting that names it.
    """
    settings = reference_settings_in(config)
    graded = [] if settings is None else [(key, file, has) for key, file in files if (has := _problems(config, file))]
    if not graded:
        for key in _changed(config):
            yield (
                f"@{key}= is not read: no row of the data is graded by the verifier {NAME} (extra_info.verifier): name "
                "it there, or leave this out."
            )
        return
    assert settings is not None
    of = f"{graded[0][0]}={graded[0][1]} has rows with the verifier {NAME}"
    manager = config.actor_rollout_ref.rollout.agent.get("agent_loop_manager_class")
    if manager is not None and not str(manager).startswith(OURS):  # seeds and DARS have set ours
        named = "@rollout.agent.agent_loop_manager_class="
        yield f"{of}, for which our agent loops measure, and {named} has others: leave it out."
    if keys.values_steps(config):
        yield f"{of}, by which no completion is graded: leave out @run.rollouts.vine.completions=, or set it to null."
    if keys.guides(config) and (trained := [file for key, file, _ in graded if key == TRAINED]):
        yield (
            f"{TRAINED}={trained[0]} has rows with the verifier {NAME}, by which no retry is graded, and none is "
            "right: leave out @run.rollouts.guided.after=, or set it to null."
        )
    yield from _label_problems(config, of)
    if not settings["baseline"]:
        return
    if (config.data.get("custom_cls") or {}).get("path") is not None:
        yield (
            f"{of}, whose baselines are of the rows of verl's own dataset, and this run has @data.custom_cls.path=: "
            f"leave that out, or set ++{ARGUMENTS}.baseline=false."
        )
    for _, file, problems in graded:
        yield from _baseline_problems(config, file, problems, str(settings["opens"]))


def _label_problems(config: DictConfig, of: str) -> Iterator[str]:
    if keys.method(config) != "pacs" or config.run.reward.total == "threshold":
        return
    try:
        ours = method_in(config)
    except ValueError:  # said by the method's check
        return
    name = config.method.name
    if ours.label_kind == "classes":
        yield (
            f"{of}, whose scores lie between 0 and 1, and {name} trains on right and wrong responses alone with these "
            "settings: set run.reward.total=threshold (what reaches run.reward.threshold is right), or use a method "
            "that takes numbers (pacs with method.weight_scope=group, gvpo, maxrl, raft, or verl's algorithms)."
        )
    elif ours.reference.reset_at_saturation is not None:
        yield (
            f"{of}, whose scores lie between 0 and 1, so that no residual says how much is learned, by which "
            "@method.reference.reset_at_saturation= resets: leave it out."
        )


def _baseline_problems(config: DictConfig, file: Path, problems: set[str], opens: str) -> Iterator[str]:
    thinking = bool(keys.chat_template_options(config).get("enable_thinking", True))
    command = f"pacs data baseline {keys.policy_path(config)} --data {file}" + f" --opens '{opens}'"
    mend = f"run `{command}{'' if thinking else ' --no-thinking'}`, or set ++{ARGUMENTS}.baseline=false"
    try:
        found = read_baseline_file(baseline_file(file))
    except UserError as error:
        yield f"the verifier {NAME} subtracts the initial policy's probability: {error}: {mend}."
        return
    beside = f"{baseline_file(file)}"
    missing = len(problems - {each.key for each in found.problems})
    if found.data_sha256 != file_sha256(file) and missing:
        yield f"{beside} lacks {missing:,} of the {len(problems):,} problems that {file} has now: {mend}."
    elif found.opens != opens:
        yield f"{beside} is of answers behind {found.opens}, and @{ARGUMENTS}.opens= is another: {mend}."
    elif found.thinking != thinking:
        yield f"{beside} is of a chat template with enable_thinking={str(found.thinking).lower()}: {mend}."


def note_measured_model(config: DictConfig, files: Sequence[tuple[str, Path]], note: Note) -> None:
    """Warn of baselines that are another model's, as far as the run's model is a folder here."""
    settings, folder = reference_settings_in(config), Path(keys.policy_path(config)).expanduser()
    if settings is None or not settings["baseline"] or not folder.is_dir():
        return
    digest = None
    for _, file in files:
        if not baseline_file(file).is_file() or not _problems(config, file):
            continue
        found: Baselines = read_baseline_file(baseline_file(file))
        digest = digest or model_sha256(folder)
        if found.model_sha256 != digest:
            note(
                f"warning: {baseline_file(file)} is by another model ({found.model}, sha256 {found.model_sha256[:12]}) "
                f"than {folder}: the verifier {NAME} subtracts what that one gives right answers"
            )


def _problems(config: DictConfig, file: Path) -> set[str]:
    """The keys of those in the rows that the verifier grades."""
    schema, prompt = pq.read_schema(file), config.data.prompt_key
    if "extra_info" not in schema.names or schema.field("extra_info").type.get_field_index("verifier") < 0:
        return set()
    problems = set()
    columns: list[Any] = [prompt, "reward_model.ground_truth", "extra_info.verifier"]
    for batch in pq.ParquetFile(file).iter_batches(BATCH_ROWS, columns=columns):
        for row in batch.to_pylist():
            if (row["extra_info"] or {}).get("verifier") == NAME:
                problems.add(problem_key(row[prompt], row["reward_model"]["ground_truth"]))
    return problems


def _changed(config: DictConfig) -> list[str]:
    """What is set for the verifier alone."""
    given = plain(config.run.rlpr)
    changed = [
        f"run.rlpr.{name}" for name, value in RlprSettings() if name != "std_filter" and given.get(name) != value
    ]
    return changed + ([ARGUMENTS] if OmegaConf.select(config, ARGUMENTS) else [])
