"""Norms, rotary embeddings and gated activations of every layer, each compiled by torch into a kernel or two.

verl imports it before it builds a model where a run says so, by
`actor_rollout_ref.model.external_lib=pacs.integration.patches.compiled_kernels`. Attention, the head and FSDP2 are left
as they are, and so is how layers are calculated again: what is compiled lies within a layer. Between two kernels that
become one, 16 bits are not rounded to (docs/scaling.md).
"""

import sys
from collections.abc import Callable
from typing import Any

import torch

from pacs.integration.patches.patch import Function, Patch, patches

#: How the classes of the modules end that are compiled, by whatever family they are.
CLASSES = ("RMSNorm", "MLP")
ROTARY = "apply_rotary_pos_emb"
#: Graphs of a function that torch may make. Beyond its own limit of 8 it would go on without compiling, and norms need
#: 12: those of layers and of heads, with and without gradient, and in the layouts of the probe.
GRAPHS = 64

_PATCHES: list[Patch] = []


# Which apply_monkey_patch ends with, whose name verl's engine has bound before this is imported.
@patches(
    _PATCHES, "verl.models.transformers.monkey_patch", "patch_forward_with_backends",
    "model.__class__.forward = forward_with_torch_backend_function",
)  # fmt: skip
def small_kernels_are_compiled(original: Function, model: Any, *args: Any, **options: Any) -> None:
    """most of a step on a GPU is small kernels that read and write the same numbers, and verl compiles none of them"""
    original(model, *args, **options)
    compile_small_kernels(model)


def compile_small_kernels(model: Any) -> Callable[[], None]:
    """Compile them in the classes of the model's parts, for all models of these; returns what undoes that."""
    torch._dynamo.config.recompile_limit = max(GRAPHS, torch._dynamo.config.recompile_limit)
    owners = {type(part) for part in model.modules() if type(part).__name__.endswith(CLASSES)}
    families = {sys.modules[owner.__module__] for owner in owners}
    places: list[tuple[Any, str]] = [(owner, "forward") for owner in owners]
    places += [(family, ROTARY) for family in families if hasattr(family, ROTARY)]
    before = [(owner, name, getattr(owner, name)) for owner, name in places]
    for owner, name, function in before:
        if not hasattr(function, "_torchdynamo_orig_callable"):  # the reference's model has the policy's classes
            setattr(owner, name, torch.compile(function, dynamic=True))

    def undo() -> None:
        for place in before:
            setattr(*place)

    return undo


for _patch in _PATCHES:
    _patch.install()
