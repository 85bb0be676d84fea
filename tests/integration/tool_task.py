"""A tiny model that asks a calculator for sums, and its problems: what runs of several turns are tried with.

A conversation, with a token for each character and for each role:

    <|user|>7+5<|im_end|><|assistant|><tool_call>{"name": "add", "arguments": {"a": 7, "b": 5}}</tool_call><|im_end|>
    <|tool|>12<|im_end|><|assistant|>\\boxed{12}<|im_end|>

verl's builder of Qwen3's conversations puts a newline between a turn and what follows it.
"""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from transformers import PreTrainedTokenizerFast

from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import ASSISTANT, END, USER, build_tokenizer
from recipes.starts.supervised import IGNORED, new_adam, train_step

TOOL, SYSTEM = "<|tool|>", "<|system|>"
#: It names the tools before the messages, so that prompts are longer with tools than without.
TEMPLATE = (
    "{% for tool in tools or [] %}{{ tool.function.name + ' ' }}{% endfor %}"
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
#: One that a tool's message cannot be put into.
WITHOUT_TOOLS = (
    "{% for message in messages %}{% if message['role'] == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|im_end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
CALCULATOR = '''"""A calculator, as verl takes it of `multi_turn.function_tool_path`."""

from verl.tools.function_tool import function_tool


@function_tool
def add(a: int, b: int) -> str:
    """Add two numbers.

    Args:
        a: one.
        b: the other.
    """
    if b == 9:
        raise ValueError("this calculator knows no 9")
    return str(a + b)
'''
STEPS, ROWS, RATE = 240, 24, 2e-3


def tool_tokenizer(template: str = TEMPLATE) -> PreTrainedTokenizerFast:
    """That of the arithmetic tasks with two more roles."""
    tokenizer = build_tokenizer(4096)
    tokenizer.add_special_tokens({"additional_special_tokens": [USER, ASSISTANT, TOOL, SYSTEM]})
    tokenizer.chat_template = template
    return tokenizer


def call_of(a: int, b: int) -> str:
    return f'<tool_call>{{"name": "add", "arguments": {{"a": {a}, "b": {b}}}}}</tool_call>'


def conversation(tokenizer: PreTrainedTokenizerFast, a: int, b: int, rng: random.Random) -> tuple[list[int], list[int]]:
    """Tokens, and which of them the model writes; now and then it answers at once, or calls twice."""
    answer = rf"\boxed{{{a + b}}}{END}"
    parts = [(f"add {USER}{a}+{b}{END}{ASSISTANT}", 0)]
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        parts += [(call_of(a, b) + END, 1), (f"\n{TOOL}{a + b}{END}{ASSISTANT}", 0)]
    tokens, mask = [], []
    for text, writes in [*parts, (answer, 1)]:
        ids = tokenizer(text)["input_ids"]
        tokens += ids
        mask += [writes] * len(ids)
    return tokens, mask


def make_tool_task(folder: Path) -> Path:
    """model/, data.parquet and calculator.py in a folder."""
    tokenizer, rng = tool_tokenizer(), random.Random(0)
    model = build_model(tokenizer, seed=0)
    optimizer = new_adam(model)
    for step in range(STEPS):
        rows = [conversation(tokenizer, rng.randrange(10), rng.randrange(10), rng) for _ in range(ROWS)]
        longest = max(len(tokens) for tokens, _ in rows)
        ids = torch.full((ROWS, longest), tokenizer.pad_token_id)
        labels = torch.full((ROWS, longest), IGNORED)
        for i, (tokens, mask) in enumerate(rows):
            ids[i, : len(tokens)] = torch.tensor(tokens)
            labels[i, : len(tokens)] = torch.tensor(tokens).where(torch.tensor(mask) == 1, IGNORED)
        train_step(model, optimizer, RATE * min(1, step / 20), (ids, labels))
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    problems = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"{a}+{b}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(a + b)},
            "extra_info": {"index": 10 * a + b, "split": "train", "verifier": "math"},
        }
        for a in range(10)
        for b in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(problems), folder / "data.parquet")
    (folder / "calculator.py").write_text(CALCULATOR)
    return folder
