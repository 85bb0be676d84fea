"""The grid: Hydra's against a product written down here, its names, and what is refused before anything is started."""

import itertools
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.paths import config_dir
from pacs.composing import quoted
from pacs.runs.state import Progress, write_progress, write_state
from pacs.sweeps.check import check_configs
from pacs.sweeps.definition import Sweep, read_sweep
from pacs.sweeps.grid import PlannedRun, plan_runs, recipe_of
from tests.runs.states import state_in

BETAS, SEEDS = (1, -1), (0, 3)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parent") / "it's out, é"


@pytest.fixture(scope="module")
def runs(inputs: list[str], out: Path) -> list[PlannedRun]:
    """Those of two values and two seeds; one value is wrong."""
    sweep = Sweep("beta", "", ["pacs"], "qwen3_4b", {"method.beta": BETAS, "data.seed": [0, 1, 2]})
    return plan_runs(sweep, [*inputs, "data.seed=0,3"], out)


def test_the_runs_are_the_product_in_order(runs: list[PlannedRun], out: Path) -> None:
    expected = list(itertools.product(BETAS, SEEDS))
    assert [(run.config.method.beta, run.config.data.seed) for run in runs] == expected
    assert [run.folder for run in runs] == [out / f"beta_{beta}-seed_{seed}" for beta, seed in expected]
    assert [run.label for run in runs] == [f"beta={beta}, seed={seed}" for beta, seed in expected]
    assert {run.config.actor_rollout_ref.rollout.seed - run.config.data.seed for run in runs} == {0}
    assert [run.config.trainer.experiment_name for run in runs] == [f"{out.name}-{run.folder.name}" for run in runs]
    assert not out.exists()


def test_the_command_of_a_run_is_that_run(runs: list[PlannedRun]) -> None:
    assert runs[3].command[:3] == ["pacs train", "--config-name", "pacs"]
    with initialize_config_dir(str(config_dir()), version_base=None):
        alone = compose("pacs", overrides=runs[3].command[3:])
    assert resolved(alone) == resolved(runs[3].config)


def resolved(config: DictConfig) -> object:
    return OmegaConf.to_container(config, resolve=True)


@pytest.mark.parametrize("text", ["/home/josé/out", "it's out", "a b", "plain/0.5", 'say "so"', "end\\", "数"])
def test_a_folder_is_read_as_it_is_named(text: str) -> None:
    assert OverridesParser.create().parse_override(f"run.dir={quoted(text)}").value() == text


def test_a_bad_value_is_refused_with_the_runs_that_have_it(runs: list[PlannedRun]) -> None:
    with pytest.raises(UserError, match=r"run 3 of 4 \(beta=-1, seed=0\) and 1 more:\n- method\.beta=-1"):
        check_configs(runs)
    with pytest.raises(UserError, match=r"each of the 2 runs:\n- method\.beta=-1"):
        check_configs(runs[2:])


def test_several_algorithms_and_keys_stand_in_the_name(inputs: list[str], tmp_path: Path) -> None:
    sweep = Sweep("base", "", ["pacs", "ppo"], "arithmetic", {"data.seed": [0, 1]})
    given = [*inputs, "data.seed=7", "+data.note=a/b,null", "actor_rollout_ref.rollout.seed=5"]
    runs = plan_runs(sweep, given, tmp_path)
    assert [run.folder.name for run in runs] == [
        "pacs-seed_7-note_a_b", "pacs-seed_7-note_null", "ppo-seed_7-note_a_b", "ppo-seed_7-note_null"
    ]  # fmt: skip
    assert [run.config.trainer.v1.trainer_mode for run in runs] == ["pacs", "pacs", "ppo", "ppo"]
    assert [run.config.data.note for run in runs] == ["a/b", None] * 2
    assert {run.config.actor_rollout_ref.rollout.seed for run in runs} == {5}
    check_configs(runs)


@pytest.mark.parametrize("prefix", ["", "++"])
def test_a_seed_of_the_rollouts_that_is_given_stays(
    sweep: Sweep, inputs: list[str], tmp_path: Path, prefix: str
) -> None:
    given = [*inputs, "method.beta=1", "data.seed=0,3", f"{prefix}actor_rollout_ref.rollout.seed=5"]
    runs = plan_runs(sweep, given, tmp_path)
    assert [run.config.actor_rollout_ref.rollout.seed for run in runs] == [5, 5]


def test_a_number_and_a_switch_are_two_settings(inputs: list[str], tmp_path: Path) -> None:
    """Python takes them for equal."""
    sweep = Sweep("base", "", ["pacs"], "arithmetic", {"data.seed": [0]})
    runs = plan_runs(sweep, [*inputs, "+data.note=1,true,'1'"], tmp_path)
    assert [run.config.data.note for run in runs] == [1, True, "1"]


def test_a_run_that_another_repeats_is_left_out(inputs: list[str], tmp_path: Path) -> None:
    """Without resets of the reference the optimizer is never forgotten; one whose other is not asked for stays."""
    every, forgotten = "method.reference.reset_every", "method.reference.reset_optimizer"
    values = {every: [5, None], forgotten: [True, False]}
    sweep = Sweep("resets", "", ["pacs"], "arithmetic", values, leave_out=read_sweep("ablation_reference").leave_out)
    runs = plan_runs(sweep, [*inputs, "data.seed=0"], tmp_path)
    found = [(run.config.method.reference.reset_every, run.config.method.reference.reset_optimizer) for run in runs]
    assert found == [(5, True), (5, False), (None, False)]
    assert sweep.runs == len(found)
    asked = plan_runs(sweep, [*inputs, f"{forgotten}=true"], tmp_path)
    assert [run.config.method.reference.reset_every for run in asked] == [5, None]


def test_some_of_the_algorithms_have_the_runs_that_all_would_have(inputs: list[str], tmp_path: Path) -> None:
    """By name and in order, so that those of the others can be added; what no chosen one knows is not composed."""
    sweep = Sweep("base", "", ["pacs", "ppo", "grpo"], "arithmetic", {"data.seed": [0, 1]})
    whole = plan_runs(sweep, inputs, tmp_path)
    some = plan_runs(sweep, inputs, tmp_path, sweep.chosen("grpo,pacs"))
    assert [run.folder for run in some] == [run.folder for run in (*whole[:2], *whole[4:])]
    (one,) = plan_runs(sweep, [*inputs, "data.seed=0", "method.beta=2"], tmp_path, sweep.chosen("pacs"))
    assert (one.folder.name, one.label, one.config.method.beta) == ("pacs-seed_0", "pacs, seed=0", 2)
    assert sweep.chosen(None) == sweep.algorithms


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("pacs,rlo", "--algorithms pacs,rlo: base has no algorithm 'rlo': it has pacs, rloo. Did you mean rloo?"),
        ("", "--algorithms : base has no algorithm '': it has pacs, rloo."),
    ],
)
def test_an_algorithm_that_the_sweep_has_not_is_refused(names: str, said: str) -> None:
    with pytest.raises(UserError) as refused:
        Sweep("base", "", ["pacs", "rloo"], "arithmetic", {"data.seed": [0]}).chosen(names)
    assert str(refused.value) == said


def test_the_recipe_given_last_counts(sweep: Sweep) -> None:
    assert recipe_of(sweep, []) == "arithmetic"
    assert recipe_of(sweep, ["recipe=qwen3_4b", "method.beta=1", "recipe=qwen3_8b"]) == "qwen3_8b"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run.dir=here"], "run.dir=here: each run has its own: --out names the folder"),
        (["++run.dir=here"], "++run.dir=here: each run has its own"),
        (["++method.beta=1"], "++method.beta=1: the sweep varies method.beta: write method.beta=VALUE"),
        (["~data.seed"], "~data.seed: the sweep varies data.seed"),
        (["method.beta=1,1", "data.seed=0"], "beta_1-seed_0: two runs would have this folder"),
        (
            ["method.beta=1,1.0", "data.seed=0"],
            "beta=1, seed=0 and beta=1.0, seed=0 are one run, with the same settings: give each value once",
        ),
        (["method.betta=1"], "There is no key method.betta. Did you mean method.beta"),
        (["recipe=arithmetics"], "recipe=arithmetics: there are arithmetic, "),
        (["method.beta=range("], "no viable alternative at input 'range('"),
    ],
)
def test_a_grid_that_cannot_be_made_is_refused(
    sweep: Sweep, inputs: list[str], tmp_path: Path, given: list[str], said: str
) -> None:
    with pytest.raises(UserError) as refused:
        plan_runs(sweep, [*inputs, *given], tmp_path)
    assert said in str(refused.value)


def test_a_finished_run_without_a_checkpoint_is_known_by_its_settings(
    sweep: Sweep, inputs: list[str], tmp_path: Path
) -> None:
    (run,) = plan_runs(sweep, [*inputs, "method.beta=1", "data.seed=0", "trainer.total_training_steps=3"], tmp_path)
    run.folder.mkdir()
    OmegaConf.save(run.config, run.folder / "config.yaml", resolve=True)
    write_progress(run.folder, Progress(3, 3, "end"))
    for word, is_finished in (("failed", False), ("finished", True)):
        write_state(run.folder, state_in(run.folder, word, pid=1))
        check_configs([run])
        assert run.is_finished == is_finished
    run.config.trainer.total_training_steps = 2
    with pytest.raises(UserError, match=r"total_training_steps=2: .* has trained to step 3: raise it, or"):
        check_configs([run])
    run.config.trainer.total_training_steps = 3
    run.config.data.train_batch_size = 32
    with pytest.raises(UserError, match=r"data\.train_batch_size: 64 in the checkpoint, 32 now\n.*give another --out"):
        check_configs([run])
    run.config.trainer.total_training_steps = None
    with pytest.raises(UserError, match=r"trainer\.total_training_steps=null: .* set it"):
        check_configs([run])
