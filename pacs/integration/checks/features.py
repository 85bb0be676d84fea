"""Features that a run switches on, as a table: what is read with the switch alone, and what each does not go with.

What is peculiar to one feature is in its own check, which asks `feature_problems` for the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow.parquet as pq
from omegaconf import DictConfig, ListConfig, OmegaConf
from yaml import YAMLError

from pacs.integration.checks.wording import full_name, spelled
from pacs.runs import settings
from pacs.verl_keys.config import method

#: verl's agent loop of one turn.
SINGLE_TURN: Final = "single_turn_agent"
NOT_TRIED, NOT_BUILT = "is not tried", "is not built"
#: Settings of what a prompt's responses, or a step's prompts, depend on each other by.
DEPENDENT: Final = (
    "algorithm.filter_groups.enable",
    "run.rollouts.dars.schedule",
    "run.rollouts.guided.after",
    "run.rollouts.pool.weights",
    "run.rollouts.vine.completions",
)
_ALL_THERE = "grades when all responses are there"


class Feature(NamedTuple):
    """What a switch needs.

    Attributes:
        on: how it is switched on, in words.
        unused: settings beside the switch that nothing reads without it -> values of who does not mean to use them.
        besides: settings that it does not go with -> what of the two together.
        ungraded: what a reward model without a pool of its own does; empty: that is no matter.
        turns: why responses of several turns do not do; empty: they do.
        manager: has an agent-loop manager of its own.
        words: behind the switch, in a message.
    """

    on: str = "true"
    unused: Mapping[str, tuple[Any, ...]] = {}
    besides: Mapping[str, str] = {}
    ungraded: str = ""
    turns: str = ""
    manager: bool = False
    words: str = ""


def _defaults(section: Any) -> dict[str, tuple[Any, ...]]:
    return {name: (default, None) for name, default in section()}


#: By the switch.
FEATURES: Final[Mapping[str, Feature]] = {
    "run.rollouts.seeded": Feature(manager=True),
    "run.rollouts.dars.schedule": Feature(
        "equal or hardness",
        _defaults(settings.DarsSettings),
        ungraded=f"{_ALL_THERE}, too late for a second stage",
        manager=True,
    ),
    "run.rollouts.vine.completions": Feature(
        "how many completions value a step",
        _defaults(settings.VineSettings),
        {"run.rollouts.dars.schedule": NOT_TRIED},
        ungraded=f"{_ALL_THERE}, and no completion",
        turns="a prefix of several turns cannot be completed by one call of the engine",
        manager=True,
    ),
    "run.rollouts.vine.train_completions": Feature(
        besides=dict.fromkeys(
            ("algorithm.filter_groups.enable", "run.rollouts.guided.after", "run.rlpr.std_filter.share"), NOT_TRIED
        )
    ),
    "run.rollouts.guided.after": Feature(
        "failed or unsolved",
        _defaults(settings.GuidedSettings),
        {
            "run.rollouts.dars.schedule": f"{NOT_BUILT} (that draws more responses to the same prompts)",
            "run.rollouts.vine.completions": f"{NOT_BUILT} (those value steps of first responses)",
        },
        ungraded=f"{_ALL_THERE}, too late for a retry",
        manager=True,
    ),
    "run.rollouts.partial.ahead": Feature(
        "0.5",
        _defaults(settings.PartialSettings),
        dict.fromkeys(DEPENDENT, NOT_BUILT),
        ungraded="takes turns with vLLM on the same GPUs",
        turns="a response of several turns cannot be broken off",
        manager=True,
    ),
    "rollout.nnodes": Feature(
        besides=dict.fromkeys(DEPENDENT, NOT_TRIED)
        | {"model.lora_rank": f"{NOT_BUILT} (verl sends no adapters there)"},
        ungraded="takes turns with vLLM, which never pauses here",
        words=" (vLLM on GPUs of its own)",
    ),
    "run.rollouts.pool.weights": Feature("uniform, sqrt or target", _defaults(settings.PoolSettings)),
    "algorithm.filter_groups.enable": Feature(
        unused={"metric": ("score", None), "max_num_gen_batches": (10, 0, None), "max_inflight_gen_batches": (1, None)},
        besides={
            "run.rollouts.pool.weights": f"{NOT_BUILT} (a filter draws the data in their order, a pool by pass rates, "
            "and so fewer groups that are all alike)",
            "skip.rollout_tq.enable": "would keep none of the rollouts that are drawn",
            "trainer.v1.sampler.custom_sampler.path": "would not filter",
        },
        ungraded=f"{_ALL_THERE}, too late for a filter",
    ),
    "run.rlpr.std_filter.share": Feature(
        "a share (RLPR: 0.5)",
        _defaults(settings.StdFilterSettings),
        {"algorithm.filter_groups.enable": "is of no use (that samples groups anew that are all alike)"},
        ungraded=f"{_ALL_THERE}, too late for a filter",
    ),
    "genac.template": Feature(
        besides={
            **dict.fromkeys(
                ("run.rollouts.dars.schedule", "run.rollouts.guided.after", "run.rollouts.vine.completions"), NOT_TRIED
            ),
            "model.lora_rank": NOT_TRIED,
            **dict.fromkeys(
                ("algorithm.filter_groups.enable", "run.rlpr.std_filter.share"),
                f"{NOT_BUILT} (the critic is told the pass rate of all responses, which is not that of the groups that "
                "a filter leaves)",
            ),
            "run.rlpr.answer_weight": f"{NOT_BUILT} (the critic's segments are of the sampled answer, which the "
            "reference answer would stand in place of)",
        },
        ungraded="would have three engines take turns, which is not tried",
        turns="the critic's template has no place for several turns",
        manager=True,
        words=" (a critic that writes text)",
    ),
}


@spelled
def feature_problems(config: DictConfig, switch: str) -> Iterator[str]:
    """What `FEATURES` says of a config; a sentence each with the settings and the mend.

    Args:
        config: of a run.
        switch: a key of `FEATURES`.
    """
    feature, (section, _, name) = FEATURES[switch], switch.rpartition(".")
    if not OmegaConf.select(config, full_name(switch)):
        given = OmegaConf.select(config, section) if feature.unused else {}
        for key, left in feature.unused.items():
            if key != name and given.get(key) not in left:
                yield f"@{section}.{key}= is not read without {switch}: set that to {feature.on}, or leave this out."
        return
    whose, rollout = f"@{switch}={feature.words}", config.actor_rollout_ref.get("rollout")
    for key, together in feature.besides.items():
        if OmegaConf.select(config, full_name(key)):
            yield f"{whose} with @{key}= {together}: leave one of them out."
    if feature.ungraded and (model := config.reward.reward_model).enable and not model.enable_resource_pool:
        yield (
            f"{whose}: @reward.reward_model.enable=true without a pool of its own {feature.ungraded}: set "
            "reward.reward_model.enable_resource_pool=true, or leave one of them out."
        )
    if feature.turns and (rollout.multi_turn.enable or rollout.agent.default_agent_loop != SINGLE_TURN):
        yield (
            f"{whose}: {feature.turns}: set @rollout.multi_turn.enable=false and "
            f"@rollout.agent.default_agent_loop={SINGLE_TURN}, or leave it out."
        )
    if feature.manager and rollout.agent.get("agent_loop_manager_class"):
        manager = "@rollout.agent.agent_loop_manager_class="
        yield f"{whose} has an agent-loop manager of its own: leave out {manager}, or set it to null."


@spelled
def loop_problems(config: DictConfig, train_files: Sequence[Path]) -> Iterator[str]:
    """Whether rows name a loop of their own that a switch does not go with; a sentence with the settings and the mend.

    verl takes a row's `agent_name` before the loop of the config.
    """
    for switch, feature in _of_one_turn(config):
        for file in train_files:
            if others := sorted(_loops(file) - {SINGLE_TURN}):
                yield (
                    f"@{switch}={feature.words}: {feature.turns}, and data.train_files={file} has rows with "
                    f"agent_name={others[0]}: give them {SINGLE_TURN}, or leave out that column, or the setting."
                )


def _of_one_turn(config: DictConfig) -> list[tuple[str, Feature]]:
    """What is switched on, and does not go with responses of several turns."""
    return [(key, each) for key, each in FEATURES.items() if each.turns and OmegaConf.select(config, full_name(key))]


def named_loops(file: Path) -> set[str] | None:
    """The names of the agent loops in a file for `agent_loop_config_path`; None where it is not such a file."""
    try:
        loops = OmegaConf.load(file)
    except (OSError, UnicodeDecodeError, YAMLError):
        return None
    if not isinstance(loops, ListConfig):
        return None
    complete = all(isinstance(each, DictConfig) and {"name", "_target_"} <= set(each) for each in loops)
    return {str(each.name) for each in loops} if complete else None


@spelled
def own_loop_problems(config: DictConfig) -> Iterator[str]:
    """Whether a file of the user's has another loop under the name of verl's, where a switch does not go with that."""
    file = OmegaConf.select(config, "actor_rollout_ref.rollout.agent.agent_loop_config_path")
    if not file or not Path(file).is_file():  # verl finds it beside itself, too, where there is none of this name
        return
    named = named_loops(Path(file)) or ()
    for switch, feature in _of_one_turn(config) if SINGLE_TURN in named else ():
        yield (
            f"@{switch}={feature.words} is for verl's {SINGLE_TURN}, and @rollout.agent.agent_loop_config_path= has "
            "another loop of this name: give that one of its own, or leave out the setting."
        )


def _loops(file: Path) -> set[str]:
    """The loops that rows of a file name."""
    if "agent_name" not in pq.read_schema(file).names:
        return set()
    return {str(name) for name in pq.read_table(file, columns=["agent_name"])[0].unique().to_pylist() if name}


def weights_by_ratio(config: DictConfig) -> str | None:
    """What would weigh tokens by the ratio of the policy to the sampler, as one writes it; None where it is set."""
    ours = method(config) == "pacs"
    setting = "method.update.correction.kind" if ours else "algorithm.rollout_correction.rollout_is"
    if OmegaConf.select(config, setting) is not None:
        return None
    return f"{setting}={'truncate' if ours else 'token'} weighs tokens by the ratio of the two"
