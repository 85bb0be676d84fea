"""Shared by all tests: the CPU stack, chosen before anything imports verl, and one thread for its tiny tensors.

On a machine whose cores are taken by other jobs, threads that wait for each other make a test a hundred times slower.
"""

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("VERL_PLATFORM", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
import yaml

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

torch.set_num_threads(1)

# A shell has what it starts in the background ignore SIGINT, and nohup SIGHUP. The runs that a test signals would
# inherit that; a handler that does nothing they do not, and the tests themselves go on as they were asked to.
for _ignored in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_ignored) == signal.SIG_IGN:
        signal.signal(_ignored, lambda *_: None)

#: File -> the file in whose process it goes: the run that is left alone is made once for both, and a model with Qwen's
#: vocabulary leaves no room for another run beside it.
TOGETHER = {
    "tests/integration/test_train.py": "tests/integration/test_faults.py",
    "tests/recipes/test_quickstart.py": "tests/recipes/test_smoke.py",
    "tests/sweeps/test_real_sweep.py": "tests/recipes/test_smoke.py",
}
#: Files that take minutes of one core.
LONGEST = ("test_faults.py", "test_worker.py", "test_configs.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m gpu` reads no other file: what those import, a machine with a GPU for these tests alone may lack."""
    if config.option.markexpr == "gpu" and collection_path.name.startswith("test_"):
        return "mark.gpu" not in collection_path.read_text() or None
    return None


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
def configs_are_read_once() -> Iterator[None]:
    """Hydra reads verl's seventy files of YAML anew for each run that it composes, which is a third of its time."""
    load, read = yaml.load, {}

    def load_once(stream: Any, Loader: Any) -> Any:
        name = getattr(stream, "name", None)
        if not isinstance(name, str) or not Path(name).is_absolute():
            return load(stream, Loader)
        file = (name, Path(name).stat().st_mtime_ns)
        if file not in read:
            read[file] = pickle.dumps(load(stream, Loader))
        return pickle.loads(read[file])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "load", load_once)
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
