"""LoRA in the laboratory beside peft's own: logits, gradients, what is sampled, what is trained."""

import copy
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model
from transformers import AutoModelForCausalLM, PreTrainedModel

from pacs.base.errors import UserError
from recipes.laboratory import loop
from recipes.laboratory.adapters import adapt
from recipes.laboratory.plan import Run
from recipes.laboratory.sampling import sample
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.recorded import EVALUATION, SMALL, Recorded
from tests.recipes.laboratory.tiny import make_tiny_start

ADAPTERS = {"rank": 3, "alpha": 5}
TOKENS = torch.arange(3, 27).reshape(2, 12)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


@pytest.fixture
def pair(start: Path) -> tuple[PreTrainedModel, PreTrainedModel]:
    """The start with our adapters, and with peft's of the same numbers, which are not 0."""
    ours = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32).eval()
    theirs = copy.deepcopy(ours)
    adapt(ours, ADAPTERS, seed=1)
    inject_adapter_in_model(LoraConfig(r=3, lora_alpha=5, target_modules="all-linear"), theirs)
    values = dict(ours.named_parameters())
    for name, parameter in theirs.named_parameters():
        if parameter.requires_grad:
            layer, _, which = name.removesuffix(".default.weight").rpartition(".")
            value = values[f"{layer}.parametrizations.weight.0.{'down' if which == 'lora_A' else 'up'}"]
            if which == "lora_B":
                assert (value == 0).all()
                value.data = torch.randn(value.shape, generator=torch.Generator().manual_seed(len(name)))
            parameter.data = value.data.clone()
    return ours, theirs


def test_it_is_the_model_that_peft_makes(pair: tuple[PreTrainedModel, PreTrainedModel]) -> None:
    ours, _ = pair
    of_ours, of_theirs = (model(TOKENS).logits for model in pair)
    torch.testing.assert_close(of_ours, of_theirs, rtol=1e-4, atol=1e-4)
    for logits in (of_ours, of_theirs):
        logits.log_softmax(-1)[..., 0].sum().backward()
    counts = [sum(p.requires_grad for p in model.parameters()) for model in pair]
    assert counts[0] == counts[1] == 2 * sum(name.endswith(".down") for name, _ in ours.named_parameters())
    sizes = [sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None) for model in pair]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-3)


def test_responses_are_sampled_from_it(start: Path, pair: tuple[PreTrainedModel, PreTrainedModel]) -> None:
    ours, theirs = pair
    begun = loop.read_beginning(start, prompts=2, split="test", problems=1)
    how = {"samples": 2, "max_tokens": 12, "generator": torch.Generator().manual_seed(0)}
    samples = sample(ours, begun.tokenizer, begun.train.of([0, 1]).messages, **how)
    width = samples.response_mask.shape[1]
    with torch.no_grad():
        logits = theirs(samples.ids, attention_mask=(samples.ids != begun.tokenizer.pad_token_id).long()).logits
    first = logits[:, -width - 1].log_softmax(-1).gather(-1, samples.ids[:, -width, None])[:, 0]
    torch.testing.assert_close(samples.log_probs[:, 0], first, rtol=1e-3, atol=1e-3)


def test_a_run_trains_the_adapters_alone(start: Path) -> None:
    """With a reference of its own, too."""
    options = {"reference": {"reset_every": 2}}
    policy = Recorded(start, Settings(**SMALL, options=options, adapters=ADAPTERS)).policy
    before = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32).state_dict()
    for name, value in policy.named_parameters():
        if value.requires_grad:
            assert not name.endswith(".up") or value.abs().max() > 1e-4
        else:
            assert torch.equal(value, before[name.replace("parametrizations.", "").removesuffix(".original")])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"adapters": {"rank": 8}}, "adapters=.*: write them like"),
        ({"adapters": {"rank": 0, "alpha": 1}}, "adapters.rank=0 must be a whole number of at least 1"),
        ({"adapters": ADAPTERS, "method": "ppo"}, "adapters with method=ppo"),
    ],
)
def test_what_is_wrong_is_refused(wrong: dict, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Settings(**wrong)


def test_runs_without_are_asked_for_as_before() -> None:
    assert "adapters" not in Run("countdown", 0, Settings(), EVALUATION).asked()["settings"]
    assert Run("countdown", 0, Settings(adapters=ADAPTERS), EVALUATION).asked()["settings"]["adapters"] == ADAPTERS
