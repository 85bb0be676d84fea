"""configs/sweep/: every file is a sweep whose keys and values a run can have."""

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.paths import config_dir
from pacs.evaluation.tasks import parse_tasks
from pacs.integration.schema import method_in
from pacs.sweeps import definition
from pacs.sweeps.definition import Sweep, read_sweep, sweep_files

#: One run of PACS each.
SINGLE = {"qwen3_4b", "qwen3_8b"}


def test_the_paper_s_sweeps_are_there() -> None:
    names = {
        "ablation_beta",
        "ablation_score",
        "ablation_weight",
        "ablation_reference",
        "baselines",
        "family",
        "methods",
    }
    assert sweep_files().keys() == names | SINGLE


@pytest.mark.parametrize("name", sweep_files())
def test_a_shipped_sweep_can_be_run(name: str) -> None:
    """Each key exists in the config, and the algorithm's own check takes each value."""
    sweep = read_sweep(name)
    assert sweep.description
    seeds = 1 if name in SINGLE else 5 if name == "methods" else 3
    assert sweep.values["data.seed"] == list(range(seeds))
    for case in sweep.leave_out:
        assert all(value in sweep.values[key] for key, value in case.items())
    if sweep.tasks:
        assert [task.name for task in parse_tasks(",".join(sweep.tasks), Path("data"), [], [])] == sweep.tasks
    for algorithm in sweep.algorithms:
        with initialize_config_dir(str(config_dir()), version_base=None):
            config = compose(algorithm, overrides=[f"recipe={sweep.recipe}"])
        for key, values in sweep.values.items():
            assert OmegaConf.select(config, key, default="absent") != "absent"
            for value in values:
                OmegaConf.update(config, key, value)
                if OmegaConf.select(config, "method.name"):
                    method_in(config)


def test_overrides_are_in_hydra_s_grammar() -> None:
    sweep = Sweep("s", "", ["pacs"], "r", {"a": [None, True, False], "b": [0.1, 1e-06, "x"], "c": [1]})
    assert sweep.overrides == ["a=null,true,false", "b=0.1,1e-06,x", "c=1"]
    assert sweep.runs == 9


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Mine\nalgorithms: [pacs]\nrecipe: r\nvalues: {a: 1}\n", "values.a: Input should be"),
        ("algorithms: []\nrecipe: r\nvalues: {}\n", "algorithms: "),
        ("algorithms: [pacs]\nrecipe: r\nvalue: {}\n", "values: Field required"),
        ("algorithms: [pacs\n", "is no sweep"),
        ("just words\n", "is no sweep"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep" / "mine.yaml").write_text(text)
    monkeypatch.setattr(definition, "config_dir", lambda: tmp_path)
    with pytest.raises(UserError) as refused:
        read_sweep("mine")
    assert str(tmp_path / "sweep" / "mine.yaml") in str(refused.value)
    assert said in str(refused.value)


def test_an_unknown_name_comes_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"ablation_bta: no such sweep: there are .*\. Did you mean ablation_beta\?"):
        read_sweep("ablation_bta")
