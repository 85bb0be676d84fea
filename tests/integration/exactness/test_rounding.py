"""The probe allows for what a model rounds in 16 bits, even where kernels round rows together and alone alike."""

import math
from types import SimpleNamespace

import pytest
import torch
from tensordict import TensorDict
from transformers import Qwen3Config, Qwen3ForCausalLM
from verl.utils import tensordict_utils as tu

from pacs.integration.exactness.layout_check import TOLERANCES, LayoutError, check_layout

#: Standard deviation of the logits: so large that 16 bits round more than the probe allows every model.
LOGITS = 16.0


pytestmark = pytest.mark.usefixtures("process_group")


class Engine:
    """Stands for verl's: rows padded together are calculated row by row, so that they are rounded as they are alone;
    with the fused head everything is in float32, which is rounded otherwise, and `left_out` nats are missing."""

    use_ulysses_sp = False
    device_mesh = SimpleNamespace(device_type="cpu")
    _autocast_dtype = torch.bfloat16

    def __init__(self, left_out: float) -> None:
        config = Qwen3Config(
            vocab_size=2048,
            hidden_size=256,
            intermediate_size=512,
            num_hidden_layers=8,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=64,
            tie_word_embeddings=True,
            architectures=["Qwen3ForCausalLM"],
        )
        torch.manual_seed(0)
        self.module = Qwen3ForCausalLM(config).to(torch.bfloat16).eval()
        torch.nn.init.constant_(self.module.model.norm.weight, LOGITS / (0.02 * math.sqrt(config.hidden_size)))
        self.left_out = left_out
        options = {"use_remove_padding": False, "use_fused_kernels": True, "enable_activation_offload": False}
        self.model_config = SimpleNamespace(hf_config=config, **options)
        sizes = {"max_token_len_per_gpu": 64, "micro_batch_size_per_gpu": 1}
        inferred = {f"infer_{key}": value for key, value in sizes.items()}
        self.engine_config = SimpleNamespace(use_dynamic_bsz=True, forward_only=False, **sizes, **inferred)

    def eval_mode(self) -> torch.no_grad:
        return torch.no_grad()

    def train_mode(self, zero_grad_on_exit: bool) -> torch.no_grad:
        return torch.no_grad()

    def infer_batch(self, data: TensorDict) -> dict:
        fused = tu.get(data, "use_fused_kernels")
        self.module.to(torch.float32 if fused else torch.bfloat16)
        rows = []
        for row in data["input_ids"].unbind():
            logits = self.module(input_ids=row[None], use_cache=False).logits[0].float()
            log_probs = logits.log_softmax(-1).gather(-1, row.roll(-1)[:, None])[:, 0]
            rows.append(log_probs - self.left_out if fused else log_probs)
        return {"model_output": {"log_probs": torch.nested.as_nested_tensor(rows, layout=torch.jagged)}}


def test_another_rounding_is_let_through() -> None:
    engine = Engine(left_out=0.0)
    row = torch.arange(3, 40)
    values = []
    for fused in (False, True):
        data = TensorDict({"input_ids": torch.nested.as_nested_tensor([row], layout=torch.jagged)}, batch_size=1)
        tu.assign_non_tensor(data, use_fused_kernels=fused)
        values.append(engine.infer_batch(data)["model_output"]["log_probs"].values()[:-1])
    # Otherwise the test shows nothing.
    assert (values[0] - values[1]).abs().mean() > TOLERANCES[torch.bfloat16]
    check_layout(engine, temperature=1.0)


def test_what_a_head_leaves_out_is_not_taken_for_rounding() -> None:
    with pytest.raises(LayoutError, match="use_fused_kernels=false"):
        check_layout(Engine(left_out=1.0), temperature=1.0)
