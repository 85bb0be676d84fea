"""Settings that the docs name exist; every key of ours and every variable that the code reads is in the docs."""

import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest
import yaml
from hydra import compose, initialize_config_dir, initialize_config_module
from omegaconf import OmegaConf

from pacs.algorithm import Pacs
from pacs.base.paths import config_dir
from pacs.base.settings import flatten
from pacs.integration.plain_sft import DEFAULTS
from pacs.runs.genac_settings import GenacSettings
from pacs.runs.settings import RunSettings
from tests.docs.configs import composed
from tests.docs.configuration import FILES, documented_keys, key_table
from tests.docs.pages import PAGES, ROOT, Page, code_words, read
from tests.docs.test_files import FILE

ALGORITHMS = sorted(file.stem for file in config_dir().glob("*.yaml"))
GROUPS = sorted(folder.name for folder in config_dir().iterdir() if folder.is_dir())
#: Of other programs: explained in the docs, and not named in the code.
NOT_OURS = {
    "HF_HOME",
    "HF_TOKEN",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
    "PIP_EXTRA_INDEX_URL",
    "RAY_DEDUP_LOGS",
    "RLIMIT_NPROC",
    "VERL_USE_EXTERNAL_MODULES",
    "VLLM_CACHE_ROOT",
    "VLLM_DISABLE_COMPILE_CACHE",
    "WANDB_API_KEY",
    "WANDB_RESUME",
    "WANDB_RUN_ID",
}
#: What our own processes tell each other.
INTERNAL = {"PACS_CLUSTER_TOKEN", "PACS_COLLECTIVE_SECONDS", "PACS_RUN_DIR", "PACS_RUN_TMPDIR", "PACS_RUN_TOKEN"}


@cache
def known_keys() -> frozenset[str]:
    """The keys of every algorithm, on GPUs and on a CPU; inner nodes too."""
    configs = [composed("recipe=qwen3_8b", algorithm=algorithm) for algorithm in ALGORITHMS]
    configs.append(composed("recipe=arithmetic"))
    with initialize_config_module("verl.trainer.config", version_base=None):  # of `pacs.integration.plain_sft`
        of_sft = {f"data.{key}" for key in compose("sft_trainer_engine", overrides=[*DEFAULTS]).data}
    return frozenset(of_sft.union(*(_below(OmegaConf.to_container(config)) for config in configs)))


def _below(node: object, prefix: str = "") -> set[str]:
    if not isinstance(node, dict):
        return set()
    children = {f"{prefix}{key}": child for key, child in node.items()}
    return children.keys() | {key for path, child in children.items() for key in _below(child, f"{path}.")}


def is_python(name: str) -> bool:
    """Whether it is a module of ours or something in one: `pacs` is the name of both."""
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return name.startswith("pacs.")


def unknown_keys(page: Page) -> list[str]:
    """Words that begin as a key of a run does, and are none."""
    roots = "|".join({key.split(".")[0] for key in known_keys()})
    found = (re.fullmatch(rf"((?:{roots})(?:\.[\w*]+)+)(?:=.*)?", word) for word in page.words)
    named = {match.group(1) for match in found if match and not FILE.fullmatch(match.group(1))}
    unknown = [name for name in named if not any(fnmatchcase(key, name) for key in known_keys())]
    return sorted(name for name in unknown if not is_python(name))


def unknown_options(page: Page) -> list[str]:
    """`recipe=arithmetic` and its like, wherever they stand, of which there is no file."""
    found = (re.fullmatch(rf"({'|'.join(GROUPS)})=(\w+)", word) for word in page.words)
    return [m.group() for m in found if m and not (config_dir() / m.group(1) / f"{m.group(2)}.yaml").exists()]


def unknown_variables(page: Page) -> set[str]:
    """Names in capitals, of variables and constants, that the code does not have."""
    words = (re.match(r"[A-Z]+(?:_[A-Z]+\d*)+", word) for word in page.words)
    return {match.group() for match in words if match} - code_words() - NOT_OURS


@pytest.mark.parametrize("unknown", [unknown_keys, unknown_options, unknown_variables], ids=lambda rule: rule.__name__)
def test_what_is_named_exists(unknown: Callable[[Page], Collection[str]]) -> None:
    assert {page.name: found for page in PAGES if (found := unknown(page))} == {}


def test_the_checker_sees_what_does_not(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`method.beta`, `method.betta=1`, `pacs.rewards.registry`, `trainer.nnodes=…,` `trainer.nodes`, `data.pt`\n\n"
        "    actor_rollout_ref.*.optim.lr critic.optim.rl recipe=arithmetic recipe=algebra PACS_VENV=x PACS_WENV\n"
    )
    assert unknown_keys(read(page)) == ["critic.optim.rl", "method.betta", "trainer.nodes"]
    assert unknown_options(read(page)) == ["recipe=algebra"]
    assert unknown_variables(read(page)) == {"PACS_WENV"}


def test_the_page_of_keys_is_what_the_configs_say() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    assert page.endswith(key_table()), "end docs/configuration.md with what `python -m tests.docs.configuration` prints"


def test_the_table_of_keys_is_the_schema() -> None:
    """Every key that a run has, with its default; and every field of the dataclasses that check them, with theirs."""
    documented = {
        key: yaml.safe_load(default)
        for name, (section, _) in FILES.items()
        for key, default, _ in documented_keys(config_dir() / name, section)
    }
    composed_config = composed("recipe=arithmetic")
    sections = {key: OmegaConf.to_container(composed_config[key]) for key in ("method", "run")}
    with initialize_config_dir(str(config_dir()), version_base=None):
        sections["genac"] = OmegaConf.to_container(compose("genac", overrides=["recipe=arithmetic"]).genac)
    assert {**documented, "genac.critic.actor.optim.lr": 1e-6} == flatten(sections)
    assert {"method.beta", "method.reference.reset_every", "run.faults.skipped_updates"} <= documented.keys()
    run = RunSettings(dir=documented["run.dir"])
    genac = GenacSettings().model_dump(exclude={"critic"})
    schema = flatten({"method": Pacs().model_dump(), "run": run.model_dump(), "genac": genac})
    assert schema.items() <= documented.items()


def test_the_readme_s_keys_are_in_the_table() -> None:
    rows = re.findall(
        r"^\| `((?:method|run)\.[\w.]+)` \| ([^|]+?) \|", (ROOT / "README.md").read_text(), flags=re.MULTILINE
    )
    assert len(rows) > 3
    documented = {
        key: default
        for name, (section, _) in FILES.items()
        for key, default, _ in documented_keys(config_dir() / name, section)
    }
    assert dict(rows).items() <= documented.items()


def test_the_values_of_verl_s_keys_are_those_of_the_recipe() -> None:
    section = (
        (ROOT / "docs/configuration.md").read_text().split("## verl's keys that are changed most")[1].split("##")[0]
    )
    rows = dict(re.findall(r"^\| `([\w.]+)` \| ([^|]+?) \|", section, flags=re.MULTILINE))
    assert len(rows) > 5
    config = composed("recipe=qwen3_8b")
    assert rows == {key: str(OmegaConf.select(config, key)) for key in rows}


def test_every_variable_that_a_user_sets_is_in_the_docs() -> None:
    used = {word for word in code_words() if re.fullmatch(r"PACS_[A-Z_]+", word)}
    assert len(used) > 5
    named = {word.split("=")[0] for page in PAGES for word in page.words}
    assert used - named == INTERNAL
