"""LoRA through verl's real workers on one rank and two, beside peft's model in plain autograd, a sequence at a time."""

from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

from pacs.algorithm import Method, Pacs, ReferenceConfig
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.nft import Nft
from tests.integration.worker.test_worker import GROUPS, LEARNING_RATE, ROWS, SPLITS, parts, relative_error, run_ranks
from tests.integration.worker.worker_case import autograd_loss, mini_batches, response_log_probs, tiny_model

pytestmark = pytest.mark.slow

RANK, ALPHA = 4, 6
METHODS: dict[str, Method] = {"pacs": Pacs(), "grpo": Grpo(), "nft": Nft()}
TRIED = ("grouped, dynamic", "cached, dynamic")
STEPPED = Pacs(reference=ReferenceConfig(reset_every=2, warmup_steps=1))
OVERRIDES = [f"actor_rollout_ref.model.lora_rank={RANK}", f"actor_rollout_ref.model.lora_alpha={ALPHA}"]
Weights = dict[str, torch.Tensor]


def peft_model(adapters: Weights | None = None) -> PeftModel:
    """The policy's, on all linear layers of its decoder; of `adapters`, or as peft draws them."""
    model = get_peft_model(
        tiny_model("qwen3", seed=0), LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear", bias="none")
    )
    if adapters is not None:
        model.load_state_dict(adapters, strict=False)
    return model


def adapters_of(seed: int) -> Weights:
    """Wide enough that two differ by nats."""
    generator = torch.Generator().manual_seed(seed)
    shapes = {name: value.shape for name, value in peft_model().named_parameters() if value.requires_grad}
    return {name: 0.3 * torch.randn(shape, generator=generator) for name, shape in shapes.items()}


POLICY, REFERENCE = adapters_of(1), adapters_of(2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters")
    tiny_model("qwen3", seed=0).save_pretrained(folder / "qwen3" / "policy")
    return folder


@pytest.fixture(scope="module")
def of_two(folder: Path) -> dict[str, Any]:
    return started(folder, 2)


@pytest.fixture(scope="module", params=(2, 1), ids=["two ranks", "one rank"])
def results(request: pytest.FixtureRequest, folder: Path, of_two: dict[str, Any]) -> dict[str, Any]:
    """Two ranks first: their checkpoint is loaded by one."""
    return of_two if request.param == 2 else started(folder, 1)


def started(folder: Path, ranks: int) -> dict[str, Any]:
    def way(method: Method, split: str, mini_batch: int) -> tuple[Method, Any, dict[str, Any]]:
        strategy, micro_batching, _ = SPLITS[split]
        return method, parts(ranks, split, mini_batch), {"pacs_strategy": strategy, **micro_batching}

    case = {
        "family": "qwen3",
        "layout": "packed",
        "learning_rate": LEARNING_RATE,
        "overrides": OVERRIDES,
        "policy": POLICY,
        "reference": REFERENCE,
        "ways": {(name, split): way(method, split, GROUPS + 1) for name, method in METHODS.items() for split in TRIED},
        "steps": way(STEPPED, "cached, dynamic", (GROUPS + 1) // 2),
        "parts": parts(ranks, "cached, dynamic", GROUPS + 1),
    }
    torch.save(case, folder / f"cases_{ranks}.pt")
    return run_ranks(folder, ranks, process="worker.adapters_process")  # type: ignore[no-any-return]


def equal(a: Weights, b: Weights) -> bool:
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)


def test_adapters_begin_as_nothing_and_are_drawn_from_the_seed(results: dict, of_two: dict) -> None:
    start = results["start"]["policy"]
    assert start.keys() == POLICY.keys()
    assert all((value == 0).all() == ("lora_B" in name) for name, value in start.items())
    assert equal(start, results["start"]["reference"])
    assert equal(start, results["drawn again"])
    assert equal(start, of_two["start"]["policy"])


@pytest.mark.parametrize("split", TRIED)
@pytest.mark.parametrize("name", METHODS)
def test_the_gradient_is_that_of_one_whole_batch_pass(name: str, split: str, results: dict) -> None:
    with torch.no_grad():
        reference = response_log_probs(peft_model(REFERENCE), ROWS)
    model = peft_model(POLICY)
    autograd_loss(model, reference, ROWS, METHODS[name]).backward()
    expected = {name: value.grad for name, value in model.named_parameters() if value.requires_grad}
    assert relative_error(results["gradients"][name, split], expected) < 1e-5


def test_policy_and_reference_are_as_before_the_passes(results: dict) -> None:
    assert equal(results["kept"]["policy"], POLICY)
    assert equal(results["kept"]["reference"], REFERENCE)


def naive_steps() -> tuple[Weights, Weights]:
    """The start and the end of three steps of two mini-batches with SGD, the reference reset after the second."""
    model, reference_model = peft_model(POLICY), peft_model(POLICY)
    trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    for step, rate in ((1, LEARNING_RATE), (2, LEARNING_RATE), (3, LEARNING_RATE / 2)):
        for rows in mini_batches(parts(1, "cached, dynamic", (GROUPS + 1) // 2), 2):
            with torch.no_grad():
                reference = response_log_probs(reference_model, rows)
            model.zero_grad()
            autograd_loss(model, reference, rows, STEPPED).backward()
            with torch.no_grad():
                for parameter in trained.values():
                    parameter -= rate * parameter.grad
        if step == 2:
            reference_model.load_state_dict(model.state_dict())
    return before, {name: value.detach() for name, value in model.named_parameters()}


def test_three_steps_end_at_the_weights_of_plain_sgd(results: dict) -> None:
    before, after = naive_steps()
    assert relative_error(*({name: each[name] for name in POLICY} for each in (after, before))) > 1e-2
    ours = results["steps"]
    assert relative_error(ours, after) < 1e-5
    assert relative_error(ours, after, base=before) < 1e-4
    assert {name for name, value in ours.items() if not torch.equal(value, before[name])} == POLICY.keys()


def test_a_checkpoint_is_gone_on_with_to_the_bit(results: dict, of_two: dict) -> None:
    """By as many ranks; those of two by one, too, whose sums are in another order."""
    saved = results["saved"]
    assert saved["reference"].keys() == POLICY.keys()
    assert not equal(saved["reference"], {name: saved["weights"][name] for name in POLICY})
    ranks = next(int(name.removeprefix("from ")) for name in sorted(results) if name.startswith("from "))
    loaded = results[f"from {ranks}"]
    assert equal(loaded["weights"], saved["weights"])
    assert equal(loaded["reference"], saved["reference"])
    assert equal(loaded["next"], results["next"])
    theirs = results["from 2"]
    assert equal(theirs["weights"], of_two["saved"]["weights"])
    assert equal(theirs["reference"], of_two["saved"]["reference"])
    assert relative_error(theirs["next"], of_two["next"]) < 1e-6


def test_a_checkpoint_holds_the_adapters_of_the_reference_alone(results: dict, folder: Path) -> None:
    ranks = 1 if "from 1" in results else 2
    stored = torch.load(folder / f"of_{ranks}/reference/reference_world_size_{ranks}_rank_0.pt", weights_only=False)
    assert stored.keys() == POLICY.keys()


def test_a_merged_sync_sends_the_merged_weights_in_bfloat16_and_leaves_the_policy_as_it_was(results: dict) -> None:
    model = peft_model()
    model.load_state_dict(results["saved"]["weights"])
    merged = model.merge_and_unload().state_dict()
    sent = results["merged"]
    assert sent.keys() == merged.keys()
    assert {value.dtype for value in sent.values()} == {torch.bfloat16}
    for name, value in sent.items():
        torch.testing.assert_close(value.float(), merged[name], rtol=2**-7, atol=1e-6)
    assert equal(results["after the sync"], results["saved"]["weights"])
