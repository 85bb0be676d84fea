"""What a lent GPU has to show, in one call of 8 minutes: parts in the order of their worth, each with its own limit.

    python benchmarks/gpu.py --dry-run                                the parts, their limits and commands
    python benchmarks/gpu.py --out "$OUT"                             as many of them as there is time for
    python benchmarks/gpu.py --out "$OUT" --parts start smoke_4b      these, in a second call

A part starts if its limit fits into what is left of --seconds. One that fails, or is ended at its limit with all its
processes, leaves the others their turn. What a part says is shown at its end; OUT gets summary.txt and, after each
part, PART.tar.gz with its log and its results (no weights). Exit status: 0 all that started have succeeded, else 1.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.step.variants import VARIANTS
from benchmarks.table import format_table
from pacs.base.arguments import seconds
from pacs.runs.processes import KEEP_ENVIRONMENT, end_processes

ROOT = Path(__file__).parents[1]
#: Environment variable of all processes of a part.
MARK = "BENCHMARK_PART"
SECONDS = 480.0
#: What is kept of a part's folder: files of these kinds, up to this size.
KEPT, KEPT_BYTES = (".json", ".jsonl", ".yaml", ".txt", ".log"), 4 * 2**20
#: Lines of a part's log that are shown at its end.
SHOWN = 30
#: Of `pacs train` where flash-attn is not installed.
SDPA = "++actor_rollout_ref.model.override_config.attn_implementation=sdpa"
#: Of the tiny model's runs: vLLM needs no more, and starts faster.
LITTLE_MEMORY = "actor_rollout_ref.rollout.gpu_memory_utilization=0.3"
BESIDE, ON_GPU = ("benchmarks/step_against_plan.py",), ("--device", "cuda", "--head", "triton")
#: Of a comparison: the benchmark's imports, and the model that it writes.
BEFORE_AND_AFTER = 30


@dataclass(frozen=True)
class Part:
    """A question to the GPU.

    Attributes:
        limit: seconds.
        shows: what its result answers.
        commands: arguments of Python, one after another, from the part's folder.
    """

    limit: float
    shows: str
    commands: Callable[[Path], list[list[str]]]


def benchmark(limit: float, shows: str, *words: str, out: tuple[str, str]) -> Part:
    """A benchmark of a step. `out`: its option for results, and a path within the part's folder."""
    return Part(limit, shows, lambda folder: [[*words, *attention(), out[0], str(folder / out[1])]])


def compare(shape: str, limit: float, *more: str) -> Part:
    """The variants of a step; the benchmark stops them a little earlier, and prints its table."""
    asked = ["--compare", "--shape", shape, "--prompts", "2", "--limit", f"{limit - BEFORE_AND_AFTER:g}", *more]
    shows = f"a step's variants at {shape}: the targets of speed, kernels, memory"
    return benchmark(limit, shows, *BESIDE, *ON_GPU, *asked, out=("--out", "."))


def smoke(shape: str, limit: float, *more: str) -> Part:
    """A run of three steps with its gates."""

    def commands(folder: Path) -> list[list[str]]:
        run = ["-m", "recipes.smoke.run", "--shape", shape, "--hardware", "h200x1", "--out", str(folder / "smoke")]
        return [[*run, *more, *settings()]]

    return Part(limit, f"gates, start, tokens/s and memory at {shape}", commands)


def arithmetic(seed: int) -> Part:
    """The recipe to its end. The tiny model runs without compilation."""

    def commands(folder: Path) -> list[list[str]]:
        task = folder / "task"
        run = ["recipe=arithmetic", "hardware=h200x1", f"run.dir={folder / 'run'}", f"data.seed={seed}"]
        run += [f"actor_rollout_ref.rollout.seed={seed}", "trainer.save_freq=20", *settings()]
        run += [f"actor_rollout_ref.model.path={task / 'model'}", "actor_rollout_ref.rollout.enforce_eager=true"]
        run += [f"data.{part}_files={task / name}.parquet" for part, name in (("train", "train"), ("val", "test"))]
        run.append(LITTLE_MEMORY)
        make = ["-m", "recipes.arithmetic.make", "--out", str(task), "--seed", str(seed)]
        return [make, ["-m", "pacs", "train", *run]]

    return Part(420, f"the arithmetic recipe to its end, seed {seed}: its curve beside the CPU's", commands)


def attention() -> list[str]:
    """Of a benchmark."""
    return [] if find_spec("flash_attn") else ["--attn", "sdpa"]


def settings() -> list[str]:
    """Of `pacs train`."""
    return [] if find_spec("flash_attn") else [SDPA]


#: Without those that run the benchmarks above.
GPU_TESTS = ("tests/doctor", "tests/integration/worker")
AT_LEAST = ("--steps", "1", "--variants", "before", "compiled, not checkpointed")
#: By the plan a step of 16 rows takes 1.7, 4.2 and 8.1 s at 0.6B, 1.7B and 4B, and 9.4 s at 8B with 24 layers; of these
#: there are three or four a variant. A run's start took 142 s, and the smoke without its second start 256 s.
PARTS = {
    "compare_0.6b": compare("0.6b", 120, "--variants", *[*VARIANTS][:5]),
    "compare_1.7b": compare("1.7b", 100, *AT_LEAST),
    "compare_4b": compare("4b", 120, "--responses", "4", *AT_LEAST),
    "plan_8b": benchmark(
        140, "a step at 8b with 24 layers beside its plan: seconds and memory of each phase",
        *BESIDE, *ON_GPU, "--shape", "8b", "--layers", "24", "--prompts", "2", "--responses", "4", "--steps", "1",
        out=("--out", "."),
    ),
    "smoke_0.6b": smoke("qwen3_0_6b", 360),  # with resume: the second start has vLLM's compile cache
    "grpo_1.7b": benchmark(
        240, "PACS's step over GRPO's at 1.7b (at most 1.0)",
        "benchmarks/step.py", *ON_GPU, "--shape", "1.7b", "--prompts", "4", "--steps", "1", "--no-generation",
        out=("--json", "step.json"),
    ),
    "start": Part(
        240,
        "where the seconds of a start go, process by process; the second one with what the first has cached",
        lambda folder: [
            ["benchmarks/start.py", "--runs", "2", "--limit", "110", "hardware=h200x1", LITTLE_MEMORY, *settings()]
        ],
    ),
    "arithmetic_0": arithmetic(0),
    "arithmetic_1": arithmetic(1),
    "smoke_1.7b": smoke("qwen3_1_7b", 240, "--no-resume"),
    "smoke_4b": smoke("qwen3_4b", 270, "--no-resume"),
    "smoke_8b": smoke("qwen3_8b", 330, "--no-resume", "--layers", "24"),
    "tests": Part(300, "the tests that need a GPU", lambda folder: [["-m", "pytest", "-m", "gpu", "-q", *GPU_TESTS]]),
}  # fmt: skip


def run_part(part: Part, folder: Path) -> str:
    """Run its commands, all that they say into log.txt of its folder; how it has ended."""
    end = time.monotonic() + part.limit
    for command in part.commands(folder):
        status = run_command([sys.executable, *command], folder / "log.txt", end - time.monotonic())
        if status is None:
            return f"ended at its limit of {part.limit:g} s"
        if status:
            return f"failed with status {status}"
    return "done"


def run_command(command: list[str], log: Path, limit: float) -> int | None:
    """Its status; none if it was ended after so many seconds. No process of it is left, whatever happens."""
    token = uuid.uuid4().hex
    environment = os.environ | {MARK: token, KEEP_ENVIRONMENT: "1", "PYTHONUNBUFFERED": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with log.open("a") as said:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=said, stderr=said)
        try:
            return process.wait(max(0.0, limit))
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_processes(token, grace_seconds=0, variable=MARK)
            process.wait()


def keep(folder: Path, target: Path) -> None:
    """Pack what a part has written, without weights and other large files."""
    with tarfile.open(target, "w:gz") as tar:
        for file in sorted(folder.rglob("*")):
            if file.suffix in KEPT and file.is_file() and file.stat().st_size <= KEPT_BYTES:
                tar.add(file, file.relative_to(folder.parent))


def show(names: list[str], limit: float) -> None:
    """Each part with its limit, and whether it is sure to start; its commands."""
    rows, left = [], limit
    for name in names:
        fits = PARTS[name].limit <= left
        left -= PARTS[name].limit if fits else 0
        rows.append([name, f"{PARTS[name].limit:g}", "surely" if fits else "if time is left"])
    print(format_table(["part", "limit, s", "runs"], rows))
    for name in names:
        print(f"\n# {name}: {PARTS[name].shows}")
        print(*(shlex.join(["python", *command]) for command in PARTS[name].commands(Path(name))), sep="\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the parts; 1 if one failed or was ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS], default=[*PARTS], help="in this order (default: all)")
    parser.add_argument("--seconds", type=seconds, default=SECONDS, help="for all (default: %(default)g)")
    parser.add_argument("--out", type=Path, help="folder of the results")
    parser.add_argument("--dry-run", action="store_true", help="print the parts and start nothing")
    a = parser.parse_args(arguments)
    if a.dry_run:
        show(a.parts, a.seconds)
        return 0
    if a.out is None:
        parser.error("--out DIR: say where the results are to go (on a lent machine the folder that comes back)")
    a.out.mkdir(parents=True, exist_ok=True)
    return run_all({name: PARTS[name] for name in a.parts}, a.out, a.seconds)


def run_all(parts: Mapping[str, Part], out: Path, limit: float) -> int:
    """Run the parts that there is time for, and print how each has ended; 1 if one failed or was ended."""
    end, rows = time.monotonic() + limit, list[list[str]]()
    summary = ""
    for name, part in parts.items():
        took, ended = "", "not run: no time is left"
        if time.monotonic() + part.limit <= end:
            print(f"--- {name}: {part.shows} (at most {part.limit:g} s)", flush=True)
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="gpu-", ignore_cleanup_errors=True) as work:
                folder = Path(work) / name
                folder.mkdir()
                ended = run_part(part, folder)
                keep(folder, out / f"{name}.tar.gz")
                said = (folder / "log.txt").read_text(errors="replace").splitlines()[-SHOWN:]
            took = f"{time.monotonic() - began:.0f}"
            print(*said, f"--- {name}: {ended}\n", sep="\n", flush=True)
        rows.append([name, f"{part.limit:g}", took, ended])
        summary = format_table(["part", "limit, s", "s", ""], rows)
        (out / "summary.txt").write_text(summary + "\n")
    print(summary)
    return int(any(took and ended != "done" for _, _, took, ended in rows))


if __name__ == "__main__":
    sys.exit(main())
