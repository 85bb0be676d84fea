r"""Prepare a file of mathematics problems for three PACS steps on a CPU; nothing is downloaded.

Writes into --out: real/ (the file's problems, by `pacs data prepare`), easy/ (as many problems that the model can
solve, by the same command), and model/ (a Qwen3 of 0.4 million parameters with its tokenizer, after a supervised
warm start of about half a minute on 2 cores). What was made there before is replaced.
"""

import argparse
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import torch
import torch.nn.functional as F
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from pacs import cli
from pacs.base.errors import UserError
from pacs.base.terminal import print
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS, build_model
from recipes.arithmetic.tokenizer import END, build_tokenizer
from recipes.own_folder import check_own_folder

MADE = ("model", "real", "easy", "easy.jsonl")
SEED = 0
STEPS = 100
LR = 3e-3
EASY_BATCH, REAL_BATCH = 64, 6
#: A response is cut off there, as in configs/recipe/math_smoke.yaml.
MAX_RESPONSE_TOKENS = 256
#: How often the warm start's teacher is right, so that a group of responses has both classes.
EASY_RIGHT = 0.6
#: How often it writes at length before it answers a real problem.
REAL_LONG = 0.7
IGNORED = -100

Row = tuple[str, str]


def make(file: str, out: Path, question_column: str, answer_column: str) -> None:
    """Make `out`.

    Args:
        file: the problems, as `pacs data prepare` takes them.
        out: folder of all that is made.
        question_column: of the file.
        answer_column: of the file.

    Raises:
        SystemExit: if `pacs data prepare` refuses.
    """
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    tokenizer.save_pretrained(out / "model")
    columns = ["--question-column", question_column, "--answer-column", answer_column]
    real = _prepare(file, out / "real", out / "model", *columns)
    _write_easy(out / "easy.jsonl", len(real))
    easy = _prepare(str(out / "easy.jsonl"), out / "easy", out / "model", "--instruction", "")
    model = build_model(tokenizer, SEED)
    warm_start(model, tokenizer, easy, real)
    model.save_pretrained(out / "model")


def _prepare(file: str, out: Path, model: Path, *options: str) -> list[Row]:
    """Each prepared problem's prompt and gold answer."""
    command = ["data", "prepare", file, "--out", str(out), "--model", str(model), "--overwrite", *options]
    if status := cli.main(command):
        raise SystemExit(status)
    rows = pq.read_table(out / "train.parquet", columns=["prompt", "reward_model"]).to_pylist()
    return [(row["prompt"][-1]["content"], row["reward_model"]["ground_truth"]) for row in rows]


def _write_easy(file: Path, count: int) -> None:
    """Problems that a model of this size learns in seconds: the last digit of a number."""
    numbers = random.Random(SEED).sample(range(10_000, 1_000_000), count)
    rows = [{"problem": f"Last digit of {number}", "answer": str(number % 10)} for number in numbers]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def warm_start(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, easy: Sequence[Row], real: Sequence[Row]
) -> None:
    """Train `model` in place on what a solution looks like, not on how problems are solved.

    An easy problem is answered rightly six times in ten. A real one is answered with the boxed answer of another, at
    times after the text of a third: LaTeX, often long or cut off, and wrong.

    Args:
        model: randomly initialised.
        tokenizer: its tokenizer.
        easy: problems and answers.
        real: problems and answers.
    """
    rng = random.Random(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LR, total_steps=STEPS)
    model.train()
    for step in range(1, STEPS + 1):
        losses = [
            _loss(
                model, tokenizer, [(text, _easy_response(gold, rng)) for text, gold in rng.choices(easy, k=EASY_BATCH)]
            ),
            _loss(model, tokenizer, [(text, _real_response(real, rng)) for text, _ in rng.choices(real, k=REAL_BATCH)]),
        ]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 0:
            print(f"warm start {step}/{STEPS}: loss {losses[0]:.3f} (easy), {losses[1]:.3f} (real)", flush=True)


def _easy_response(gold: str, rng: random.Random) -> str:
    digit = gold if rng.random() < EASY_RIGHT else rng.choice("0123456789")
    return rf"\boxed{{{digit}}}"


def _real_response(real: Sequence[Row], rng: random.Random) -> str:
    text = rng.choice(real)[0].rpartition("\n")[0]  # without the instruction
    return rf"{text if rng.random() < REAL_LONG else ''} \boxed{{{rng.choice(real)[1]}}}"


def _loss(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, rows: list[Row]) -> torch.Tensor:
    """Cross-entropy of the responses."""
    prompts = tokenizer.apply_chat_template(
        [[{"role": "user", "content": text}] for text, _ in rows], add_generation_prompt=True, return_dict=False
    )
    responses = [ids[:MAX_RESPONSE_TOKENS] for ids in tokenizer([text + END for _, text in rows])["input_ids"]]
    sequences = [torch.tensor(p + r) for p, r in zip(prompts, responses, strict=True)]
    ids = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True, padding_value=tokenizer.pad_token_id)
    labels = torch.full_like(ids, IGNORED)
    for i, (prompt, sequence) in enumerate(zip(prompts, sequences, strict=True)):
        labels[i, len(prompt) : len(sequence)] = sequence[len(prompt) :]
    logits = model(input_ids=ids).logits[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())


def main() -> None:
    """Make the folder named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m recipes.math_smoke.make", description=__doc__)
    parser.add_argument("file", metavar="FILE", help="the problems: .json, .jsonl, .parquet or .csv")
    parser.add_argument("--out", type=Path, required=True, help="folder to make, e.g. outputs/math_smoke")
    parser.add_argument("--question-column", default="problem", metavar="NAME", help="default: problem")
    parser.add_argument("--answer-column", default="answer", metavar="NAME", help="default: answer")
    arguments = parser.parse_args()
    try:
        check_own_folder(arguments.out, MADE)
    except UserError as error:
        parser.error(str(error))
    before = arguments.out.exists()
    try:
        make(arguments.file, arguments.out, arguments.question_column, arguments.answer_column)
    except SystemExit:
        if not before:
            shutil.rmtree(arguments.out)
        raise


if __name__ == "__main__":
    main()
