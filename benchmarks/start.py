"""Where the time of a run's start goes, from the command to the end of its first step, by stage and by process.

    python benchmarks/start.py                        # the arithmetic recipe's model, untrained; three starts
    python benchmarks/start.py --beside ../before     # compared with another checkout, in turns
    python benchmarks/start.py --runs 1 hardware=h200x1 model=qwen3_0_6b     # any key=value of `pacs train`

Each start is a run of one step in a folder of its own, and is printed as it ends: when each stage was reached, and the
seconds that vLLM itself says its loading, compilation, profiling and graphs took. One that takes longer than --limit is
ended with all its processes; the others are measured, and the exit status is 1. At the end it prints medians: of each
stage, when each process began, and its CPU seconds until the first step began and until the run's end. A process that
Ray renamed is listed by its last name.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table import format_table
from pacs.base.arguments import positive, seconds
from pacs.base.run_folder import RunFolder
from pacs.runs.processes import KEEP_ENVIRONMENT, end_processes

ROOT = Path(__file__).parents[1]
#: Words of a line of the console -> the stage that it tells.
STAGES = {
    "the run's folder is": "checked",
    "  starting Ray": "driver ready",  # "pacs: starting Ray, ..." comes before it
    "data loaded": "Ray and the trainer ready",
    "training worker ready": "training worker ready",
    "vLLM loads the model": "vLLM loads the model",
    "vLLM compiles the model": "vLLM compiles, and measures its memory",
    "vLLM captures CUDA graphs": "vLLM captures CUDA graphs",
    "vLLM ready": "vLLM ready",
    "step 1/": "first step done",
    "the run is finished": "all ended",
}
#: What vLLM's log says took how long, as in "torch.compile took 12.34 s in total": the words, and the seconds.
TOOK = re.compile(
    r"(Model loading|Loading weights|Dynamo bytecode transform|Compiling a graph|torch\.compile"
    r"|Initial profiling/warmup run|Graph capturing finished|init engine)\b.*?([\d.]+) (?:s|secs|seconds)\b"
)
#: Environment variable of all processes of a start.
MARK = "BENCHMARK_START"
LIMIT = 300
POLL_SECONDS = 0.2
#: A settings file's worth of a run that takes seconds once it has started.
SETTINGS = (
    "recipe=arithmetic", "trainer.total_training_steps=1", "trainer.val_before_train=false", "trainer.test_freq=-1",
    "data.train_batch_size=8", "data.val_max_samples=4", "actor_rollout_ref.actor.ppo_mini_batch_size=8",
    "actor_rollout_ref.rollout.n=4", "data.max_response_length=16",
)  # fmt: skip


@dataclass
class Start:
    """What was seen of one."""

    stages: dict[str, float] = field(default_factory=dict)
    #: By vLLM's own words; of engines, layers and sizes that say the same, the sum.
    engine: dict[str, float] = field(default_factory=dict)
    ended: bool = True
    #: Name -> the second of its begin, and its CPU seconds until the first step and until the end; of all of that name.
    processes: dict[str, tuple[float, float, float]] = field(default_factory=dict)


def name_of(process: psutil.Process) -> str:
    """What a person calls it."""
    words = process.cmdline()
    title = " ".join(words).strip()
    if title.startswith(("ray::", "VLLM::")):
        return title.split(".")[0].split("(")[0]
    if "-m" in words:
        module = words[words.index("-m") + 1]
        return "launcher" if module == "pacs" else module.removeprefix("pacs.integration.")
    return Path(next((word for word in words[1:] if word.endswith(".py")), words[0])).name if words else "?"


def watch(process: subprocess.Popen[str], start: Start, began: float) -> None:
    """Note all that descends from the process until it has ended, with what each of them has used."""
    names: dict[tuple[int, float], str] = {}
    begun: dict[tuple[int, float], float] = {}
    used: dict[tuple[int, float], float] = {}
    before: dict[tuple[int, float], float] = {}
    family = {psutil.Process(process.pid)}
    while process.poll() is None:
        for member in list(family):
            try:
                family |= set(member.children(recursive=True))
                key = (member.pid, member.create_time())
                names[key], times = name_of(member), member.cpu_times()
            except psutil.Error:
                continue
            begun.setdefault(key, time.monotonic() - began)
            used[key] = times.user + times.system
        if "vLLM ready" in start.stages and not before:
            before = dict(used)
        time.sleep(POLL_SECONDS)
    sums: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for key, name in names.items():
        sums[name].append((begun[key], before.get(key, 0.0), used[key]))
    start.processes = {
        name: (min(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows))
        for name, rows in sums.items()
    }


def settings_of(data: Path, overrides: list[str]) -> list[str]:
    """What the run is told but its folder: the task that was made, with its model if no other is chosen."""
    files = [f"data.{part}_files={data / 'data.parquet'}" for part in ("train", "val")]
    chosen = any(override.startswith("model=") for override in overrides)
    model = [] if chosen else [f"actor_rollout_ref.model.path={data / 'model'}"]
    return [*SETTINGS, *model, *files, *overrides]


def engine_seconds(log: str) -> dict[str, float]:
    """What took how long by the lines of vLLM in a run's log."""
    found: dict[str, float] = defaultdict(float)
    for line in log.splitlines():
        if (said := TOOK.search(line)) is not None:
            found[said[1]] += float(said[2])
    return dict(found)


def measure(checkout: Path, data: Path, overrides: list[str], limit: float) -> Start:
    """One start of the checkout's `pacs train`.

    Raises:
        SystemExit: It failed, and not for want of time.
    """
    start, token = Start(), uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="start-") as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "pacs", "train", f"run.dir={run}", *settings_of(data, overrides)]
        began = time.monotonic()
        environment = os.environ | {"PYTHONPATH": str(checkout), MARK: token, KEEP_ENVIRONMENT: "1"}
        environment |= {"VLLM_LOGGING_LEVEL": "INFO"}  # verl has it say warnings alone
        process = subprocess.Popen(
            command, cwd=checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watching = threading.Thread(target=watch, args=(process, start, began))
        watching.start()

        def end() -> None:
            start.ended = False
            end_processes(token, grace_seconds=0, variable=MARK)

        timer = threading.Timer(limit, end)
        timer.start()
        said = []
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            for words, stage in STAGES.items():
                if words in line:
                    start.stages.setdefault(stage, time.monotonic() - began)
        status = process.wait()
        timer.cancel()
        timer.join()
        watching.join()
        log = run / RunFolder.LOG
        start.engine = engine_seconds(log.read_text(errors="replace") if log.is_file() else "")
    if status and start.ended:
        sys.exit(f"error: the run ended with status {status}:\n{''.join(said[-20:])}")
    if start.ended:
        start.stages["all ended"] = time.monotonic() - began
    return start


def make_task(folder: Path) -> None:
    """An untrained model of the arithmetic recipe, and sums."""
    from recipes.arithmetic.model import MAX_POSITIONS_TOKENS, build_model
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = [
        {
            "data_source": "arithmetic",
            "prompt": [{"role": "user", "content": f"{a}+{b}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(a + b)},
            "extra_info": {"index": 10 * a + b, "split": "train"},
        }
        for a in range(10)
        for b in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "data.parquet")


def described(start: Start) -> str:
    """A start in two lines: its stages, and what vLLM says of its own."""
    lines = [", ".join(f"{stage} {second:.1f}" for stage, second in start.stages.items()) or "no stage reached"]
    if start.engine:
        lines.append("vLLM: " + ", ".join(f"{what} {took:.1f}" for what, took in start.engine.items()))
    return "\n  ".join(lines)


def median_of(starts: list[Start], stage: str) -> float:
    """The second at which a stage was reached by those that did; not a number where none did."""
    return statistics.median([s.stages[stage] for s in starts if stage in s.stages] or [float("nan")])


def stages_table(ours: list[Start], theirs: list[Start], name: str) -> str:
    """A line a stage that ours reached. `theirs` and their name: beside which ours are shown, or none."""
    rows = []
    for stage in dict.fromkeys(STAGES.values()):
        if not any(stage in start.stages for start in ours):
            continue
        cells = [median_of(ours, stage), *([median_of(theirs, stage)] if theirs else [])]
        ratio = [f"{cells[0] / cells[1]:.2f}"] if theirs else []
        rows.append([stage, *(f"{cell:.1f}" for cell in cells), *ratio])
    return format_table(["stage", "s", *([f"s, {name}", "ratio"] if theirs else [])], rows)


def processes_table(starts: list[Start]) -> str:
    """A line a process that takes a second or more, in the order of their begin."""
    names = {name for start in starts for name in start.processes}
    processes = {
        name: [
            statistics.median(of)
            for of in zip(*(s.processes[name] for s in starts if name in s.processes), strict=True)
        ]
        for name in names
    }
    shown = sorted((name for name in names if processes[name][2] >= 1), key=lambda name: processes[name][0])
    table = [[name, *(f"{value:.1f}" for value in processes[name])] for name in shown]
    total = [sum(values[i] for values in processes.values()) for i in (1, 2)]
    table.append(["all", "", *(f"{value:.1f}" for value in total)])
    return format_table(["process", "began, s", "CPU s until the first step", "CPU s"], table)


def main() -> int:
    """Measure in turns and print. 1 if a start was ended for want of time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="of `pacs train`")
    parser.add_argument("--runs", type=positive, default=3, help="starts of each checkout")
    parser.add_argument("--beside", type=Path, help="another checkout, measured in turns")
    parser.add_argument("--limit", type=seconds, default=LIMIT, help=f"seconds a start may take (default: {LIMIT})")
    arguments = parser.parse_args()
    if arguments.beside and not (arguments.beside / "pacs").is_dir():
        parser.error(f"--beside {arguments.beside} is no checkout: give the folder that has pacs/ in it")
    checkouts = [ROOT, *([arguments.beside.resolve()] if arguments.beside else [])]
    starts: dict[Path, list[Start]] = {checkout: [] for checkout in checkouts}
    with tempfile.TemporaryDirectory(prefix="task-") as folder:
        make_task(Path(folder))
        for number in range(arguments.runs):
            for checkout in checkouts[:: -1 if number % 2 else 1]:  # what comes second finds files that were read
                start = measure(checkout, Path(folder), arguments.overrides, arguments.limit)
                starts[checkout].append(start)
                over = "" if start.ended else f", ended after {arguments.limit:.0f} s"
                print(f"start {number + 1} of {checkout.name}{over}: {described(start)}", flush=True)
    theirs = starts[checkouts[1]] if len(checkouts) > 1 else []
    print(f"\n{stages_table(starts[ROOT], theirs, checkouts[-1].name)}\n\n{processes_table(starts[ROOT])}")
    return int(not all(start.ended for of in starts.values() for start in of))


if __name__ == "__main__":
    sys.exit(main())
