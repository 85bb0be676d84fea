"""verl's SFT trainer over rows of plain text, in a process of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from pacs.base.errors import UserError
from pacs.integration.plain_sft import PlainText, choose_device
from pacs.integration.schema import PLATFORM_VARIABLE

WEIGHTS = "huggingface/model.safetensors"
ROWS = [{"prompt": f"{a}+{b}", "response": str(a + b)} for a in range(8) for b in range(8)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sft") / "train.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), file)
    return file


def config(**others: object) -> SimpleNamespace:
    return SimpleNamespace(**{"pad_mode": "no_padding", "max_length": 64} | others)


def test_the_response_and_its_end_are_trained(task: Path, data: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(task / "model")
    rows = PlainText(str(data), tokenizer, config())
    assert len(rows) == len(ROWS)
    for number, row in enumerate(ROWS):
        tokens, trained = rows[number]["input_ids"], rows[number]["loss_mask"].bool()
        assert tokenizer.decode(tokens[~trained]) == row["prompt"]
        assert tokenizer.decode(tokens[trained]) == row["response"] + tokenizer.eos_token
        assert torch.equal(rows[number]["position_ids"], torch.arange(len(tokens)))
    assert len(PlainText([str(data)], tokenizer, config(), max_samples=3)) == 3


def test_what_is_wrong_is_refused(task: Path, data: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(task / "model")
    with pytest.raises(UserError, match=r"more than data\.max_length=2: raise that"):
        PlainText(str(data), tokenizer, config(max_length=2))[0]
    with pytest.raises(UserError, match=r"data\.pad_mode=right: rows of plain text are packed"):
        PlainText(str(data), tokenizer, config(pad_mode="right"))
    chats = tmp_path / "chats.parquet"
    pq.write_table(pa.Table.from_pylist([{"messages": [{"role": "user", "content": "1"}]}]), chats)
    with pytest.raises(UserError, match=r"has no column prompt: .* written without --chat"):
        PlainText(str(chats), tokenizer, config())


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_verl_knows_the_device(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """verl's names of GPUs are their vendors': it refuses `cuda`."""
    from verl.plugin.platform import platform_manager

    monkeypatch.setenv(PLATFORM_VARIABLE, "")  # which undoes what the choice sets
    monkeypatch.delenv(PLATFORM_VARIABLE)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda")
    assert choose_device() == device
    name = platform_manager._detect_platform_name()
    assert platform_manager._create_platform(name).device_name == device


@pytest.mark.slow
@pytest.mark.long
def test_verls_trainer_learns_it(task: Path, data: Path, tmp_path: Path) -> None:
    """The first loss is that of a plain pass, that of the saved model lower; a resumed run ends at the same weights."""
    command = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1",
        "-m", "pacs.integration.plain_sft", f"data.train_files={data}", f"data.train_batch_size={len(ROWS)}",
        "data.max_length=64", "data.num_workers=0", f"model.path={task / 'model'}",
        "+model.override_config.attn_implementation=sdpa", "engine.dtype=float32", "optim.lr=1e-3",
        "trainer.total_epochs=5", "trainer.save_freq=after_each_epoch", f"trainer.default_local_dir={tmp_path / 'out'}",
    ]  # fmt: skip

    def losses_of_a_start() -> list[float]:
        done = subprocess.run(command, env=dict(os.environ), cwd=tmp_path, capture_output=True, text=True, timeout=400)
        assert done.returncode == 0, done.stderr[-4000:]
        return [float(loss) for loss in re.findall(r"train/loss:([\d.]+)", done.stdout)]

    losses = losses_of_a_start()
    assert len(losses) == 5
    assert losses[0] == pytest.approx(loss_of(task / "model"), rel=0.01)  # verl calculates in bf16
    trained = loss_of(tmp_path / "out/global_step_5/huggingface")
    assert trained < losses[-1] < losses[0] - 0.5
    # As a run that is killed before the end of its last epoch leaves its folder.
    whole = (tmp_path / "out/global_step_5").rename(tmp_path / "whole")
    (tmp_path / "out/latest_checkpointed_iteration.txt").write_text("4")
    assert losses_of_a_start() == losses[4:]
    expected, found = (load_file(folder / WEIGHTS) for folder in (whole, tmp_path / "out/global_step_5"))
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


@torch.no_grad()
def loss_of(folder: Path) -> float:
    """Of the responses' tokens and their ends, a row at a time."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    losses: list[torch.Tensor] = []
    for row in ROWS:
        prompt, whole = (
            tokenizer.encode(text, add_special_tokens=False)
            for text in (row["prompt"], row["prompt"] + row["response"] + tokenizer.eos_token)
        )
        logits = model(torch.tensor([whole])).logits[0].log_softmax(-1)
        losses += [-logits[place - 1, whole[place]] for place in range(len(prompt), len(whole))]
    return float(torch.stack(losses).mean())
