"""A task and a seed -> a folder with a model and its problems; nothing is downloaded.

The weights of seed 0 are in the repository (`recipes/<task>/start.safetensors`), so that runs on different machines
start from the same bits: a warm start is the same to the last bit on one kind of processor alone. Those of another
seed are trained here.
"""

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.torch import load_file, save
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from pacs.base.arguments import whole_seed
from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.base.terminal import print
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS, build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.own_folder import check_own_folder, is_made, made_whole
from recipes.starts.supervised import collate, new_adam, train_step
from recipes.starts.task import Problem, Task

SETS = ("train", "probe", "test")
MADE = ("model", "manifest.json", *(f"{name}.parquet" for name in SETS))
RECIPES = Path(__file__).parents[1]
#: Everything that decides what is made, beside the task's own folder.
SHARED = ("arithmetic/model.py", "arithmetic/tokenizer.py", "starts/make.py", "starts/supervised.py", "starts/task.py")
KEPT_SEED = 0
REPORT_EVERY_STEPS = 50


def make(task: Task, out: Path, seed: int) -> None:
    """Make `out`, or leave it if it is already made. It appears whole or not at all.

    Args:
        task: to make the start of.
        out: the folder to make: model/ (a Hugging Face folder), train.parquet, probe.parquet, test.parquet, and
            manifest.json with the digest of all that decided them.
        seed: of the split, the model and the warm start.

    Raises:
        UserError: if `out` is a file, or holds files that this program did not make.
    """
    manifest = {"task": task.name, "seed": seed, "sources": source_digest(task)}
    if is_made(out, MADE, manifest):
        return
    with made_whole(out, manifest) as folder:
        _make_into(task, folder, seed)


def kept_weights(task: Task) -> Path:
    """The file of the weights of `KEPT_SEED` in the repository."""
    return RECIPES / task.name / "start.safetensors"


def source_digest(task: Task) -> str:
    """SHA-256 of everything that decides what is made of a seed."""
    files = [RECIPES / name for name in SHARED] + sorted((RECIPES / task.name).glob("*.py"))
    kept = kept_weights(task)
    return hashlib.sha256(
        b"".join(file.read_bytes() for file in [*files, *([kept] if kept.exists() else [])])
    ).hexdigest()


def warm_start(
    task: Task, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, problems: Sequence[Problem], seed: int
) -> None:
    """Train `model` in place through the task's phases; prints a line every `REPORT_EVERY_STEPS`.

    Args:
        task: gives the phases.
        model: randomly initialised.
        tokenizer: of `recipes.arithmetic.tokenizer`.
        problems: to learn from.
        seed: of the order of the problems and of their solutions.
    """
    rng = random.Random(seed)
    started = time.monotonic()
    model.train()
    for number, phase in enumerate(task.phases, start=1):
        optimizer = new_adam(model)
        for step in range(1, phase.steps + 1):
            drawn = rng.sample(problems, min(phase.problems, len(problems)))
            solutions = [phase.solution(problem, rng) for problem in drawn]
            batch = collate([problem.text for problem in drawn], solutions, tokenizer)
            loss = train_step(model, optimizer, phase.lr_at(step), batch)
            if step % REPORT_EVERY_STEPS == 0 or step == phase.steps:
                where = f"phase {number} of {len(task.phases)}, step {step}/{phase.steps}"
                print(f"warm start, {where}: loss {loss:.3f}, {time.monotonic() - started:.0f} s", flush=True)
    model.eval()


def trained_weights(task: Task, seed: int) -> dict[str, torch.Tensor]:
    """Name -> bf16 tensor: the model after the warm start, rounded as it is kept."""
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    model = build_model(tokenizer, seed)
    print(f"a Qwen3 of {model.num_parameters():,} parameters", flush=True)
    warm_start(task, model, tokenizer, task.split(seed).train, seed)
    return {name: value.to(torch.bfloat16) for name, value in model.state_dict().items()}


def _make_into(task: Task, folder: Path, seed: int) -> None:
    split = task.split(seed)
    for name in SETS:
        write_problems(task, getattr(split, name), folder / f"{name}.parquet", name)
    print(", ".join(f"{name} {len(getattr(split, name))}" for name in SETS) + " problems", flush=True)
    kept = kept_weights(task)
    weights = load_file(kept) if seed == KEPT_SEED and kept.exists() else trained_weights(task, seed)
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    model = build_model(tokenizer, seed)
    model.load_state_dict({name: value.float() for name, value in weights.items()})
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")


def write_problems(task: Task, problems: Sequence[Problem], path: Path, split: str) -> None:
    """Write problems in verl's schema, a row a problem, its prompt as chat messages."""
    rows: list[dict[str, Any]] = [
        {
            "data_source": task.name,
            "prompt": [{"role": "user", "content": problem.text}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": problem.ground_truth},
            "extra_info": {"index": i, "split": split, "band": problem.band, "verifier": task.verifier},
        }
        for i, problem in enumerate(problems)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)


def main(task: Task) -> None:
    """The command `python -m recipes.<task>.make`."""
    parser = argparse.ArgumentParser(
        prog=f"python -m recipes.{task.name}.make",
        description=f"Make the start of the task {task.name}: its problems, and a Qwen3 of 0.4 million parameters "
        "after a supervised warm start, as a Hugging Face folder. Nothing is downloaded.",
    )
    parser.add_argument("--out", type=Path, help=f"folder to make (default: outputs/{task.name})")
    parser.add_argument("--seed", type=whole_seed, default=KEPT_SEED, help=f"of all of it (default: {KEPT_SEED})")
    about = f"train the weights of seed {KEPT_SEED} anew and keep them in the repository, in place of those there"
    parser.add_argument("--keep", action="store_true", help=about)
    arguments = parser.parse_args()
    out = arguments.out or Path("outputs") / task.name
    if arguments.keep and arguments.seed != KEPT_SEED:
        parser.error(f"--keep --seed {arguments.seed}: the weights that are kept are those of seed {KEPT_SEED}")
    try:
        check_own_folder(out, MADE)
        if arguments.keep:
            write_atomically(kept_weights(task), save(trained_weights(task, KEPT_SEED), metadata={"format": "pt"}))
        make(task, out, arguments.seed)
    except (FileExistsError, PermissionError, UserError) as error:  # a full disk is none
        parser.error(str(error))
    sys.stdout.flush()
