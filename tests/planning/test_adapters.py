"""LoRA in the plan: parameters as peft counts them, and what they save."""

import pytest
from omegaconf import DictConfig, OmegaConf
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.planning.architecture import PUBLISHED
from pacs.planning.plan import Plan, make_plan
from pacs.planning.plan_text import full, heading
from pacs.planning.timing import saved_bytes
from pacs.planning.weight_sync import sync_bytes
from tests.planning.test_architecture import SMALL, qwen3

MODEL = "actor_rollout_ref.model"
KEPT = "method.reference.reset_every=20"


@pytest.fixture(scope="module")
def config() -> DictConfig:
    return compose_run("pacs", ["recipe=qwen3_8b", f"{MODEL}.lora_rank=32", KEPT])[0]


def plan(config: DictConfig, *overrides: str) -> Plan:
    return make_plan(OmegaConf.merge(config, OmegaConf.from_dotlist(list(overrides))), hardware="h200x8")


@pytest.mark.parametrize("modules", [None, ["q_proj", "v_proj"], ["down_proj"]])
def test_parameters_are_those_that_peft_makes(modules: list[str] | None) -> None:
    model = get_peft_model(
        AutoModelForCausalLM.from_config(qwen3(SMALL)), LoraConfig(r=4, target_modules=modules or "all-linear")
    )
    assert SMALL.adapter_parameters(4, modules) == model.get_nb_trainable_parameters()[0]


def test_gradient_moments_and_reference_are_of_the_adapters(config: DictConfig) -> None:
    shape = PUBLISHED["Qwen/Qwen3-8B"]
    adapters = shape.adapter_parameters(32, None)
    assert adapters == pytest.approx(87.3e6, rel=1e-3)
    lora, whole = plan(config), plan(config, f"{MODEL}.lora_rank=0")
    parts, all_parts = ({phase.name: phase.parts for phase in each.phases}["update"] for each in (lora, whole))
    assert parts["weights"] == pytest.approx(4 * (shape.parameters + adapters) / 8)
    assert parts["gradient"] == pytest.approx(4 * adapters / 8)
    assert parts["Adam"] == pytest.approx(8 * adapters / 8)
    # Embedding, head and two layers whole; a layer's gradient in two and in four bytes, which frozen weights have not.
    whole_weights = 2 * (2 * shape.embedding_parameters + 2 * shape.layer_parameters)
    assert parts["gathered"] == pytest.approx(whole_weights + 6 * adapters / 36)
    assert all_parts["gathered"] == pytest.approx(whole_weights + 6 * shape.layer_parameters)
    assert all_parts["Adam"] == pytest.approx(8 * shape.parameters / 8)
    assert saved_bytes(lora.work) == pytest.approx(4 * (shape.parameters + 3 * adapters))
    assert (lora.work.reference, whole.work.reference) == ("adapters", "model")
    assert plan(config, "method.reference.reset_every=1").work.reference == "policy"
    update, whole_update = (next(phase for phase in each.phases if phase.name == "update") for each in (lora, whole))
    said = full(lora)
    assert f"Adapters: the update has {update.total / 2**30:.1f} GiB; with all weights trained it would have " in said
    assert f"{whole_update.total / 2**30:.1f} GiB. Gradient" in said
    assert "Adapters: " not in full(whole)
    assert "(87.3 M of adapters are trained)" in heading(lora.work)
    assert "and the reference after a reset" in said


def test_an_update_is_shorter_and_adapters_alone_are_sent(config: DictConfig) -> None:
    lora, merged, whole = plan(config), plan(config, f"{MODEL}.lora.merge=true"), plan(config, f"{MODEL}.lora_rank=0")
    assert 0.6 * whole.seconds["update"] < lora.seconds["update"] < 0.85 * whole.seconds["update"]
    assert sync_bytes(lora.work) == pytest.approx(4 * lora.work.policy.adapters * 7 / 8)
    assert sync_bytes(merged.work) == sync_bytes(whole.work)


def test_layers_that_the_plan_does_not_know_are_refused(config: DictConfig) -> None:
    with pytest.raises(UserError, match="the plan knows all-linear and a list of names alone"):
        plan(config, f"{MODEL}.target_modules='.*q_proj'")
