"""A layer's tensors against those that autograd keeps in transformers' own Qwen3."""

import dataclasses

import pytest
import torch
from transformers import AutoModelForCausalLM
from verl.utils.experimental.torch_functional import FusedLinearForPPO

from pacs.planning.activations import head_bytes, layer_bytes_per_token, mask_bytes
from pacs.planning.architecture import Architecture
from pacs.verl_keys.workload import Trained
from tests.planning.test_architecture import qwen3

MODEL = Trained(
    parameters=0,
    vocabulary=64,
    weight_bytes=4,
    compute_bytes=4,
    shards=1,
    weights_offloaded=False,
    optimizer_offloaded=False,
    checkpointed=False,
    fused=False,
    packed=False,
    flash=False,
    micro_batch_tokens=0,
    forward_tokens=0,
)


def kept_bytes(shape: Architecture, dtype: torch.dtype, rows: int, row_tokens: int) -> int:
    """Bytes of the storages that autograd keeps for a backward pass, without the weights."""
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(qwen3(shape), dtype=dtype, attn_implementation="sdpa").train()
    weights = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    kept: dict[int, int] = {}
    tensors = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
            tensors.append(tensor)  # alive, so that no other gets its address
        return tensor

    tokens = torch.zeros(rows, row_tokens, dtype=torch.long)
    mask = torch.ones(rows, row_tokens, dtype=torch.long)
    mask[0, :3] = 0  # without padding transformers would leave the mask out
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model(input_ids=tokens, attention_mask=mask, use_cache=False)
    return sum(kept.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("hidden", "intermediate", "heads", "kv_heads"), [(128, 384, 4, 2), (64, 512, 8, 2), (256, 256, 4, 4)]
)
def test_a_layer_keeps_what_is_counted(
    dtype: torch.dtype, hidden: int, intermediate: int, heads: int, kv_heads: int
) -> None:
    rows, row_tokens = 8, 32
    shape = Architecture(hidden, intermediate, 2, heads, kv_heads, 32, 64, tie_word_embeddings=True)
    model = dataclasses.replace(MODEL, compute_bytes=dtype.itemsize)
    deeper = dataclasses.replace(shape, num_hidden_layers=5)
    three_layers = kept_bytes(deeper, dtype, rows, row_tokens) - kept_bytes(shape, dtype, rows, row_tokens)
    tokens = rows * row_tokens
    mask = mask_bytes(shape, model, tokens, row_tokens, 3) - mask_bytes(shape, model, tokens, row_tokens, 0)
    counted = 3 * tokens * layer_bytes_per_token(shape, model) + mask
    assert three_layers == pytest.approx(counted, rel=0.05)


def backward_peak(*, frozen: bool, hidden: int, vocabulary: int, tokens: int) -> int:
    """Bytes that the backward pass of verl's fused log-probabilities takes at once."""
    torch.manual_seed(0)
    states = torch.randn(1, tokens, hidden, requires_grad=True)
    head = torch.randn(vocabulary, hidden, requires_grad=not frozen)
    log_probs, _ = FusedLinearForPPO()(states, head, torch.zeros(1, tokens, dtype=torch.long))
    loss = log_probs.sum()
    with torch.profiler.profile(profile_memory=True) as profile:
        loss.backward()
    level = peak = 0
    for event in sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            level += event.nbytes()
            peak = max(peak, level)
    return peak


def test_a_frozen_head_has_one_gradient_less() -> None:
    """Of LoRA: no sum over the chunks; verl calculates each chunk's part all the same."""
    shape = Architecture(64, 96, 2, 4, 2, 16, 4096, tie_word_embeddings=False)
    sizes = {"hidden": 64, "vocabulary": 4096, "tokens": 1024}
    saved = backward_peak(frozen=False, **sizes) - backward_peak(frozen=True, **sizes)
    model = dataclasses.replace(MODEL, fused=True, vocabulary=4096)
    whole, lora = (head_bytes(shape, dataclasses.replace(model, adapters=n), 1024, gradient=True) for n in (0, 8))
    assert whole - lora == pytest.approx(saved, rel=0.01)
