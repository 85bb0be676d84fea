"""A long run on a CPU (Ray, vLLM, FSDP2): from step 20 on, none of its processes and stores grows."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from statistics import median

import psutil
import pytest

from pacs.runs.state import read_progress
from tests.integration.real_run import RealRun, Start, command_of

#: On 2 cores a step takes about a second.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(2400)]

FIRST, STEPS, WINDOW = 20, 400, 20
GROUPS, RESPONSES = 4, 4
#: Steps between two validations, of as many responses as a step.
EVERY = 10
#: What the reward function leaks on purpose, in bytes a response: so much more its process must be found to grow.
LEAK = 4096
LEAK_KIB = GROUPS * RESPONSES * (1 + 1 / EVERY) * LEAK / 1024
#: KiB a step by which a process may grow from step `WARM` on, before which caches fill. vLLM's worker had 26 with
#: `BOUNDS` (60 steps) and 236 without (225 steps); the training worker's memory goes up and down by megabytes.
WARM, LIMIT_KIB = 100, 32.0
LIMITS_KIB = {"VLLM::Worker": 256.0, "ray::WorkerDict": 64.0}
#: By how much the other quantities may be more at the end: KiB, or so many.
MOST_MORE = {"shared": 1024, "threads": 2, "files": 2}
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    f"data.train_batch_size={GROUPS}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={GROUPS}",
    f"actor_rollout_ref.rollout.n={RESPONSES}",
    "actor_rollout_ref.actor.optim.lr=1e-6",
    f"trainer.save_freq={EVERY}",
    f"trainer.test_freq={EVERY}",
    f"data.val_max_samples={GROUPS}",
    f"actor_rollout_ref.rollout.val_kwargs.n={RESPONSES}",
    "method.reference.reset_every=5",
    "reward.custom_reward_function.name=compute_watched",
    f"+reward.custom_reward_function.reward_kwargs.leak_bytes={LEAK}",
    # What grows up to a bound is to be at it by the first step that is looked at: vLLM's cache is of few blocks.
    "+actor_rollout_ref.rollout.engine_kwargs.vllm.num_gpu_blocks_override=64",
)
#: Likewise: of 100,000 finished tasks in Ray's GCS, and of 1,024 compiled kernels (oneDNN) in each process.
BOUNDS = {"RAY_task_events_max_num_task_in_gcs": "1000", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32"}
#: What is looked at, and its key in /proc.
KEYS = {"memory": "RssAnon", "shared": "RssShmem", "threads": "Threads"}
#: Processes that a run has.
EXPECTED = (
    "pacs train", "pacs.integration.launch.driver", "ray::TaskRunnerV1", "ray::WorkerDict", "ray::vLLMHttpServer",
    "VLLM::EngineCore", "VLLM::Worker", "ray::LeanWorker", "ray::RewardLoopWorker", "ray::SimpleStorageUnit",
    "ray::TransferQueueController", "raylet", "gcs_server",
)  # fmt: skip
REWARD = "ray::RewardLoopWorker"
#: Quantity -> (step, value), by step.
Series = dict[str, list[tuple[int, float]]]


class Held:
    """What each process of a start holds, step by step: KiB of anonymous and of shared memory, open files, threads."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self.of: dict[str, Series] = defaultdict(lambda: defaultdict(list))
        self.names: dict[psutil.Process, str] = {}
        self.listed = 0

    def look(self, step: int) -> None:
        """Add a step's values."""
        if step >= self.listed + WINDOW // 2:
            self.listed = step
            for process in [psutil.Process(self.start.process.pid), *self.start.titled("")]:
                self.names.setdefault(process, f"{title_of(process)} {process.pid}")
        for process, name in self.names.items():
            with suppress(psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
                folder = Path(f"/proc/{process.pid}")
                status = (folder / "status").read_text()
                found = {what: float(status.split(f"\n{key}:")[1].split()[0]) for what, key in KEYS.items()}
                for what, value in (found | {"files": len(list((folder / "fd").iterdir()))}).items():
                    self.of[name][what].append((step, value))


def slope(series: Sequence[tuple[int, float]]) -> float:
    """The median of the slopes between all pairs of points: a jump of a cache, or a peak, is in few of them."""
    return median((b - a) / (there - here) for (here, a), (there, b) in combinations(series, 2))


def growth(series: Sequence[tuple[int, float]]) -> float:
    """From the median of the first window to that of the last."""
    return median(value for _, value in series[-WINDOW:]) - median(value for _, value in series[:WINDOW])


def watch(run: RealRun) -> Held:
    """Train to the end, and look at all processes at each step from `FIRST` on."""
    start = run.start()
    held, last = Held(start), FIRST - 1
    while start.process.poll() is None:
        progress = read_progress(run.folder)
        if progress is not None and progress.step > last:
            last = progress.step
            held.look(last)
        with suppress(subprocess.TimeoutExpired):
            start.process.wait(0.2)
    assert start.process.returncode == 0, start.printed[-6000:]
    return held


def title_of(process: psutil.Process) -> str:
    """What it is: of one of Ray's the actor, and else the begin of its command line."""
    words = [Path(word).name for word in command_of(process).split()[:5]]
    return words[0].split(".")[0] if words and words[0].startswith("ray::") else " ".join(words)


@pytest.fixture(scope="module")
def run(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealRun]:
    folder = tmp_path_factory.mktemp("long")
    log = f"+reward.custom_reward_function.reward_kwargs.log={folder / 'stores.jsonl'}"
    run = RealRun(task, folder / "run", *SETTINGS, log)
    yield run
    run.end()


@pytest.fixture(scope="module")
def held(run: RealRun) -> Held:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in BOUNDS.items():
            patch.setenv(name, value)
        held = watch(run)
    (run.folder.parent / "held.json").write_text(json.dumps(held.of))  # pytest keeps it: what grew, and when
    return held


def living(held: Held) -> dict[str, Series]:
    """Processes that were there in the first window and in the last."""
    return {
        name: series
        for name, series in held.of.items()
        if series["memory"][0][0] < FIRST + WINDOW and series["memory"][-1][0] > STEPS - WINDOW
    }


def test_the_run_trains_to_its_end_and_is_looked_at(run: RealRun, held: Held) -> None:
    assert all(line["actor/grad_norm"] > 0 for line in run.steps() if line["step"] > 0)
    assert [title for title in EXPECTED if not any(title in name for name in living(held))] == []


def test_no_process_grows_but_by_the_leak_on_purpose(held: Held) -> None:
    slopes = {name: slope([at for at in series["memory"] if at[0] >= WARM]) for name, series in living(held).items()}
    print(slopes)  # pytest -rP shows it
    (reward,) = (name for name in slopes if name.startswith(REWARD))
    slopes[reward] -= LEAK_KIB
    limits = {name: LIMITS_KIB.get(name.split()[0], LIMIT_KIB) for name in slopes}
    assert {name: value for name, value in slopes.items() if value > limits[name]} == {}
    assert slopes[reward] > -LIMIT_KIB, "the leak is not found"


@pytest.mark.parametrize("what", ["shared", "threads", "files"])
def test_no_process_takes_more(held: Held, what: str) -> None:
    grown = {name: growth(series[what]) for name, series in living(held).items()}
    assert {name: value for name, value in grown.items() if value > MOST_MORE[what]} == {}


def test_no_process_is_left_over(held: Held) -> None:
    """As many as at the first step, though validations and saves come and go."""
    assert {name for name, series in held.of.items() if series["memory"][-1][0] > STEPS - WINDOW} == set(living(held))


def test_the_queue_and_the_object_store_hold_a_step(run: RealRun, held: Held) -> None:
    looks = [json.loads(line) for line in (run.folder.parent / "stores.jsonl").read_text().splitlines()]
    assert len(looks) > STEPS // WINDOW
    assert max(look["rows"] for look in looks) <= 2 * GROUPS * RESPONSES  # of a step, and of the next or a validation
    early, late = looks[: len(looks) // 2], looks[len(looks) // 2 :]
    # The bytes are pickled texts, whose lengths vary by more than .5%.
    for what, noise in {"objects": 1, "bytes": 1.005}.items():
        assert median(look[what] for look in late) <= noise * median(look[what] for look in early), (what, looks)
