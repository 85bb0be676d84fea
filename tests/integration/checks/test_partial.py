"""What steps that do not wait for all responses cannot go with is refused, each by its setting and the mend."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.paths import config_dir
from pacs.composing import compose_run
from pacs.integration.checks.features import loop_problems, own_loop_problems
from pacs.integration.checks.partial import partial_problems, partial_warnings
from pacs.verl_keys.config import has_partial_rollouts

AHEAD, ROLLOUT, V1 = "run.rollouts.partial.ahead", "actor_rollout_ref.rollout", "trainer.v1"

APART = (f"{ROLLOUT}.nnodes=1", "run.rollouts.partial.ahead=1")
#: Algorithm -> what its configuration has that neither goes with; all others have both.
IN_THE_WAY = {
    "dapo": "algorithm.filter_groups.enable=true",
    "vineppo": "run.rollouts.vine.completions=",
    "genac": "a generative critic",
}


def problems(algorithm: str = "pacs", /, **changes: object) -> list[str]:
    config, _ = compose_run(algorithm, ["recipe=arithmetic"])
    manager = f"{ROLLOUT}.agent.agent_loop_manager_class"  # a run that may start has been given ours
    for key, value in {manager: None, AHEAD: 0.5, **changes}.items():
        OmegaConf.update(config, key, value, force_add=True)
    return list(partial_problems(config))


@pytest.mark.parametrize("algorithm", ["pacs", "grpo", "dapo_without_filter", "vcppo"])
def test_what_it_needs_is_there(algorithm: str) -> None:
    name, changes = algorithm.removesuffix("_without_filter"), {}
    if name != algorithm:
        changes = {"algorithm.filter_groups.enable": False}
    assert problems(name, **changes) == []
    # A reward model with a pool of its own grades within the agent loop.
    assert problems(name, **changes, **{"reward.reward_model": {"enable": True, "enable_resource_pool": True}}) == []


@pytest.mark.parametrize("algorithm", sorted(file.stem for file in config_dir().glob("*.yaml")))
def test_every_method_has_it_or_says_what_is_in_the_way(algorithm: str) -> None:
    """As `pacs train` composes a run: on the training's GPUs, and with vLLM on its own."""
    taught = ["method.teacher=Qwen/Qwen3-14B"] if algorithm in ("distillation", "pacs_distilled") else []
    for asked in ((f"{AHEAD}=0.5",), APART):
        words = ["recipe=arithmetic", *taught, *asked]
        if algorithm not in IN_THE_WAY:
            assert has_partial_rollouts(compose_run(algorithm, words)[0])
            continue
        with pytest.raises(UserError, match=IN_THE_WAY[algorithm]) as refused:
            compose_run(algorithm, words)
        assert asked[0] in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({AHEAD: 0.001}, [f"{AHEAD}=0.001", "data.train_batch_size=", "less than one", "raise it"]),
        ({"algorithm.filter_groups.enable": True}, [f"{AHEAD}=0.5", "algorithm.filter_groups.enable=true"]),
        ({"run.rollouts.dars.schedule": "equal"}, [f"{AHEAD}=0.5", "run.rollouts.dars.schedule=equal"]),
        ({"run.rollouts.guided.after": "failed"}, [f"{AHEAD}=0.5", "run.rollouts.guided.after=failed"]),
        ({"run.rollouts.pool.weights": "sqrt"}, [f"{AHEAD}=0.5", "run.rollouts.pool.weights=sqrt"]),
        ({"run.rollouts.vine.completions": 9}, [f"{AHEAD}=0.5", "run.rollouts.vine.completions=9"]),
        (
            {f"{ROLLOUT}.agent.default_agent_loop": "tool_agent"},
            [f"{AHEAD}=0.5", "several turns", f"{ROLLOUT}.agent.default_agent_loop=single_turn_agent"],
        ),
        (
            {"reward.reward_model": {"enable": True, "enable_resource_pool": False}},
            [f"{AHEAD}=0.5", "reward.reward_model.enable_resource_pool=true"],
        ),
        ({f"{ROLLOUT}.agent.agent_loop_manager_class": "my.Manager"}, ["class=my.Manager", "set it to null"]),
        ({f"{V1}.sampler.max_off_policy_threshold": 4}, [f"{V1}.sampler.max_off_policy_threshold=4", "max_staleness"]),
        ({f"{V1}.sampler.max_off_policy_strategy": "wait"}, [f"{V1}.sampler.max_off_policy_strategy=wait"]),
        ({f"{V1}.colocate_async.num_warmup_batches": 3}, [f"{V1}.colocate_async.num_warmup_batches=3", "ahead"]),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = problems(**changes)
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


@pytest.mark.parametrize("ahead", ["nan", "inf"])
def test_a_share_that_is_no_number_is_refused_in_words(ahead: str) -> None:
    with pytest.raises(UserError, match=rf"{AHEAD}={ahead} must be a finite number"):
        compose_run("pacs", ["recipe=arithmetic", f"{AHEAD}={ahead}"])


@pytest.mark.parametrize("switch", [AHEAD, "run.rollouts.vine.completions"])
def test_rows_that_name_a_loop_of_several_turns_are_refused(switch: str, tmp_path: Path) -> None:
    """verl takes a row's own loop, whatever the config says; of one broken off it would store half as the whole."""

    def found(*names: str | None, on: bool = True) -> list[str]:
        rows = [{"index": row} | ({"agent_name": name} if names else {}) for row, name in enumerate(names or (None,))]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
        config = OmegaConf.create({"run": {"rollouts": {"partial": {"ahead": None}, "vine": {"completions": None}}}})
        OmegaConf.update(config, switch, 1 if on else None)
        return list(loop_problems(config, [tmp_path / "train.parquet"]))

    (problem,) = found("single_turn_agent", "tool_agent", None)
    assert problem.startswith(f"{switch}=1: a ")
    assert f"data.train_files={tmp_path}/train.parquet has rows with agent_name=tool_agent: give them" in problem
    assert found("single_turn_agent", None) == found() == found("tool_agent", on=False) == []


@pytest.mark.parametrize("switch", [AHEAD, "run.rollouts.vine.completions"])
def test_another_loop_under_the_name_of_verls_is_refused(switch: str, tmp_path: Path) -> None:
    file = tmp_path / "loops.yaml"
    config = OmegaConf.create({"run": {"rollouts": {"partial": {"ahead": None}, "vine": {"completions": None}}}})
    OmegaConf.update(config, f"{ROLLOUT}.agent.agent_loop_config_path", str(file))

    def found(name: str, on: bool = True) -> list[str]:
        file.write_text(f"- name: {name}\n  _target_: mine.Loop\n")
        OmegaConf.update(config, switch, 1 if on else None)
        return list(own_loop_problems(config))

    (problem,) = found("single_turn_agent")
    assert problem.startswith(f"{switch}=1 is for verl's single_turn_agent, and {ROLLOUT}.agent.agent_loop_config_path")
    assert found("mine") == found("single_turn_agent", on=False) == []


def test_a_critic_that_writes_text_is_refused() -> None:
    (problem,) = problems("genac")
    assert problem.startswith(f"{AHEAD}=0.5: a generative critic")


def test_what_nothing_would_read_is_refused() -> None:
    assert problems(**{AHEAD: None, "run.rollouts.dars.schedule": "equal"}) == []
    (problem,) = problems(**{AHEAD: None, "run.rollouts.partial.max_staleness": 2})
    assert problem.startswith(f"run.rollouts.partial.max_staleness=2 is not read without {AHEAD}")


@pytest.mark.parametrize(
    ("algorithm", "key", "value"),
    [
        ("pacs", "method.update.correction.kind", "truncate"),
        ("grpo", "algorithm.rollout_correction.rollout_is", "token"),
    ],
)
def test_a_run_without_importance_weights_is_told_so(algorithm: str, key: str, value: str) -> None:
    config, _ = compose_run(algorithm, ["recipe=arithmetic"])
    OmegaConf.update(config, key, None, force_add=True)
    assert list(partial_warnings(config)) == []
    OmegaConf.update(config, AHEAD, 0.5)
    (said,) = partial_warnings(config)
    assert f"{key}={value}" in said
    OmegaConf.update(config, key, value)
    assert list(partial_warnings(config)) == []
