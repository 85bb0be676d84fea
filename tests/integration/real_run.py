"""A real run of `pacs train` in a process of its own: Ray, FSDP2, vLLM, on a task of seconds."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.distributed.tensor import DTensor

from pacs.base.files import read_lines
from pacs.base.run_folder import RunFolder
from pacs.checkpoints.folder import newest_checkpoint
from pacs.runs.disk_space import SHARED_MEMORY
from pacs.runs.processes import processes_of
from pacs.runs.state import RunState, read_progress, read_state
from tests.processes import lives, ray_sessions, that_name
from tests.runs.launched import heed_signals

RESET_EVERY = 3
WITH_RESETS = (f"method.reference.reset_every={RESET_EVERY}", "method.reference.reset_optimizer=true")
#: In the environment of the run that is left alone, whose reward asks for it.
SECRET = "hush-hush-4711"
STEPS = 10
#: Settings with which the same run can be made again to the bit: each response has its own seed, and vLLM samples one
#: at a time, since its arithmetic depends on which requests happen to share a batch.
REPEATABLE_BASELINE = (
    f"trainer.total_training_steps={STEPS}",
    "data.train_batch_size=4",
    "data.train_max_samples=12",  # three steps an epoch: the data's order goes on across its end
    "data.val_max_samples=4",
    "actor_rollout_ref.rollout.val_kwargs.n=4",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "run.rollouts.seeded=true",
    "actor_rollout_ref.rollout.max_num_seqs=1",
)
REPEATABLE = (*REPEATABLE_BASELINE, "method.reference.warmup_steps=1")
#: Within this time of a fault the run is to have ended.
ENDING_SECONDS = 60
START_SECONDS = 900
#: How the names of metrics begin that differ between two runs of the same steps.
MEASURED = ("timing", "perf/", "actor/perf/")


def make_task(folder: Path) -> Path:
    """An untrained tiny Qwen3 and single-digit sums."""
    # transformers is slow to import, and what looks at a run alone needs none of it.
    from recipes.arithmetic.model import build_model
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(4096)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"{a}+{b}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(a + b)},
            "extra_info": {"index": 10 * a + b, "split": "train"},
        }
        for a in range(10)
        for b in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "data.parquet")
    return folder


class RealRun:
    """A run's folder, and the starts in it.

    Args:
        task: what `make_task` made.
        folder: the run's folder.
        overrides: of every start.
        algorithm: the primary config.
    """

    def __init__(self, task: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> None:
        self.task, self.folder = task, folder
        self.printed = ""
        self.starts: list[Start] = []
        self.checkpoints = folder / "checkpoints"
        self.command = [
            sys.executable, "-m", "pacs", "train", "--config-name", algorithm, "recipe=arithmetic",
            f"actor_rollout_ref.model.path={task / 'model'}",
            f"data.train_files={task / 'data.parquet'}",
            f"data.val_files={task / 'data.parquet'}",
            "data.val_max_samples=16",
            f"reward.custom_reward_function.path={Path(__file__).with_name('parity_reward.py')}",
            f"run.dir={folder}",
            *(WITH_RESETS if algorithm == "pacs" else []),
            "data.train_batch_size=16",
            "data.max_response_length=16",
            "actor_rollout_ref.rollout.n=4",
            "actor_rollout_ref.actor.ppo_mini_batch_size=8",
            "trainer.save_freq=1",
            "trainer.test_freq=-1",
            *overrides,
        ]  # fmt: skip

    def start(self, *overrides: str) -> "Start":
        """Start `pacs train`; its output goes to a file in the task's folder."""
        self.starts.append(Start(self, [*self.command, *overrides]))
        return self.starts[-1]

    def end(self) -> None:
        """End what a test that failed has left running; the rest of the run ends itself then."""
        for start in self.starts:
            start.process.kill()

    def train(self, *overrides: str) -> str:
        """Train to the end; what was printed."""
        start = self.start(*overrides)
        assert start.process.wait(START_SECONDS) == 0, start.printed[-6000:]
        return start.printed

    def steps(self) -> list[dict]:
        """The lines of metrics.jsonl."""
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def training_steps(self) -> list[dict]:
        """The lines of metrics.jsonl that a training step wrote, without those of validation alone."""
        return [line for line in self.steps() if "timing_s/step" in line]

    def unmeasured(self, *others: str) -> list[dict]:
        """The training steps' metrics without times, what depends on them, and `others`."""
        return [
            {key: value for key, value in line.items() if not key.startswith(MEASURED) and key not in others}
            for line in self.training_steps()
        ]

    def samples(self, step: int) -> list[dict]:
        """The responses of a training step that the run has kept."""
        return [json.loads(line) for line in (self.folder / f"samples/train/{step}.jsonl").open()]

    def all_samples(self) -> dict[str, str]:
        """The responses of all training steps, as they stand in their files, by file."""
        return {file.name: file.read_text() for file in (self.folder / "samples" / "train").iterdir()}

    def dies_and_goes_on(
        self, *, after_step: int, process: str = "ray::TaskRunnerV1", cause: str = "the trainer died"
    ) -> int:
        """Kill a process as the rollouts of the step after `after_step` begin; then train to the end.

        Returns:
            The step that the run went on from: `after_step`, or a later one on a machine that is quick.
        """
        start = self.start()
        start.wait_for(lambda: start.trains() and bool(start.titled(process)))
        # verl forks a judge's router from the trainer, under the trainer's name.
        victim = min(start.titled(process), key=lambda each: each.create_time())
        start.wait_for(lambda: start.has_trained(after_step), at_once=True)
        victim.kill()
        failed(start, cause)
        self.train()
        resumed = self.starts[-1].state.resumed_from
        assert resumed is not None
        return resumed

    def policy(self, step: int, part: str = "actor") -> dict[str, torch.Tensor]:
        """The weights in a checkpoint; needs a process group, since FSDP's state dicts hold DTensors."""
        file = self.checkpoints / f"global_step_{step}/{part}/model_world_size_1_rank_0.pt"
        return {name: value.full_tensor() for name, value in torch.load(file, weights_only=False).items()}

    def optimizer(self, step: int) -> dict[str, torch.Tensor]:
        """The optimizer's tensors in a checkpoint by their names; needs a process group, as `policy` does."""
        file = self.checkpoints / f"global_step_{step}/actor/optim_world_size_1_rank_0.pt"
        return dict(_tensors(torch.load(file, weights_only=False)))

    def reference(self, step: int) -> dict[str, torch.Tensor]:
        """The reference's weights that a checkpoint refers to; needs a process group, as `policy` does."""
        name = json.loads((self.checkpoints / f"global_step_{step}/complete.json").read_text())["reference"]
        file = self.checkpoints / "references" / name / "reference_world_size_1_rank_0.pt"
        return {name: value.full_tensor() for name, value in torch.load(file).items()}


def command_of(process: psutil.Process) -> str:
    """Its command line; that of one which has ended meanwhile is empty."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


class Start:
    """One start of a run.

    Args:
        run: the run.
        command: what is started.
        variables: of its environment, beside this process's.
        own_session: whether it gets a session of its own.
    """

    def __init__(
        self, run: RealRun, command: list[str], variables: Mapping[str, str] | None = None, own_session: bool = False
    ) -> None:
        self.run = run
        self.log = run.task / f"{run.folder.name}-{time.monotonic_ns()}.log"
        self.output = run.folder / RunFolder.LOG
        self.said_before = self.output.stat().st_size if self.output.exists() else 0
        self.segments: set[Path] = set()
        self.family: set[psutil.Process] = set()
        self.sessions: set[str] = set()
        self.temporary: list[str] = []
        env = {key: value for key, value in os.environ.items() if key != "VERL_PLATFORM"} | dict(variables or {})
        with self.log.open("w") as stream:
            self.process = subprocess.Popen(
                command,
                env=env,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=own_session,
                preexec_fn=heed_signals,
            )

    @property
    def printed(self) -> str:
        """What it has printed so far, and what the run's processes have said."""
        return self.console + self.said

    @property
    def console(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()

    @property
    def said(self) -> str:
        """What the run's processes have said so far."""
        said = self.output.read_bytes() if self.output.exists() else b""
        return said[self.said_before :].decode(errors="replace")

    @property
    def state(self) -> RunState:
        """state.json."""
        state = read_state(self.run.folder)
        assert state is not None, self.printed[-3000:]
        return state

    def wait_for(self, condition: Callable[[], object], *, at_once: bool = False) -> None:
        """Wait until `condition` holds; look often enough to catch a moment in a save.

        `at_once` leaves the run's shared memory unlooked for, which may take longer than a few steps.
        """
        deadline = time.monotonic() + START_SECONDS
        while True:
            asked = time.monotonic()
            if condition():
                break
            assert self.process.poll() is None, self.printed[-6000:]
            assert time.monotonic() < deadline, self.printed[-6000:]
            # A look at all processes takes long, and the run needs this machine.
            time.sleep(max(0.005, 3 * (time.monotonic() - asked)))
        if not at_once:
            self.segments = self.segments or self.mapped_segments()
            self.look()

    def look(self) -> None:
        """Note all that descends from the launcher, by no environment, and what is in the start's temporary folder."""
        self.family |= set(psutil.Process(self.process.pid).children(recursive=True))
        self.sessions |= ray_sessions(self.family)
        folder = self.state.temporary
        self.temporary = sorted(file.name for file in Path(folder).iterdir()) if folder else []

    def trains(self) -> bool:
        """Whether this start's first step has begun, or is over: a phase may pass unseen."""
        state, progress = read_state(self.run.folder), read_progress(self.run.folder)
        own = state is not None and state.pid == self.process.pid  # not of the start before
        return own and progress is not None and progress.phase != "start"

    def has_trained(self, step: int) -> bool:
        """Whether this start trains and has logged `step`, or a later one; then the next one's rollouts begin."""
        logged = read_lines(self.run.folder / "metrics.jsonl", dict, "")
        return self.trains() and any(line["step"] >= step for line in logged)

    def driver(self) -> psutil.Process:
        """The launcher's one child."""
        (driver,) = psutil.Process(self.process.pid).children()
        return driver

    def find(self, title: str) -> psutil.Process:
        """The run's process with `title` in its command line."""
        found = self.titled(title)
        assert found, [command_of(process) for process in processes_of(self.state.token)]
        return found[0]

    def titled(self, title: str) -> list[psutil.Process]:
        """The run's processes with `title` in their command lines."""
        return [process for process in processes_of(self.state.token) if title in command_of(process)]

    def ends(self, seconds: float = ENDING_SECONDS) -> int:
        """Wait for the end, and check that nothing is left; the exit status."""
        fault = time.monotonic()
        status = self.process.wait(seconds)
        print(f"ended after {time.monotonic() - fault:.1f} s: {self.state.cause}")  # docs/reliability.md; pytest -rP
        self.leaves_nothing()
        return status

    def leaves_nothing(self) -> None:
        """Check that no process, no shared memory and no temporary file is left."""
        left = {process for process in self.family if lives(process)}
        left |= {process for session in self.sessions for process in that_name(session)}
        assert [(process.pid, process.cmdline()) for process in left] == []
        assert [p.cmdline() for p in processes_of(self.state.token)] == []
        assert {file for file in self.segments if file.exists()} == set()
        assert self.state.temporary is not None
        assert not Path(self.state.temporary).exists()
        assert list(Path("/tmp").glob(f"*{self.state.token}*")) == []

    def mapped_segments(self) -> set[Path]:
        """The shared memory that the run's processes have; without Ray's, whose name is gone while it is in use."""
        maps = [Path(f"/proc/{process.pid}/maps") for process in processes_of(self.state.token)]
        lines = [line for file in maps if file.exists() for line in file.read_text().splitlines()]
        return {file for line in lines if (file := Path(line.split(maxsplit=5)[-1])).parent == SHARED_MEMORY}


def failed(start: Start, *said: str) -> None:
    """The start has ended as a fault whose cause is named on the console and in its state."""
    assert start.ends() == 1, start.printed[-3000:]
    assert start.state.state == "failed"
    last = start.console[-3000:]
    for words in said:
        assert words in str(start.state.cause)
        assert words in last
    checkpoint, problems = newest_checkpoint(start.run.checkpoints)
    assert problems == []
    assert checkpoint is not None
    assert f"The same command goes on from step {checkpoint.step}" in last


def _tensors(node: object, name: str = "") -> Iterator[tuple[str, torch.Tensor]]:
    """What a nested state dict holds, numbers as tensors."""
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _tensors(child, f"{name}.{key}")
    elif isinstance(node, list | tuple):
        yield from _tensors(dict(enumerate(node)), name)
    elif isinstance(node, torch.Tensor):
        yield name, node.full_tensor() if isinstance(node, DTensor) else node
    elif isinstance(node, int | float):
        yield name, torch.tensor(node)


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    """Whether two sets of weights are the same to the bit."""
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)
