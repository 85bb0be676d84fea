"""A model with a given shape and random weights, its tokenizer, and a few prompts; nothing is downloaded."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from pacs.base.terminal import print
from pacs.planning.architecture import PUBLISHED, Architecture

# transformers takes seconds to import, and a machine that is asked for wrongly is told at once.
if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

#: Two layers, for a CPU; the others are the sizes that Qwen has published.
TINY = Architecture(128, 384, 2, 4, 2, 32, 128, tie_word_embeddings=True)
SHAPES = {"tiny": TINY} | {
    name.partition("/")[2].lower().replace("-", "_").replace(".", "_"): shape
    for name, shape in PUBLISHED.items()
    if name.startswith("Qwen/Qwen3-") and name.endswith("B")
}
MAX_POSITIONS_TOKENS = 40960
PROMPTS = 64


def describe(out: Path, shape: Architecture, dtype: torch.dtype, seed: int) -> bool:
    """Write model/'s config and tokenizer, by which a run is planned; false where `make` has made all of it already.

    The arguments are those of `make`.
    """
    if _made(out, shape, dtype, seed):
        return False
    (out / "manifest.json").unlink(missing_ok=True)
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS, shape.vocab_size)
    tokenizer.save_pretrained(out / "model")
    _config(shape, tokenizer, dtype).save_pretrained(out / "model")
    return True


def make(out: Path, shape: Architecture, dtype: torch.dtype, seed: int) -> None:
    """Write model/ (a Hugging Face folder) and prompts.parquet (verl's schema) into `out`, if they are not there.

    Args:
        out: the folder.
        shape: of the model. Its vocabulary is filled up with tokens that no text is encoded to.
        dtype: of the weights.
        seed: of the weights.
    """
    if not describe(out, shape, dtype, seed):
        print(f"model: reusing {out / 'model'}", flush=True)
        return
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(MAX_POSITIONS_TOKENS, shape.vocab_size)
    _random_model(_config(shape, tokenizer, dtype), dtype, seed).save_pretrained(out / "model")
    rows = [
        {
            "data_source": "smoke",
            "prompt": [{"role": "user", "content": f"{i}+{i}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(2 * i)},
            "extra_info": {"index": i, "split": "train"},
        }
        for i in range(PROMPTS)
    ]
    pq.write_table(pa.Table.from_pylist(rows), out / "prompts.parquet")
    (out / "manifest.json").write_text(_manifest(shape, dtype, seed))


def _manifest(shape: Architecture, dtype: torch.dtype, seed: int) -> str:
    return json.dumps({"shape": asdict(shape), "dtype": str(dtype), "seed": seed})


def _made(out: Path, shape: Architecture, dtype: torch.dtype, seed: int) -> bool:
    manifest = out / "manifest.json"
    return manifest.exists() and manifest.read_text() == _manifest(shape, dtype, seed)


def _config(shape: Architecture, tokenizer: "PreTrainedTokenizerFast", dtype: torch.dtype) -> "Qwen3Config":
    from transformers import Qwen3Config

    return Qwen3Config(
        **asdict(shape),
        architectures=["Qwen3ForCausalLM"],
        max_position_embeddings=MAX_POSITIONS_TOKENS,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        dtype=dtype,
    )


def _random_model(config: "Qwen3Config", dtype: torch.dtype, seed: int) -> "Qwen3ForCausalLM":
    from transformers import Qwen3ForCausalLM

    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)  # 8B in float32 would be 32 GB
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = Qwen3ForCausalLM(config)
    finally:
        torch.set_default_dtype(default)
    # transformers' own default, top_k=50, would sample from another policy.
    model.generation_config.update(do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
    return model
