"""What the README and the docs name is there: files, commands, keys with their defaults."""

import json
import re
import shlex
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from pacs import cli
from pacs.metrics import ENTRIES, find
from pacs.paths import config_dir

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "recipes").rglob("README.md"))]
README = (ROOT / "README.md").read_text()


def commands(text: str) -> list[str]:
    """Every line of every bash block."""
    blocks = re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line and not line.startswith("#")]


def composed(overrides: list[str]) -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=overrides)


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
            composed([word for word in words[2:] if "=" in word])
        elif words[0] == "pacs":
            subcommand = words[1:3] if words[1] == "data" else words[1:2]
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


def test_the_table_of_keys_is_the_config() -> None:
    documented = dict(re.findall(r"^\| `pacs\.([\w.]+)` \| ([^|]+?) \|", README, flags=re.MULTILINE))
    section = OmegaConf.to_container(composed(["recipe=arithmetic"]).pacs)
    actual = {}
    for key, value in section.items():
        actual |= {f"{key}.{name}": item for name, item in value.items()} if isinstance(value, dict) else {key: value}
    shown = {key: json.dumps(value).strip('"') for key, value in actual.items()}
    # The run's folder is made of other keys, which the table spells out.
    assert documented == shown | {"run_dir": "outputs/&lt;project&gt;/&lt;experiment&gt;"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_keys_named_in_the_docs_exist(page: Path) -> None:
    config = composed(["recipe=arithmetic"])
    roots = "|".join(str(key) for key in config)
    named = re.findall(rf"`((?:{roots})\.[\w.]+?)(?:=[^`]*)?`", page.read_text())
    for key in [name for name in named if not name.endswith(".py")]:
        assert OmegaConf.select(config, key, default="absent") != "absent", f"{page.name} names {key}"
