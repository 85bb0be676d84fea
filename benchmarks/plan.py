"""How far the memory that `pacs plan` predicts is from what a training worker takes, on a CPU.

    python benchmarks/plan.py                      every case
    python benchmarks/plan.py --case arithmetic    one

Each case is the arithmetic recipe with some settings changed and random weights. PACS's worker trains it for two steps,
alone in a process, on rows of the longest prompts and responses. Planned: the fullest update, without what the plan
counts for other processes. Allocated: the peak of torch's allocations, from before the model is built. Resident: the
growth of the process, including what it loads meanwhile and what the C library keeps. The ratios are planned memory
over allocated, and over resident.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from transformers import AutoModelForCausalLM, Qwen3Config

from benchmarks.step.child import one_rank, run_child
from benchmarks.table import format_table
from pacs.composing import compose_run
from pacs.planning.memory import phases
from pacs.planning.plan import make_plan

#: recipes/arithmetic/model.py, with the size of its vocabulary.
ARITHMETIC = {
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 23,
    "tie_word_embeddings": False,
}
MODEL = "actor_rollout_ref.model"
#: Name -> what is changed of the model, and the overrides.
CASES: dict[str, tuple[dict[str, object], list[str]]] = {
    "arithmetic": ({}, []),
    "small micro-batches": ({}, ["actor_rollout_ref.actor.ppo_max_token_len_per_gpu=2048"]),
    "checkpointed": (
        {"num_hidden_layers": 6},
        [
            "data.train_batch_size=16",
            "actor_rollout_ref.actor.ppo_mini_batch_size=8",
            f"{MODEL}.enable_gradient_checkpointing=true",
        ],
    ),
    "vocabulary": ({"vocab_size": 8192}, ["data.train_batch_size=16", "actor_rollout_ref.actor.ppo_mini_batch_size=8"]),
    "vocabulary, fused": (
        {"vocab_size": 8192},
        [
            "data.train_batch_size=16",
            "actor_rollout_ref.actor.ppo_mini_batch_size=8",
            f"{MODEL}.use_fused_kernels=true",
        ],
    ),
    "16 million parameters": (
        {"hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 5, "head_dim": 64, "vocab_size": 1024},
        ["data.train_batch_size=8", "actor_rollout_ref.actor.ppo_mini_batch_size=4"],
    ),
}


@dataclass(frozen=True)
class Measured:
    """A case's bytes."""

    planned: float
    allocated: int
    resident: int | None


def measure(name: str, folder: Path, *, resident: bool) -> Measured:
    """Plan a case and run it, in processes that write to `folder`."""
    changed, overrides = CASES[name]
    torch.manual_seed(0)
    shape = Qwen3Config(**ARITHMETIC | changed, max_position_embeddings=4096, pad_token_id=0, eos_token_id=1)
    AutoModelForCausalLM.from_config(shape, dtype=torch.float32).save_pretrained(folder / "model")
    overrides = ["recipe=arithmetic", f"{MODEL}.path={folder / 'model'}", f"+{MODEL}.load_tokenizer=false", *overrides]
    (folder / "overrides.json").write_text(json.dumps(overrides))
    found = {}
    for how in ("allocated", "resident") if resident else ("allocated",):
        env = one_rank() | {"VERL_PLATFORM": "cpu", "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
        run_child("allocated", [str(folder), how], env, folder / f"{how}.log")
        found[how] = json.loads((folder / f"{how}.json").read_text())["peak"]
    return Measured(planned(overrides), found["allocated"], found.get("resident"))


def planned(overrides: list[str]) -> float:
    """The update's bytes in the training worker: without vLLM, and without the process itself."""
    config, hardware = compose_run("pacs", overrides)
    update = next(phase for phase in phases(make_plan(config, hardware=hardware).work) if phase.name == "update")
    return sum(size for part, size in update.parts.items() if part not in ("vLLM", "processes"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=[*CASES], action="append", help="default: all")
    rows = []
    for name in parser.parse_args().case or CASES:
        with tempfile.TemporaryDirectory(prefix="pacs-benchmark-") as folder:
            case = measure(name, Path(folder), resident=True)
        sizes = [case.planned, case.allocated, case.resident or 0]
        ratios = [f"{case.planned / size:.3f}" for size in sizes[1:]]
        rows.append([name, *(f"{size / 2**20:,.1f}" for size in sizes), *ratios])
    print(f"\n{format_table(['MiB', 'planned', 'allocated', 'resident', 'ratio', 'ratio'], rows)}")


if __name__ == "__main__":
    main()
