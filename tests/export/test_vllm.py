"""The folder in real vLLM: its log-probabilities are those of transformers."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.export.exporting import logits_of, run_command

pytestmark = [pytest.mark.slow, pytest.mark.long]


def test_vllm_gives_tokens_the_same_log_probabilities(sharded: Callable[[int, str], Path], tmp_path: Path):
    """vLLM's CPU attention takes heads of 32 or more: the untied model."""
    run = sharded(2, "untied")
    tokens = torch.load(run / "truth.pt")["tokens"]
    assert run_command(run, "--out", tmp_path / "out") == 0
    env = os.environ | {
        "VERL_PLATFORM": "cpu",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "OMP_NUM_THREADS": "1",
    }
    vllm = subprocess.run(
        [sys.executable, "-m", "tests.export.vllm_log_probs", str(tmp_path / "out"), str(tmp_path / "answer.json")],
        env=env, input=json.dumps(tokens.tolist()), text=True, capture_output=True, timeout=500, check=False,
    )  # fmt: skip
    assert vllm.returncode == 0, (vllm.stdout + vllm.stderr)[-6000:]
    found = torch.tensor(json.loads((tmp_path / "answer.json").read_text()))
    expected = logits_of(tmp_path / "out", tokens).log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)
    assert found.shape == expected.shape
    print(f"largest difference: {(found - expected).abs().max():.2e} nats")
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    # Nor would any model do: the start of the training is another.
    base = run.parent / "base" / "untied"
    before = logits_of(base, tokens).log_softmax(-1)[:, :-1].gather(-1, tokens[:, 1:, None]).squeeze(-1)
    assert (found - before).abs().max() > 0.01
