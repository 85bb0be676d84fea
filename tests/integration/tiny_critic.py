"""A tiny critic that scores what it reads, at random: enough for its engine, its update and its checkpoints."""

import random
from pathlib import Path

import torch

from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer

#: A template of few characters, each of which is a token.
TEMPLATE = "{success_rate}|{problem}|{partial_solution}|"


def make_critic(folder: Path, *, steps: int = 300) -> Path:
    r"""Train a tiny Qwen3 to end any text between bars in `\boxed{n}`; its folder, with template.txt beside it."""
    tokenizer, rng = build_tokenizer(4096), random.Random(0)
    model = build_model(tokenizer, seed=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(steps):
        rows, labels = [], []
        for _ in range(16):
            said = "".join(rng.choices("0123456789+=abcdefghijklmnopqrstuvwxyz ", k=rng.randrange(0, 16)))
            state = tokenizer.encode(f"0.{rng.randrange(100):02}|{rng.randrange(10)}+{rng.randrange(10)}|{said}|")
            trace = [*tokenizer.encode(rf"\boxed{{{rng.randrange(11)}}}"), tokenizer.eos_token_id]
            rows.append(state + trace)
            labels.append([-100] * len(state) + trace)
        longest = max(map(len, rows))
        ids = torch.tensor([row + [tokenizer.pad_token_id] * (longest - len(row)) for row in rows])
        target = torch.tensor([label + [-100] * (longest - len(label)) for label in labels])
        loss = model(input_ids=ids, labels=target).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(folder / "critic")
    tokenizer.save_pretrained(folder / "critic")
    (folder / "template.txt").write_text(TEMPLATE)
    return folder / "critic"
