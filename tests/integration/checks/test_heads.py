"""Attention heads that vLLM does not compute with on a CPU, where its engine dies at the first prompt, are refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

from pacs.composing import compose_run
from pacs.integration.checks.models import CPU_HEADS, head_problems, model_problems
from tests.evaluation.conftest import write_model

PATH = "actor_rollout_ref.model.path"


def test_the_heads_are_those_that_vllm_names() -> None:
    assert list(CPU_HEADS) == CPUAttentionBackend.get_supported_head_sizes()


@pytest.mark.parametrize(
    ("model", "refused"),
    [
        ({"head_dim": 24, "hidden_size": 96, "num_attention_heads": 3}, 24),
        ({"hidden_size": 96, "num_attention_heads": 6}, 16),
        ({"head_dim": None, "hidden_size": 96, "num_attention_heads": 3}, None),
        ({"text_config": {"head_dim": 48, "hidden_size": 96, "num_attention_heads": 3}}, 48),
        ({"head_dim": 128, "hidden_size": 96, "num_attention_heads": 6}, None),
        ({"kv_lora_rank": 8, "hidden_size": 96, "num_attention_heads": 6}, None),
        ({}, None),
        ({"hidden_size": "many", "num_attention_heads": 6}, None),
        ({"hidden_size": 96, "num_attention_heads": 0}, None),
    ],
)
def test_by_the_config_of_the_model(model: dict[str, Any], refused: int | None) -> None:
    config = compose_run("pacs", ["recipe=arithmetic"])[0]
    found = list(head_problems(config, model, "it"))
    assert len(found) == (refused is not None)
    assert all(problem.startswith(f"it has attention heads of {refused} numbers") for problem in found)
    config.trainer.device = "cuda"
    assert list(head_problems(config, model, "it")) == []


def test_a_run_is_refused_by_the_setting(tmp_path: Path) -> None:
    write_model(tmp_path, seed=1)
    config = compose_run("pacs", ["recipe=arithmetic", f"{PATH}={tmp_path}"])[0]
    assert list(model_problems(config)) == []
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"head_dim": 24}))
    (problem,) = model_problems(config)
    assert problem.startswith(f"{PATH}={tmp_path} has attention heads of 24 numbers (head_dim), with which vLLM")
