"""How a run lays sequences out, simpler layouts, and an engine that is made to use one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import torch
from verl.utils.ulysses import set_ulysses_sequence_parallel_group

from pacs.integration.patches.registry import FORWARD_BEFORE_FUSING


@dataclass(frozen=True)
class Layout:
    """How sequences go through the model.

    Attributes:
        packed: one after another without padding.
        fused: log-probabilities by verl's fused head.
        shared: a sequence over several ranks (Ulysses).
    """

    packed: bool
    fused: bool
    shared: bool


def simpler(layout: Layout) -> Iterator[Layout]:
    """Layouts with one, two and three parts of this one left out, as far as verl has them."""
    parts = [part for part in ("fused", "packed", "shared") if getattr(layout, part)]
    for count in range(1, len(parts) + 1):
        for left_out in combinations(parts, count):
            simpler = replace(layout, **dict.fromkeys(left_out, False))
            if simpler.packed or not simpler.shared:
                yield simpler


@contextmanager
def as_laid_out(engine: Any, layout: Layout) -> Iterator[None]:
    """The engine as it would be built for `layout`, inside its mode; of the batch's settings it knows the rest."""
    shared = engine.use_ulysses_sp
    head = None if layout.fused else next((each for each in map(_unfused, engine.module.modules()) if each), None)
    if shared and not layout.shared:
        engine.use_ulysses_sp = False
        set_ulysses_sequence_parallel_group(None)
    if head is not None:
        fused, head.forward = head.forward, FORWARD_BEFORE_FUSING[head]  # type: ignore[method-assign]
    try:
        yield
    finally:
        if head is not None:
            head.forward = fused  # type: ignore[method-assign]
        if shared and not layout.shared:
            set_ulysses_sequence_parallel_group(engine.ulysses_parallel_group)
            engine.use_ulysses_sp = True


def _unfused(module: torch.nn.Module) -> type[torch.nn.Module] | None:
    """The class of a model that verl has given a fused head."""
    return next((each for each in type(module).__mro__ if each in FORWARD_BEFORE_FUSING), None)
