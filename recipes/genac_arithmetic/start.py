"""Where all runs begin: a smaller model than the other recipes', after the same kind of warm start.

python -m recipes.genac_arithmetic.start     (trains it anew, and keeps it in the repository)
"""

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file, save
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from pacs.base.files import write_atomically
from recipes.arithmetic.model import MAX_POSITIONS_TOKENS
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.genac_arithmetic.problems import TASK, critic_problems, split_problems
from recipes.laboratory.beginning import Beginning
from recipes.starts.make import warm_start
from recipes.starts.read import Problems
from recipes.starts.task import Problem

KEPT = Path(__file__).with_name("start.safetensors")
SEED = 0


def build_model(tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """The actor's architecture, and the critics', with random weights, float32."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=288,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=24,
        max_position_embeddings=MAX_POSITIONS_TOKENS,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype="float32",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


def keep() -> None:
    """Train the start anew, and keep it in the repository."""
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    model = build_model(tokenizer, SEED)
    warm_start(TASK, model, tokenizer, split_problems(SEED).train, SEED)
    weights = {name: value.to(torch.bfloat16) for name, value in model.state_dict().items()}
    write_atomically(KEPT, save(weights, metadata={"format": "pt"}))


def begin(split: str) -> tuple[Beginning, Problems]:
    """The start with its problems, and the problems that critics learn from before the actor is trained.

    Args:
        split: the problems to evaluate on, `probe` or `test`.
    """
    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS)
    model = build_model(tokenizer, SEED)
    model.load_state_dict({name: value.float() for name, value in load_file(KEPT).items()})
    sets = split_problems(SEED)
    evaluated = _as_read(getattr(sets, split))
    begun = Beginning(model.eval(), tokenizer, _as_read(sets.train), evaluated, TASK.max_response_tokens)
    return begun, _as_read(critic_problems(SEED))


def _as_read(problems: list[Problem]) -> Problems:
    return Problems(
        messages=[[{"role": "user", "content": problem.text}] for problem in problems],
        answers=[problem.ground_truth for problem in problems],
        bands=[problem.band for problem in problems],
        verifiers=[TASK.verifier] * len(problems),
    )


def main() -> None:
    """The command."""
    argparse.ArgumentParser(prog="python -m recipes.genac_arithmetic.start", description=__doc__).parse_args()
    keep()


if __name__ == "__main__":
    main()
