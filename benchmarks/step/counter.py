"""Kernels, bytes and waits of a step where there is no GPU: torch's operations stand for the kernels that they launch.

An operation that returns a view launches none; any other one, and each kernel that torch.compile made, counts as one.
Its bytes are those of its input and output tensors. The host waits where it needs a number from the device. Operations
of one launch each stand in for flash-attn's kernels, so that transformers' code around them runs.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch._inductor.async_compile import AsyncCompile
from torch.distributed.tensor import DTensor
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import modeling_flash_attention_utils

#: Operations, by a part of their name: those of weights (FSDP2, the optimizer) are there once a micro-batch or update.
WEIGHTS = ("fsdp::", "c10d::", "_foreach", "_fused_adam")
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::linear")
FREE = ("detach", "lift_fresh", "_unsafe_view", "empty", "_local_scalar_dense", "::sym_", "is_pinned", "_nested")


class KernelCounter(TorchDispatchMode):
    """What is inside is counted.

    Attributes:
        active: the one that one is within.
        found: `launches` and `bytes` of small kernels (neither products, attention nor weights), `waits`, and by kind
            `all products`, `all attention`, `all weights`: launches.
    """

    active: "KernelCounter | None" = None

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: Counter[str] = Counter()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Compiled functions run as they are."""
        return True

    def __enter__(self) -> Any:
        KernelCounter.active = self
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        KernelCounter.active = None
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = tree_leaves((args, kwargs or {}))
        output = function(*args, **kwargs or {})
        name = function.name()
        masks = name.startswith("aten::index") and any(
            isinstance(each, torch.Tensor) and each.dtype == torch.bool for each in given
        )
        self.found["waits"] += masks or any(part in name for part in ("_local_scalar_dense", "nonzero", "aten::equal"))
        is_view = any(each.alias_info and not each.alias_info.is_write for each in function._schema.returns)
        if is_view or any(part in name for part in FREE):
            return output
        tensors = [each for each in (*given, *tree_leaves(output)) if isinstance(each, torch.Tensor)]
        if any(part in name for part in WEIGHTS) or any(isinstance(each, DTensor) for each in tensors):
            self.found["all weights"] += 1
        elif name.startswith(PRODUCTS):
            self.found["all products"] += 1
        elif name.startswith("pacs_benchmark::"):
            self.found["all attention"] += 1
        else:
            self.add(tensors)
        return output

    def add(self, tensors: list[torch.Tensor]) -> None:
        """Note a small kernel. A tensor that is written in place counts once."""
        self.found["launches"] += 1
        for tensor in {id(each): each for each in tensors}.values():
            if not tensor.is_nested:
                size = tensor.numel() * tensor.element_size()
                self.found["bytes"] += min(size, tensor.untyped_storage().nbytes())  # one that is expanded is read once


def count_compiled_kernels() -> None:
    """From now on what torch.compile makes counts, too, wherever it runs within a `KernelCounter`."""
    make = AsyncCompile.cpp_pybinding

    def noted(self: Any, *args: Any, **options: Any) -> Callable[..., Any]:
        made = make(self, *args, **options)

        def kernel(*given: Any) -> Any:
            if KernelCounter.active:
                KernelCounter.active.add([each for each in given if isinstance(each, torch.Tensor)])
            return (made.result() if hasattr(made, "result") else made)(*given)

        return kernel

    AsyncCompile.cpp_pybinding = noted  # type: ignore[method-assign]


@torch.library.custom_op("pacs_benchmark::attention", mutates_args=())
def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, begins: torch.Tensor) -> torch.Tensor:
    """Causal attention of packed rows, (tokens, heads, width)."""
    places = begins.tolist()
    rows = [_row(q[a:b], k[a:b], v[a:b]) for a, b in pairwise(places)]
    return torch.cat(rows)


def _row(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    q, k, v = (each.transpose(0, 1)[None] for each in (q, k, v))
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0].transpose(0, 1)


@torch.library.custom_op("pacs_benchmark::attention_backward", mutates_args=())
def attention_backward(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, begins: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Its gradients, by hand: nothing records operations within an operation."""
    places = begins.tolist()
    rows = [_row_backward(*(each[a:b] for each in (gradient, q, k, v))) for a, b in pairwise(places)]
    dq, dk, dv = (torch.cat(parts) for parts in zip(*rows, strict=True))
    return dq, dk, dv


def _row_backward(
    gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(tokens, heads, width) each; a key head serves several query heads (axis g)."""
    tokens, heads, width = k.shape
    query, given = (each.reshape(tokens, heads, -1, width).float() for each in (q, gradient))
    key, value, scale = k.float(), v.float(), width**-0.5
    later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    share = torch.einsum("thgw,shw->hgts", query, key).mul(scale).masked_fill(later, -torch.inf).softmax(-1)
    of_share = torch.einsum("thgw,shw->hgts", given, value)
    of_product = share * (of_share - (of_share * share).sum(-1, keepdim=True)) * scale
    dq = torch.einsum("hgts,shw->thgw", of_product, key).reshape(q.shape)
    dk = torch.einsum("hgts,thgw->shw", of_product, query)
    dv = torch.einsum("hgts,thgw->shw", share, given)
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


attention.register_autograd(
    lambda ctx, gradient: (*attention_backward(gradient, *ctx.saved_tensors), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def stand_in_for_flash_attention() -> None:
    """transformers' flash attention, with the operation above in place of flash-attn's kernels."""

    def rows(q: Any, k: Any, v: Any, cu_seqlens_q: Any, max_seqlen_q: Any, max_seqlen_k: Any, **_: Any) -> Any:
        int(max_seqlen_q), int(max_seqlen_k)  # as flash-attn reads them
        return attention(q, k, v, cu_seqlens_q)

    def row(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **_: Any) -> Any:
        return attention(q[0], k[0], v[0], torch.tensor([0, q.shape[1]]))[None]

    def options(**given: Any) -> dict[str, Any]:
        return {key: value for key, value in given.items() if key.startswith("max_seqlen")}

    modeling_flash_attention_utils.lazy_import_flash_attention = lambda _: ((row, rows, None, None, None), options)
