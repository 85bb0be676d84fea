"""Qwen3, a token at a time: the same numbers as transformers' own model, in a third of its operations.

With one token a row most of what a model of this size costs is how many operations there are, and copies of keys and
values. Here projections of the same input are one, and keys and values stay in one buffer.
"""

from typing import TYPE_CHECKING

import torch
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import DynamicCache, Qwen3ForCausalLM


class Decoder:
    """Goes on from prompts that the model has read, row by row.

    Args:
        model: of full attention in every layer, without biases; its weights are taken as they are now.
        read: its cache of P prompts, of N tokens with their padding.
        samples: rows of each prompt, one beside the other.
        max_tokens: that a row may be given.
    """

    def __init__(self, model: "Qwen3ForCausalLM", read: "DynamicCache", samples: int, max_tokens: int) -> None:
        config = model.config
        self._model, self._epsilon = model, config.rms_norm_eps
        self._heads, self._shared, self._size = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )
        self._length = read.layers[0].keys.shape[2]
        self._buffers = [
            [_with_room(part.repeat_interleave(samples, 0), max_tokens) for part in (layer.keys, layer.values)]
            for layer in read.layers
        ]
        self._layers = []
        for layer in model.model.layers:
            attention, mlp = layer.self_attn, layer.mlp
            projections = [attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]
            scales = [attention.q_norm.weight.expand(self._heads, -1), attention.k_norm.weight.expand(self._shared, -1)]
            gates = [mlp.gate_proj.weight, mlp.up_proj.weight]
            self._layers.append((layer, torch.cat(projections), torch.cat(scales), torch.cat(gates)))

    def keep(self, rows: torch.Tensor) -> torch.Tensor:
        """Go on with (B',) int64 rows, in ascending order, of which one may be there several times.

        What does not have to move stays where it is. Returns (B',) int64: the same rows, as they stand from now on.
        """
        count = len(rows)
        again = torch.zeros(count, dtype=torch.bool)
        again[1:] = rows[1:] == rows[:-1]
        moves = again | (rows >= count)
        placed = torch.full((count,), -1)
        placed[rows[~moves]] = rows[~moves]
        free = (placed < 0).nonzero()[:, 0]
        placed[free] = rows[moves]
        for buffer in self._buffers:
            for i, part in enumerate(buffer):
                if count > len(part):
                    buffer[i] = part.new_empty(max(count, 2 * len(part)), *part.shape[1:])
                    buffer[i][: len(part), :, : self._length] = part[:, :, : self._length]
                buffer[i][free, :, : self._length] = part[rows[moves], :, : self._length]
        return placed

    def step(self, tokens: torch.Tensor, positions: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
        """(B, V) logits of the token after the next.

        Args:
            tokens: (B,) int64, each row's next.
            positions: (B,) int64, where it stands.
            visible: (B, N) bool, which of all tokens up to it, N with it, are seen by it.
        """
        hidden = self._model.model.embed_tokens(tokens)
        cos, sin = (part[:, 0, None] for part in self._model.model.rotary_emb(hidden, positions[:, None]))
        half = self._size // 2
        sin = torch.cat([-sin[..., :half], sin[..., half:]], dim=-1)  # half the heads' values change sides
        rows, last, self._length = len(tokens), self._length, self._length + 1
        for (layer, projections, scales, gates), (keys, values) in zip(self._layers, self._buffers, strict=True):
            normed = rms_norm(hidden, hidden.shape[-1:], layer.input_layernorm.weight, self._epsilon)
            heads = linear(normed, projections).view(rows, -1, self._size)
            turned = rms_norm(heads[:, : -self._shared], (self._size,), None, self._epsilon) * scales
            turned = turned * cos + turned.roll(half, -1) * sin
            keys[:rows, :, last], values[:rows, :, last] = turned[:, self._heads :], heads[:, -self._shared :]
            # The query heads that share keys and values are as many tokens of one head.
            attended = scaled_dot_product_attention(
                turned[:, : self._heads].reshape(rows, self._shared, -1, self._size),
                keys[:rows, :, : self._length],
                values[:rows, :, : self._length],
                attn_mask=visible[:, None, None],
            )
            hidden = hidden + linear(attended.reshape(rows, -1), layer.self_attn.o_proj.weight)
            normed = rms_norm(hidden, hidden.shape[-1:], layer.post_attention_layernorm.weight, self._epsilon)
            gate, up = linear(normed, gates).chunk(2, dim=-1)
            hidden = hidden + linear(silu(gate) * up, layer.mlp.down_proj.weight)
        final = rms_norm(hidden, hidden.shape[-1:], self._model.model.norm.weight, self._epsilon)
        return linear(final, self._model.lm_head.weight)


def _with_room(part: torch.Tensor, tokens: int) -> torch.Tensor:
    """(B, heads, N, D) with so many tokens more, which hold anything."""
    wide = part.new_empty(*part.shape[:2], part.shape[2] + tokens, part.shape[3])
    wide[:, :, : part.shape[2]] = part
    return wide
