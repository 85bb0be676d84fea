"""`python -m pacs.doctor.flash_attention`: flash-attn's packed attention, forward and backward, against torch's.

An error of any kind ends it with a traceback. Not run on a GPU yet.
"""

import sys
from typing import Any

import flash_attn
import torch
from flash_attn import flash_attn_varlen_func
from torch.nn.functional import pad, scaled_dot_product_attention

from pacs.base.terminal import print
from pacs.doctor.kernels import NOT_TRIED

#: Tokens of each sequence; query heads, key heads, and the width of a head, as Qwen3's.
LENGTHS = (5, 130, 64)
QUERY_HEADS, KEY_HEADS, WIDTH = 4, 2, 128
#: Largest difference over the largest value, in bf16 with 8 bits.
TOLERANCE = 2e-2


def plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """softmax(Q K^T / sqrt(d)) V, causal, one sequence at a time: (tokens, heads, width)."""
    outputs = []
    for q, k, v in zip(*(each.split(LENGTHS) for each in (query, key, value)), strict=True):
        q, k, v = (each.transpose(0, 1)[None] for each in (q, k, v))
        outputs.append(scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1))
    return torch.cat(outputs)


def main() -> None:
    """Compare values and gradients; prints what was found."""
    if not torch.cuda.is_available():
        print(f"{flash_attn.__version__} can be imported; torch sees no GPU to try it on")
        sys.exit(NOT_TRIED)
    torch.manual_seed(0)
    inputs = [
        torch.randn(sum(LENGTHS), heads, WIDTH, device="cuda", dtype=torch.bfloat16)
        for heads in (QUERY_HEADS, KEY_HEADS, KEY_HEADS)
    ]
    flash, exact = ([each.to(dtype).requires_grad_() for each in inputs] for dtype in (torch.bfloat16, torch.float32))
    ends = pad(torch.tensor(LENGTHS, device="cuda").cumsum(0, dtype=torch.int32), (1, 0))
    output = flash_attn_varlen_func(*flash, ends, ends, max(LENGTHS), max(LENGTHS), causal=True)
    expected = plain(*exact)
    gradient = torch.randn_like(output)
    output.backward(gradient)
    expected.backward(gradient.float())
    pairs: dict[str, tuple[Any, Any]] = {"values": (output, expected)} | {
        f"gradient of {name}": (ours.grad, theirs.grad)
        for name, ours, theirs in zip(("query", "key", "value"), flash, exact, strict=True)
    }
    for name, (ours, theirs) in pairs.items():
        error = float((ours.float() - theirs).abs().max() / theirs.abs().max())
        if not error <= TOLERANCE:
            raise ArithmeticError(f"flash-attn {flash_attn.__version__}: {name} differ from torch's by {error:.1%}")
    print(f"{flash_attn.__version__}: packed attention has torch's values and gradients")


if __name__ == "__main__":
    main()
