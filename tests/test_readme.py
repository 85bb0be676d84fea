"""What the README and the docs name is there: files, commands, keys with their defaults."""

import re
import shlex
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from pacs import cli
from pacs.algorithm import PacsConfig
from pacs.configuration import FILES, documented_keys, key_table
from pacs.evaluation import command as evaluation
from pacs.metrics import ENTRIES, find
from pacs.paths import config_dir
from pacs.runs.config_changes import flatten
from pacs.runs.settings import FaultSettings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "recipes").rglob("README.md"))]
README = (ROOT / "README.md").read_text()


def commands(text: str) -> list[str]:
    """Every line of every bash block."""
    blocks = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


def composed(overrides: list[str], algorithm: str = "pacs") -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose(algorithm, overrides=overrides)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("http")]
    named = re.findall(r"`((?:pacs|configs|recipes|scripts|tests|benchmarks|docs|requirements)/[\w./-]+)`", text)
    assert [link for link in links if not (page.parent / link).exists()] == []
    assert [path for path in named if find(path) is None and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_metrics_named_in_the_docs_are_known(page: Path) -> None:
    """Names that begin as a metric's does; what begins with `pacs/` may also be a path."""
    roots = "|".join({re.escape(entry.name.split("/")[0]) for entry in ENTRIES})
    named = re.findall(rf"`((?:{roots})/[^`\s]+)`", page.read_text())
    assert [name for name in named if find(name) is None and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_can_be_given(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page.read_text()):
        words = [word for word in shlex.split(command) if not re.match(r"[A-Z_]+=", word)]
        if words[0] == "bash":
            assert (ROOT / words[1]).is_file(), command
        elif words[0] in ("sbatch", "srun"):
            script = next(word for word in words if word.startswith("scripts/"))
            assert (ROOT / script).is_file(), command
            composed([word for word in words[words.index(script) + 1 :] if "=" in word])
        elif words[:2] == ["pacs", "train"]:
            algorithm = words[words.index("--config-name") + 1] if "--config-name" in words else "pacs"
            composed([word for word in words[2:] if "=" in word], algorithm)
        elif words[0] == "pacs":
            has_own_help = words[1] == "data" or (words[1] == "evaluate" and words[2] in evaluation.SUBCOMMANDS)
            subcommand = words[1:3] if has_own_help else words[1:2]
            with pytest.raises(SystemExit) as stopped:
                cli.main([*subcommand, "--help"])
            assert stopped.value.code == 0, command
            printed = capsys.readouterr().out
            assert all(word in printed for word in words if word.startswith("--")), command
        elif words[:2] == ["python", "-m"]:
            assert (ROOT / (words[2].replace(".", "/") + ".py")).is_file(), command
        elif words[0] == "python":
            assert (ROOT / words[1]).is_file(), command
        else:
            pytest.fail(f"{page.name} gives a command that this test does not know: {command}")


def test_the_readme_has_commands() -> None:
    assert "bash scripts/quickstart.sh" in commands(README)
    assert "bash scripts/test.sh" in commands(README)


def test_the_page_of_keys_is_what_the_configs_say() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    assert page.endswith(key_table()), "end docs/configuration.md with what `python -m pacs.configuration` prints"


def test_the_table_of_keys_is_the_schema() -> None:
    """Every key that a run has, with its default; and every field of the dataclasses that check them, with theirs."""
    documented = {
        key: yaml.safe_load(default) for name in FILES for key, default, _ in documented_keys(config_dir() / name)
    }
    assert documented == flatten(OmegaConf.to_container(composed(["recipe=arithmetic"]).pacs))
    assert {"beta", "reference.reset_every", "faults.skipped_updates"} <= documented.keys()
    schema = flatten(asdict(PacsConfig()) | {"faults": asdict(FaultSettings())})
    assert schema.items() <= documented.items()


def test_the_readme_s_keys_are_in_the_table() -> None:
    rows = re.findall(r"^\| `pacs\.([\w.]+)` \| ([^|]+?) \|", README, flags=re.MULTILINE)
    assert len(rows) > 3
    documented = {key: default for name in FILES for key, default, _ in documented_keys(config_dir() / name)}
    assert dict(rows).items() <= documented.items()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_keys_named_in_the_docs_exist(page: Path) -> None:
    configs = [composed(["recipe=arithmetic"], algorithm) for algorithm in ("pacs", "ppo")]
    roots = "|".join(str(key) for key in configs[0])
    named = re.findall(rf"`((?:{roots})\.[\w.]+?)(?:=[^`]*)?`", page.read_text())
    for key in [name for name in named if not name.endswith(".py")]:
        known = [OmegaConf.select(config, key, default="absent") != "absent" for config in configs]
        assert any(known), f"{page.name} names {key}"
