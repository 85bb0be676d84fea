"""The reference's adapters beside the policy's in one model: exchanged, kept, saved and read; without a worker."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

from pacs.integration.worker.adapters import AdapterWorker, KeptAdapters
from tests.integration.worker.worker_case import tiny_model

Weights = dict[str, torch.Tensor]


def adapted(seed: int) -> PeftModel:
    model = get_peft_model(tiny_model("qwen3", seed=0), LoraConfig(r=2, lora_alpha=4, target_modules="all-linear"))
    write(model, seed)
    return model


@torch.no_grad()
def write(model: PeftModel, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    for value in model.parameters():
        if value.requires_grad:
            value.copy_(torch.randn(value.shape, generator=generator))


def weights(model: torch.nn.Module) -> Weights:
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def equal(a: Weights, b: Weights) -> bool:
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)


def test_the_reference_is_the_model_with_the_adapters_that_were_kept() -> None:
    model = adapted(1)
    kept = KeptAdapters(SimpleNamespace(module=model))
    first = weights(model)
    assert sorted(kept.shards) == sorted(name for name in first if "lora_" in name)
    write(model, 2)
    second = weights(model)
    assert not equal(first, second)
    with kept.in_place() as reference:
        assert equal(weights(reference), first)
    assert equal(weights(model), second)
    with pytest.raises(KeyError), kept.in_place():
        raise KeyError
    assert equal(weights(model), second)
    kept.keep()
    write(model, 3)
    with kept.in_place():
        assert equal(weights(model), second)


def test_what_is_saved_is_read_into_the_reference_alone(process_group: None, tmp_path: Path) -> None:
    model, other = adapted(1), adapted(3)
    kept, read = KeptAdapters(SimpleNamespace(module=model)), KeptAdapters(SimpleNamespace(module=other))
    first = weights(model)
    write(model, 2)
    kept.save(tmp_path)
    stored = torch.load(tmp_path / "reference_world_size_1_rank_0.pt")
    assert equal(stored, {name: first[name] for name in kept.shards})
    policy = weights(other)
    read.load(tmp_path)
    assert equal(weights(other), policy)
    with read.in_place():
        assert equal(weights(other), first)


def test_a_worker_reads_keeps_and_saves_these(process_group: None, tmp_path: Path) -> None:
    model, passes = adapted(1), []
    worker = AdapterWorker.__new__(AdapterWorker)
    optimizer = SimpleNamespace(state={"moments": 1})
    worker.actor = SimpleNamespace(
        engine=SimpleNamespace(module=model, optimizer=optimizer), log_probs=lambda data: passes.append(weights(model))
    )
    worker.ref, worker.kept = None, KeptAdapters(worker.actor.engine)
    first = weights(model)
    write(model, 2)
    worker._log_probs_of_reference(None)
    worker.save_reference(str(tmp_path))
    worker.reset_reference(False)
    assert optimizer.state
    worker._log_probs_of_reference(None)
    worker.load_reference(str(tmp_path))
    worker._log_probs_of_reference(None)
    worker.reset_reference(True)
    assert not optimizer.state
    assert [equal(seen, first) for seen in passes] == [True, False, True]
    assert equal(passes[1], weights(model))
