"""Shared by all tests: the tiers, the CPU stack, chosen before anything imports verl, and one thread for tiny tensors.

On a machine whose cores are taken by other jobs, threads that wait for each other make a test a hundred times slower.
"""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("VERL_PLATFORM", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Ray's workers give way to all else by default (15): beside another test's process they would hardly run.
os.environ.setdefault("RAY_worker_niceness", "0")

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from pacs.base.collecting import collect_rarely

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

torch.set_num_threads(1)
collect_rarely()

# A shell has what it starts in the background ignore SIGINT, and nohup SIGHUP. The runs that a test signals would
# inherit that; a handler that does nothing they do not, and the tests themselves go on as they were asked to.
for _ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_ignored) == signal.SIG_IGN:
        signal.signal(_ignored, lambda *_: None)

#: File -> the file in whose process it goes: the run that is left alone is made once for both, a model with Qwen's
#: vocabulary leaves no room for another run beside it, and what ranks are forked from (tests/ranks.py) imports once.
TOGETHER = {
    "tests/integration/test_train.py": "tests/integration/test_faults.py",
    "tests/recipes/test_quickstart.py": "tests/recipes/test_smoke.py",
    "tests/sweeps/test_real_sweep.py": "tests/recipes/test_smoke.py",
    **dict.fromkeys(
        (
            *("tests/integration/worker/test_poison.py", "tests/integration/worker/test_uneven_groups.py"),
            *("tests/integration/worker/test_worker_one_rank.py", "tests/integration/preflight/test_preflight.py"),
            *("tests/integration/checkpoints/test_reshard.py", "tests/recipes/test_minimal.py"),
            *("tests/export/test_shards.py", "tests/export/test_damaged_shards.py"),
        ),
        "tests/integration/worker/test_worker.py",
    ),
}
#: Files that take minutes of one core.
LONGEST = ("test_faults.py", "test_worker.py", "test_evaluate.py", "test_wrong_inputs.py")
#: The files of `--quick`: the algorithm, the rewards, the house, and what else imports neither verl nor Ray.
QUICK = (
    *("tests/algorithm", "tests/base", "tests/docs", "tests/metrics", "tests/rewards"),
    *("tests/test_house.py", "tests/test_mutants.py", "tests/test_step_files.py"),
)
#: Of these folders, the files that import verl, compose a run with it, or start a process for each test.
NOT_QUICK = {
    *("tests/base/test_terminal.py", "tests/docs/test_commands.py", "tests/docs/test_keys.py"),
    *("tests/docs/test_method_example.py", "tests/metrics/test_registry.py", "tests/base/test_redaction.py"),
    *("tests/metrics/test_components.py", "tests/rewards/test_cores.py", "tests/rewards/test_isolation.py"),
    *("tests/rewards/test_ray.py", "tests/rewards/test_reasoning.py", "tests/rewards/test_registry.py"),
    *("tests/rewards/test_sandbox.py", "tests/rewards/test_seccomp.py", "tests/rewards/test_secrecy.py"),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The tier of scripts/test.sh that imports no verl; the two others are marks."""
    parser.addoption("--quick", action="store_true", help="the tests of the algorithm, the rewards and the house alone")


def is_quick(file: str) -> bool:
    """Whether a file's tests are of `--quick`; a path from the repository's root."""
    return file not in NOT_QUICK and any(f"{file}/".startswith(f"{place}/") for place in QUICK)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`--quick` and `-m gpu` read no other file; `--quick` enters no other folder, whose conftest.py may import verl.

    What the others import takes half a minute, and a machine with a GPU for its tests alone may lack it.
    """
    if config.option.quick and collection_path.is_dir() and collection_path != config.rootpath:
        folder = f"{collection_path.relative_to(config.rootpath).as_posix()}/"
        return not any(f"{place}/".startswith(folder) or folder.startswith(f"{place}/") for place in QUICK) or None
    if not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    if config.option.quick:
        return not is_quick(collection_path.relative_to(config.rootpath).as_posix()) or None
    if config.option.markexpr == "gpu":
        return "mark.gpu" not in collection_path.read_text() or None
    return None


def pytest_collection_finish() -> None:
    """Of what is imported by now nothing is garbage: the collector leaves it alone from here on."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: pytest-xdist hands them out in order, and at the end nobody waits for one of them."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadFileScheduling | None":
    """Files that go to one process, one after the other."""
    from xdist.scheduler import LoadFileScheduling

    assert all((config.rootpath / file).is_file() for pair in TOGETHER.items() for file in pair), "a file was renamed"

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session", autouse=True)
def quick_tests_import_no_verl(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of `--quick`: else it would not be quick, and what it tests would not stand alone."""
    assert all((request.config.rootpath / place).exists() for place in (*QUICK, *NOT_QUICK)), "a file was renamed"
    yield
    assert not request.config.option.quick or not {"verl", "vllm"} & sys.modules.keys()


@pytest.fixture(scope="session", autouse=True)
def configs_are_read_once() -> Iterator[None]:
    """Hydra reads verl's seventy files of YAML anew for each run that it composes, which is half of its time."""
    from hydra._internal.sources_registry import SourcesRegistry
    from hydra.core.plugins import Plugins

    Plugins.instance()  # which fills the registry
    source = SourcesRegistry.instance().resolve("file")
    load, read = source.load_config, {}

    def load_once(self: Any, config_path: str) -> Any:
        file = Path(self.path, self._normalize_file_name(config_path))
        which = (self.provider, file, file.stat().st_mtime_ns if file.is_file() else None)
        if which not in read:
            read[which] = pickle.dumps(load(self, config_path))
        return pickle.loads(read[which])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "load_config", load_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def references_are_parsed_once() -> Iterator[None]:
    """verl's config has hundreds of `${...}`, the same in each run, which OmegaConf parses whenever they are read."""
    from omegaconf import _utils, base

    with pytest.MonkeyPatch.context() as patch:
        for module in (_utils, base):
            patch.setattr(module, "parse", cache(module.parse))
        yield


@pytest.fixture(scope="session", autouse=True)
def files_are_merged_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hydra finds, reads and merges the files of a run anew for each, though only the overrides of keys are other."""
    if request.config.option.quick:
        yield
        return
    from hydra._internal import config_loader_impl as loader
    from hydra._internal.defaults_list import Overrides
    from omegaconf import DictConfig

    from pacs.base.paths import config_dir, verl_configs

    create, merge = loader.create_defaults_list, loader.ConfigLoaderImpl._compose_config_from_defaults_list
    ours = {"hydra.conf", "", str(config_dir()), str(verl_configs())}
    lists: dict[Any, Any] = {}
    merged: dict[int, bytes] = {}

    def create_once(repo: Any, config_name: str, overrides_list: list[Any], **more: Any) -> Any:
        places = tuple(source.path for source in repo.get_sources())
        if not set(places) <= ours:
            return create(repo, config_name, overrides_list, **more)
        of_keys = Overrides(repo, overrides_list).config_overrides
        of_groups = (override.input_line for override in overrides_list if override not in of_keys)
        which = (config_name, places, *of_groups, *more.items())
        if which not in lists:
            lists[which] = create(repo, config_name, overrides_list, **more)
        return replace(lists[which], config_overrides=of_keys)

    def merge_once(self: Any, defaults: list[Any], repo: Any) -> DictConfig:
        if not any(defaults is made.defaults for made in lists.values()):
            return merge(self, defaults, repo)
        if id(defaults) not in merged:
            merged[id(defaults)] = pickle.dumps(merge(self, defaults, repo))
        return pickle.loads(merged[id(defaults)])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "create_defaults_list", create_once)
        patch.setattr(loader.ConfigLoaderImpl, "_compose_config_from_defaults_list", merge_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def what_settings_are_held_against_is_composed_once(request: pytest.FixtureRequest) -> Iterator[None]:
    """`compose_run` composes each run twice: with its settings, and without, to see of which kind each was."""
    if request.config.option.quick:
        yield
        return
    from hydra.core.global_hydra import GlobalHydra

    from pacs import composing

    compose, composed = composing.compose, {}
    ours = {"pkg://hydra.conf", "structured://", str(composing.config_dir()), f"file://{composing.config_dir()}"}

    def compose_once(name: str, overrides: list[str], **more: Any) -> Any:
        places = {place.path for place in GlobalHydra.instance().config_loader().get_search_path().get_path()}
        if more or not places <= ours:
            return compose(name, overrides=overrides, **more)
        if (name, *overrides) not in composed:
            composed[name, *overrides] = compose(name, overrides=overrides)
        return composed[name, *overrides]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composing, "compose", compose_once)
        yield


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Overrides that give the arithmetic recipe a model folder and data files."""
    from safetensors.torch import save_file

    from recipes.arithmetic.tokenizer import build_tokenizer

    folder = tmp_path_factory.mktemp("inputs")
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"max_position_embeddings": 40960}')
    build_tokenizer(40960).save_pretrained(folder / "model")
    save_file({"weight": torch.ones(1)}, folder / "model" / "model.safetensors")
    row = {
        "prompt": [{"role": "user", "content": "1+1"}],
        "data_source": "arithmetic",
        "reward_model": {"style": "rule", "ground_truth": "2"},
    }
    pq.write_table(pa.Table.from_pylist([row] * 64), folder / "data.parquet")
    return [
        "recipe=arithmetic",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        f"data.train_files={folder / 'data.parquet'}",
        f"data.val_files={folder / 'data.parquet'}",
    ]
