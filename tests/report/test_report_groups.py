import fnmatch
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from pacs.base.paths import config_dir
from pacs.base.settings import shown
from pacs.report import read_runs
from pacs.report.run_groups import INCIDENTAL, IS_INCIDENTAL, Group, group_runs

CONFIG = """\
data: {{seed: {seed}, train_files: /runs/q-seed{seed}/train.parquet}}
actor_rollout_ref: {{rollout: {{seed: {seed}}}, model: {{path: {model}}}}}
trainer: {{experiment_name: try{seed}, default_local_dir: /runs/q-seed{seed}/checkpoints}}
run: {{dir: /runs/q-seed{seed}}}
method: {{estimator: {estimator}, reference: {{reset_every: {every}}}}}
"""


def config(seed: int, *, estimator: str = "rloo", every: int = 20, model: str = "Qwen/Qwen3-8B") -> str:
    return CONFIG.format(seed=seed, estimator=estimator, every=every, model=model)


def grouped(folders: list[Path], **options) -> dict[str, list[str]]:
    return {group.label: [run.name for run in group.runs] for group in group_runs(read_runs(folders), **options)}


def test_runs_that_differ_in_seeds_names_and_folders_are_one_group(make_run):
    folders = [make_run(f"q-seed{seed}", config=config(seed)) for seed in (0, 1, 22)]
    assert grouped(folders) == {"q-seed*": ["q-seed0", "q-seed1", "q-seed22"]}


def test_a_group_of_unlike_names_is_called_after_its_first(make_run):
    folders = [make_run(name, config=config(0)) for name in ("first", "again", "third")]
    assert grouped(folders) == {"first and 2 more": ["first", "again", "third"]}


def test_groups_are_labelled_with_what_they_have_set_otherwise(make_run):
    folders = [make_run(f"{every}-{seed}", config=config(seed, every=every)) for every in (5, 20) for seed in (0, 1)]
    assert grouped(folders) == {"reset_every=5": ["5-0", "5-1"], "reset_every=20": ["20-0", "20-1"]}


def test_of_settings_with_the_same_last_part_the_whole_key_is_told(make_run):
    folders = [make_run(name, config=f"a: {{lr: {one}}}\nb: {{lr: {one}}}\n") for name, one in (("x", 1), ("y", 2))]
    assert list(grouped(folders)) == ["a.lr=1, b.lr=1", "a.lr=2, b.lr=2"]


def test_a_setting_that_a_run_lacks_is_a_difference(make_run):
    folders = [make_run("new", config="a: 1\nb: null\n"), make_run("old", config="a: 1\n")]
    assert list(grouped(folders)) == ["b=null", "b=–"]


@pytest.mark.parametrize("other", [{"model": "a/very/long/path/" * 4}, {"estimator": "grpo", "every": 5, "model": "M"}])
def test_where_the_settings_are_too_much_for_a_legend_names_stand(make_run, other):
    assert list(grouped([make_run("mine", config=config(0)), make_run("theirs", config=config(0, **other))])) == [
        "mine",
        "theirs",
    ]


def test_each_run_by_itself_has_its_name(make_run):
    folders = [make_run(f"q-seed{seed}", config=config(seed)) for seed in (0, 1)]
    assert grouped(folders, each=True) == {"q-seed0": ["q-seed0"], "q-seed1": ["q-seed1"]}


def test_runs_without_settings_are_not_taken_for_one(make_run):
    folders = [make_run(name, config=None) for name in ("a", "b")]
    assert grouped(folders) == {"a": ["a"], "b": ["b"]}


def test_another_model_or_other_data_are_another_experiment(make_run):
    folders = [make_run(model, config=config(0, model=f"Qwen/Qwen3-{model}")) for model in ("4B", "8B")]
    assert list(grouped(folders)) == ["path=Qwen/Qwen3-4B", "path=Qwen/Qwen3-8B"]


def test_every_incidental_setting_is_one_of_a_run_and_none_of_them_is_the_algorithms():
    with initialize_config_dir(str(config_dir()), version_base=None):
        run = shown(OmegaConf.to_container(compose("pacs", overrides=["recipe=qwen3_8b"])))
    assert [glob for glob in INCIDENTAL if not fnmatch.filter(run, glob)] == []
    told_apart = {
        "actor_rollout_ref.model.path",
        "actor_rollout_ref.actor.optim.lr",
        "actor_rollout_ref.rollout.n",
        "data.train_files",
        "data.train_batch_size",
        "trainer.total_training_steps",
        "method.beta",
        "method.reference.reset_every",
    }
    assert told_apart <= run.keys()
    assert [key for key in told_apart if IS_INCIDENTAL.match(key)] == []


def test_the_band_is_that_of_the_runs_at_the_steps_all_have(make_run):
    more = [{"x": lambda step: 10.0 * step}, {"x": lambda step: 20.0 * step}, {}]
    runs = read_runs([make_run(f"r{i}", steps=steps, more=more[i]) for i, steps in enumerate((2, 3, 4))])
    band = Group("g", tuple(runs)).band("x")
    assert band[:5] == ((1, 2), (15.0, 30.0), (10.0, 20.0), (20.0, 40.0), 2)
    assert Group("g", tuple(runs)).band("no/such")[:5] == ((), (), (), (), 0)


def test_the_mean_of_several_metrics_is_taken_in_each_run_first(make_run):
    one = make_run("one", steps=2, more={"x": lambda step: 1.0, "y": lambda step: 3.0})
    two = make_run("two", steps=2, more={"x": lambda step: 5.0, "y": lambda step: 5.0 if step == 2 else float("nan")})
    assert Group("g", tuple(read_runs([one, two]))).band("x", "y")[:5] == ((2,), (3.5,), (2.0,), (5.0,), 2)


def test_resets_are_those_of_any_run(make_run):
    runs = read_runs([make_run("a", resets=[2, 4]), make_run("b", resets=[2, 5]), make_run("c")])
    assert Group("g", tuple(runs)).resets == [2, 4, 5]


def test_the_metrics_that_any_run_has_are_in_one_order(make_run):
    names = [f"x/{letter}" for letter in "hgfedcba"]
    runs = read_runs(
        [
            make_run(name, more=dict.fromkeys(some, lambda step: 1.0))
            for name, some in (("a", names[:5]), ("b", names[3:]))
        ]
    )
    assert Group("g", tuple(runs)).keys("x/*") == sorted(names)
