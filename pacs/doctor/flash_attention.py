"""`python -m pacs.doctor.flash_attention`: flash-attn's packed attention, forward and backward, against torch's.

An error of any kind ends it with a traceback.
"""

from collections.abc import Callable
from functools import partial

import flash_attn
import torch
from flash_attn import flash_attn_varlen_func
from torch.nn.functional import pad, scaled_dot_product_attention

from pacs.doctor.kernels import try_on_gpu

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


def compare(attention: Callable[..., torch.Tensor], device: str) -> None:
    """Hold packed attention, called as `flash_attn_varlen_func` is, against torch's.

    Args:
        attention: in bf16.
        device: where both are calculated.

    Raises:
        ArithmeticError: values or gradients differ by more than `TOLERANCE`.
    """
    torch.manual_seed(0)
    inputs = [
        torch.randn(sum(LENGTHS), heads, WIDTH, device=device, dtype=torch.bfloat16)
        for heads in (QUERY_HEADS, KEY_HEADS, KEY_HEADS)
    ]
    packed, exact = (
        [each.to(dtype, copy=True).requires_grad_() for each in inputs] for dtype in (torch.bfloat16, torch.float32)
    )
    ends = pad(torch.tensor(LENGTHS, device=device).cumsum(0, dtype=torch.int32), (1, 0))
    output = attention(*packed, ends, ends, max(LENGTHS), max(LENGTHS), causal=True)
    expected = plain(*exact)
    gradient = torch.randn_like(output)
    found = (output, *torch.autograd.grad(output, packed, gradient))
    wanted = (expected, *torch.autograd.grad(expected, exact, gradient.float()))
    names = ("values", "gradient of query", "gradient of key", "gradient of value")
    for name, ours, theirs in zip(names, found, wanted, strict=True):
        error = float((ours.float() - theirs).abs().max() / theirs.abs().max())
        if not error <= TOLERANCE:
            raise ArithmeticError(f"flash-attn {flash_attn.__version__}: {name} differ from torch's by {error:.1%}")


if __name__ == "__main__":
    works = "packed attention has torch's values and gradients"
    try_on_gpu(flash_attn.__version__, partial(compare, flash_attn_varlen_func, "cuda"), works)
