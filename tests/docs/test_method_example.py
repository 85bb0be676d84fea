"""The method of docs/methods.md is one: its files, as the page gives them, pass the kit and compose a run."""

import re
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from pacs.algorithm import check_method
from pacs.algorithm.names import class_of
from pacs.base.paths import config_dir, verl_configs
from pacs.integration.schema import method_in
from tests.docs.pages import PAGES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each block of the page that begins with the name of a file."""
    page = next(page for page in PAGES if page.name == "docs/methods.md")
    for _, content in page.blocks:
        if named := re.match(r"# (\w+\.(?:py|yaml))\n", content):
            (tmp_path / named.group(1)).write_text(content)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_its_test_passes(folder: Path) -> None:
    names: dict[str, object] = {}
    exec((folder / "test_squared.py").read_text(), names)
    names["test_the_kit_passes"]()  # type: ignore[operator]


def test_the_config_makes_the_method(folder: Path) -> None:
    searchpath = f"hydra.searchpath=[file://{config_dir()},file://{verl_configs()}]"
    with initialize_config_dir(str(folder), version_base=None):
        config = compose("squared", overrides=[searchpath, "recipe=arithmetic", "method.scale=2.0"])
    method = method_in(config)
    assert (type(method).__name__, OmegaConf.select(config, "method.scale")) == ("Squared", 2.0)
    assert method.model_dump()["scale"] == 2.0


def test_the_credit_of_tokens_passes(folder: Path) -> None:
    assert (folder / "entropy_weighted.py").exists()
    check_method(class_of("entropy_weighted.EntropyWeighted")())


def test_the_variant_of_pacs_passes(folder: Path) -> None:
    focal = class_of("focal.Focal")
    for settings in ({}, {"normalize_by_length": True}, {"estimator": "none", "single_class_groups": "drop"}):
        check_method(focal(**settings))
