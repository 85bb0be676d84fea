"""What `pacs evaluate` (Ray, the store, grading) adds to bare vLLM, `LLM.generate` on the same requests.

    python benchmarks/evaluate.py
    python benchmarks/evaluate.py --model Qwen/Qwen3-0.6B --max-tokens 1024      # on a GPU (not run yet)

Both draw the same samples (same prompts, sampling settings and seeds) with the same engine settings, each in a process
of its own, in turn. Bare is the time of one `LLM.generate` with all requests. Ours is the time from when the engine is
ready until the last grade is on disk. Neither includes vLLM's start.

The default model has 10 million random parameters, and half of its tokens are answers to grade: numbers, fractions,
roots and points, some of which go to math-verify. On a CPU, vLLM is pinned to one core once it is ready (two of its
processes spin, and would take two), so that the harness has a core of its own, as on a GPU server. The limit: at most
5% longer than bare.

Grading overlaps generation if grading what is left after the last sample (`after the last sample`) takes much less
time than grading everything (`grading alone`, as `pacs evaluate grade` does it).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil

from benchmarks.table import format_table
from pacs.base.arguments import positive

BAR = 1.05
ANSWERS = [
    answer
    for a in range(2, 32)
    for answer in (f"{a}", f"\\frac{{{a}}}{{{a + 5}}}", f"{a}\\sqrt{{{a + 1}}}", f"({a},{a - 1})")
]


def write_model(folder: Path) -> None:
    """A Qwen3 with random weights."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(4096)
    tokenizer.add_tokens([f"\\boxed{{{answer}}}" for answer in ANSWERS])
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=384,
        intermediate_size=1536,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=2,
        head_dim=64,
        max_position_embeddings=4096,
        eos_token_id=tokenizer.eos_token_id,
        dtype="float32",
    )
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config)
    # Some character ends a response too: lengths vary, as real ones do, and not all end at the limit, at once.
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, 2]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def write_data(file: Path, problems: int) -> None:
    """Problems of a few words, in verl's schema."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        {
            "data_source": "made up",
            "prompt": [{"role": "user", "content": f"What is the answer to problem {number}?"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": ANSWERS[number % len(ANSWERS)]},
            "extra_info": {"index": number},
        }
        for number in range(problems)
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)


def asked(options: argparse.Namespace, out: Path) -> Any:
    """The evaluation, as the command would ask for it."""
    from pacs.evaluation.engine import EngineOptions
    from pacs.evaluation.evaluate import Asked
    from pacs.evaluation.model import context_and_dtype, find_model
    from pacs.evaluation.settings import Sampling
    from pacs.evaluation.tasks import Task

    task = Task("made_up", options.work / "data.parquet", options.samples, (1,))
    _, dtype = context_and_dtype(find_model(options.model))
    sampling = Sampling(max_tokens=options.max_tokens, dtype=dtype)
    return Asked(options.model, [task], options.work, out, sampling, EngineOptions(engines=1))


def hold_engine(names: tuple[str, ...]) -> None:
    """Keep the processes of these names, of this one and those below it, on one core, and the others off it.

    On a machine with one core, all stay on it.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    if not others:
        return
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        cores = {first} if any(name in " ".join(process.cmdline()) for name in names) else set(others)
        for thread in process.threads():
            os.sched_setaffinity(thread.id, cores)


def ours(options: argparse.Namespace) -> dict[str, float]:
    """`pacs evaluate` in this process, timed from inside."""
    from pacs.evaluation import engines, evaluate, folder
    from pacs.evaluation.grade import regrade
    from pacs.evaluation.process import StopRequest
    from pacs.rewards.math import _grade

    marks = {}
    start_engines = engines.start_engines

    def timed_start(*arguments: Any) -> Any:
        ready = start_engines(*arguments)
        hold_engine(("VLLM::", "ray::Engine"))
        marks["ready"] = time.time()
        return ready

    engines.start_engines = timed_start  # type: ignore[assignment]
    out = Path(tempfile.mkdtemp(dir=options.work)) / "out"
    evaluate.evaluate(asked(options, out), StopRequest())
    files = folder.task_folder(out, "made_up")
    sampled, graded = ((files / name).stat().st_mtime for name in ("generated-0000.jsonl", folder.GRADES))
    _grade.cache_clear()
    start = perf_counter()
    regrade(out, {})
    return {
        "seconds": graded - marks["ready"],
        "tokens": folder.read_timing(out, "made_up").tokens,
        "after the last sample": graded - sampled,
        "grading alone": perf_counter() - start,
    }


def bare(options: argparse.Namespace) -> dict[str, float]:
    """vLLM alone."""
    from vllm import LLM, SamplingParams
    from vllm.platforms import current_platform

    from pacs.evaluation import evaluate
    from pacs.evaluation.engine import EngineSettings
    from pacs.evaluation.model import find_model
    from pacs.evaluation.sample import sample_seed
    from pacs.evaluation.tasks import load_problems

    about = asked(options, options.work / "unused")
    model = find_model(options.model)
    problems = {"made_up": load_problems(about.tasks[0].file)}
    prompts, context, reasoning = evaluate.encode(model, problems, about.sampling)
    cpu = current_platform.is_cpu()
    engine = EngineSettings(str(model.folder), context, about.sampling, about.options, reasoning, cpu=cpu)
    llm = LLM(**engine.engine_arguments())
    requests = [
        (prompt, sample_seed(0, task, problem, index))
        for (task, problem), prompt in prompts.items()
        for index in range(options.samples)
    ]
    inputs = [{"prompt_token_ids": prompt} for prompt, _ in requests]
    sampling = [SamplingParams(**engine.sampling_arguments(), seed=seed) for _, seed in requests]
    hold_engine(("VLLM::", "--child bare"))
    start = perf_counter()
    outputs = llm.generate(inputs, sampling, use_tqdm=False)
    seconds = perf_counter() - start
    return {"seconds": seconds, "tokens": sum(len(output.outputs[0].token_ids) for output in outputs)}


def child(options: argparse.Namespace, what: str) -> dict[str, float]:
    """One measurement, in a process of its own."""
    command = [sys.executable, __file__, "--child", what, "--work", str(options.work), "--model", options.model]
    command += ["--samples", str(options.samples), "--max-tokens", str(options.max_tokens)]
    env = {"OMP_NUM_THREADS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}
    env |= dict(os.environ) | {"VLLM_PLUGINS": ""}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{what} failed:\n{done.stdout}{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    """Print the table; return 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a model's folder or Hub name (default: a random one of 10 million parameters)")
    parser.add_argument("--problems", type=positive, default=64, help="(default: 64)")
    parser.add_argument("--samples", type=positive, default=16, help="of each (default: 16)")
    parser.add_argument("--max-tokens", type=positive, default=512, help="of a response (default: 512)")
    parser.add_argument("--rounds", type=positive, default=3, help="of each, in turn; medians are shown (default: 3)")
    parser.add_argument("--child", choices=("ours", "bare"), help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps({"ours": ours, "bare": bare}[options.child](options)))
        return 0
    with tempfile.TemporaryDirectory(prefix="pacs-benchmark-") as work:
        options.work = Path(work)
        if options.model is None:
            options.model = str(options.work / "model")
            write_model(Path(options.model))
        write_data(options.work / "data.parquet", options.problems)
        rounds = [(child(options, "bare"), child(options, "ours")) for _ in range(options.rounds)]
    ratios = [our["seconds"] / their["seconds"] for their, our in rounds]
    columns = ("seconds", "tokens", "after the last sample", "grading alone")
    rows = []
    for name, results in zip(("bare vLLM", "pacs evaluate"), zip(*rounds, strict=True), strict=True):
        medians = {key: statistics.median(result[key] for result in results) for key in results[0]}
        rate = medians["tokens"] / medians["seconds"]
        cells = [f"{medians[key]:,.2f}" if key in medians else "" for key in columns]
        rows.append([name, cells[0], f"{medians['tokens']:,.0f}", f"{rate:,.0f}", *cells[2:]])
    print(format_table(["medians", "seconds", "tokens", "tokens/s", *columns[2:]], rows))
    ratio = statistics.median(ratios)
    print(f"\nours over bare: {ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} rounds)")
    fastest = [min(result["seconds"] for result in results) for results in zip(*rounds, strict=True)]
    print(f"the fastest round of each: {fastest[1]:.2f} s over {fastest[0]:.2f} s, {fastest[1] / fastest[0]:.3f}")
    print(f"bar: at most {BAR}: {'met' if ratio <= BAR else 'MISSED'}")
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
