"""A row in which several texts go on from one trunk, each from a place of its own: the trunk passes the model once.

The trunk comes first, then each branch, after one another. A branch sees the trunk up to its place, and itself, and its
positions go on from there, so that its log-probabilities are those of a row of its own. Attention is that of PyTorch
with a mask on a CPU, and FlexAttention with a block mask on a GPU.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.flex_attention import flex_attention_forward
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import flex_attention_mask, sdpa_mask
from verl.utils import tensordict_utils as tu
from verl.utils.device import get_device_id

from pacs.integration.exchange import Branches
from pacs.verl_keys.config import SHARED_PREFIX

#: Compiled variants of FlexAttention and of its mask, at most: by gradients or none, one row or several, short rows or
#: long ones, known sizes or any. Of packed rows 4 of each were seen. Beyond Dynamo's own limit, 8, PyTorch would go on
#: without compiling, and hold the scores of every pair of tokens.
VARIANTS = 32


@dataclass(frozen=True)
class Layout:
    """Who sees whom among the tokens of a micro-batch, (B, S) each as the model gets them.

    Attributes:
        row: the row that a token is of.
        branch: the number of its branch, from 1; 0: it is of the trunk.
        place: in its row.
        sees: how many of its row's first tokens, which are the trunk's, it sees; one of the trunk those up to itself.
    """

    row: torch.Tensor
    branch: torch.Tensor
    place: torch.Tensor
    sees: torch.Tensor

    def allowed(self, batch: Any, head: Any, query: Any, key: Any) -> Any:
        """As a mask function of transformers: whether the query sees the key."""
        same = self.row[batch, query] == self.row[batch, key]
        in_trunk = (self.branch[batch, key] == 0) & (self.place[batch, key] < self.sees[batch, query])
        in_branch = (self.branch[batch, key] == self.branch[batch, query]) & (self.branch[batch, key] > 0)
        # A token sees itself, of padding alone: attention over nothing would not be a number.
        return (same & (in_trunk | in_branch) & (key <= query)) | (key == query)


_layouts: list[Layout] = []


@contextmanager
def laid_out(layout: Layout) -> Iterator[None]:
    """Passes within see by it."""
    _layouts.append(layout)
    try:
        yield
    finally:
        _layouts.pop()


def _mask(**given: Any) -> Any:
    """transformers' mask, or that of the layout; the row's own positions would be taken for several sequences."""
    make = sdpa_mask if torch.device(given.get("device", "cpu")).type == "cpu" else flex_attention_mask
    if _layouts:
        given |= {"mask_function": _layouts[-1].allowed, "attention_mask": None, "allow_is_causal_skip": False}
    with torch._dynamo.config.patch(recompile_limit=VARIANTS):
        return make(**given)


def _attention(module: Any, query: torch.Tensor, *args: Any, **options: Any) -> Any:
    forward = sdpa_attention_forward if query.device.type == "cpu" else flex_attention_forward
    with torch._dynamo.config.patch(recompile_limit=VARIANTS):
        return forward(module, query, *args, **options)


AttentionInterface.register(SHARED_PREFIX, _attention)
AttentionMaskInterface.register(SHARED_PREFIX, _mask)


def share_prefixes(engine: Any) -> None:
    """Have an engine of verl's see by the branches of each micro-batch that has them, in all of its passes; once."""
    verls_step = engine.forward_step
    if getattr(verls_step, "shares", False):
        return

    def forward_step(micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool) -> Any:
        packed = bool(tu.get(micro_batch, "use_remove_padding"))
        with laid_out(layout_of(Branches.unpack(micro_batch), packed=packed, device=get_device_id())):
            return verls_step(micro_batch, loss_function, forward_only)

    forward_step.shares = True  # type: ignore[attr-defined]
    engine.forward_step = forward_step


def layout_of(branches: Branches, *, packed: bool, device: Any = "cpu") -> Layout:
    """The layout of a micro-batch.

    Args:
        branches: jagged (B, S) each.
        packed: rows one after another without padding, (1, S) in all, as verl has them with `use_remove_padding`.
        device: of the pass.
    """
    lengths = [len(row) for row in branches.branch.unbind()]
    rows = [torch.full((length,), row) for row, length in enumerate(lengths)]
    places = [torch.arange(length) for length in lengths]
    columns = [rows, branches.branch.unbind(), places, branches.sees.unbind()]
    made = []
    for column in columns:
        parts = [part.to(device) for part in column]
        # Padding is a branch of its own, of which nothing else sees anything.
        made.append(
            torch.cat(parts)[None] if packed else torch.nn.utils.rnn.pad_sequence(parts, True, padding_value=-1)
        )
    return Layout(*made)
