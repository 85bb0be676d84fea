"""Keys that have moved go on working: in overrides, in a user's config, and in the folders of earlier runs."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from pacs.base.moved_keys import move_old_section, new_key, renamed, with_new_keys


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("pacs.beta", "method.beta"),
        ("pacs.method", "method.name"),
        ("pacs.reference.reset_every", "method.reference.reset_every"),
        ("pacs.metrics.entropy_every", "method.metrics.entropy_every"),
        ("pacs.run_dir", "run.dir"),
        ("pacs.sample_groups", "run.sample_groups"),
        ("pacs.faults.skipped_updates", "run.faults.skipped_updates"),
        ("pacs.reasoning.delimiters", "run.reasoning.delimiters"),
        ("trainer.nnodes", "trainer.nnodes"),
        ("pacs", "pacs"),
        ("pacs/loss/mean", "pacs/loss/mean"),
    ],
)
def test_where_a_key_is_now(old: str, new: str) -> None:
    assert new_key(old) == new


def test_overrides_by_old_names_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["recipe=arithmetic", "pacs.beta=2", "+pacs.scale=1", "~pacs.tau", "++run.dir=a", "a.b='pacs.beta=3'"]
    assert renamed(words) == [
        "recipe=arithmetic", "method.beta=2", "+method.scale=1", "~method.tau", "++run.dir=a", "a.b='pacs.beta=3'",
    ]  # fmt: skip
    said = capsys.readouterr().err
    assert "pacs.beta is called method.beta now" in said
    assert said.count("is called") == 3


def test_a_users_config_may_have_the_old_section(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hydra finds a key by the name that the file declares, whichever name the override has."""
    (tmp_path / "mine.yaml").write_text("pacs:\n  method: my.Loss\n  scale: 1.0\n  faults:\n    skipped_updates: 2\n")
    words = ["method.scale=3", "pacs.faults.skipped_updates=4", "method.beta=1"]
    for options in (["--config-dir", str(tmp_path)], [f"--config-dir={tmp_path}"], ["-cd", str(tmp_path)]):
        assert renamed(words, options) == ["pacs.scale=3", "pacs.faults.skipped_updates=4", "method.beta=1"]
        assert "pacs.faults.skipped_updates is called run.faults.skipped_updates now" in capsys.readouterr().err


def test_files_beside_a_users_config_are_not_the_runs(tmp_path: Path) -> None:
    """`--config-dir .` may be a whole project: what Hydra would not read is neither refused nor searched."""
    (tmp_path / "latin.yaml").write_bytes(b"pacs:\n  a: \xe9\n")
    (tmp_path / "broken.yaml").write_text("pacs:\n  a: [\n")
    (tmp_path / "list.yaml").write_text("pacs: [1]\n")
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "mine.yaml").write_text("# @package _global_\npacs:\n  beta: 0.5\n")
    (tmp_path / "outputs" / "run").mkdir(parents=True)
    (tmp_path / "outputs" / "run" / "config.yaml").write_text("pacs:\n  tau: 1\n")
    words = renamed(["method.beta=1", "method.tau=2"], ["--config-dir", str(tmp_path)])
    assert words == ["pacs.beta=1", "method.tau=2"]


def test_the_old_section_moves_in_place() -> None:
    config = OmegaConf.create(
        """
        run: {dir: a, faults: {skipped_updates: 3, verifier_errors: 0.1}}
        method: {reference: {reset_every: 1}}
        pacs: {method: my.Loss, scale: 1.0, run_dir: "b/${pacs.scale}", faults: {skipped_updates: 2}}
        trainer: {folder: "${pacs.run_dir}/x", sum: "${pacs.sum:1,2}", name: "${oc.select:pacs.method,null}"}
        """
    )
    OmegaConf.set_struct(config, True)
    assert move_old_section(config)
    assert "pacs" not in config
    assert not move_old_section(config)
    assert config.method == {"reference": {"reset_every": 1}, "name": "my.Loss", "scale": 1.0}
    assert config.run.faults == {"skipped_updates": 2, "verifier_errors": 0.1}
    assert (config.run.dir, config.trainer.folder, config.trainer.name) == ("b/1.0", "b/1.0/x", "my.Loss")
    assert OmegaConf.to_container(config, resolve=False)["trainer"]["sum"] == "${pacs.sum:1,2}"  # type: ignore[index,call-overload]


def test_a_config_of_today_is_left_alone() -> None:
    config: dict[str, Any] = yaml.safe_load("{run: {dir: a}, method: {name: pacs}, data: {files: [a, b]}}")
    assert with_new_keys(config) == config
