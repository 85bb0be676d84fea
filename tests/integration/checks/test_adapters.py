"""LoRA: which settings are refused, by what verl and peft do with them."""

import inspect
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from peft import get_peft_model
from peft.tuners.lora import LoraLayer
from verl.utils import fsdp_utils
from verl.workers.engine.fsdp import transformer_impl

from pacs.composing import compose_run
from pacs.integration.checks import adapters
from pacs.integration.checks.adapters import MEGATRONS, adapter_problems
from pacs.integration.checks.architecture import architecture_problems
from tests.integration.checks.test_architecture import write
from tests.integration.preflight.families_case import composed

MODEL, ON = "actor_rollout_ref.model", "actor_rollout_ref.model.lora_rank=8"


def said(*overrides: str, algorithm: str = "pacs") -> list[str]:
    config, _ = compose_run(algorithm, ["recipe=arithmetic"])
    OmegaConf.set_struct(config, False)
    return list(adapter_problems(OmegaConf.merge(config, OmegaConf.from_dotlist(list(overrides)))))


@pytest.mark.parametrize("overrides", [(), (ON,), (ON, f"{MODEL}.lora_alpha=32", f"{MODEL}.target_modules=[q_proj]")])
def test_sound_settings_are_let_through(overrides: tuple[str, ...]) -> None:
    assert said(*overrides) == []
    merged = (f"{MODEL}.lora.merge=true", "actor_rollout_ref.rollout.dtype=bfloat16")
    assert said(ON, *merged) == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ([f"{MODEL}.lora_rank=-1"], "lora_rank=-1: use a whole number of at most 512"),
        ([f"{MODEL}.lora_rank=513"], "lora_rank=513: use a whole number of at most 512"),
        ([f"{MODEL}.lora_rank=8.5"], "lora_rank=8.5: use a whole number"),
        ([ON, f"{MODEL}.lora_alpha=0"], "lora_alpha=0: use a whole number of at least 1"),
        ([f"{MODEL}.lora_alpha=32"], f"lora_alpha=32: read with {MODEL}.lora_rank alone"),
        ([f"{MODEL}.target_modules=[q_proj]"], f"read with {MODEL}.lora_rank alone"),
        ([f"{MODEL}.exclude_modules=q_proj"], f"read with {MODEL}.lora_rank alone"),
        ([f"{MODEL}.lora.merge=true"], f"read with {MODEL}.lora_rank alone"),
        ([f"{MODEL}.lora.rank=8"], f"{MODEL}.lora.rank=8: Megatron reads it"),
        ([ON, f"{MODEL}.lora.dropout=0.1"], f"{MODEL}.lora.dropout=0.1: Megatron reads it"),
        ([ON, f"{MODEL}.lora.target_modules=[q_proj]"], "Megatron reads it"),
        ([f"{MODEL}.lora_adapter_path=there"], "lora_adapter_path=there: without"),
        ([ON, f"{MODEL}.target_parameters=[experts]"], "adapters of parameters that are no linear layer"),
        (["critic.model.lora_rank=8"], "critic.model.lora_rank=8: verl's critic cannot be built with adapters"),
        ([ON, f"{MODEL}.lora.merge=true"], "sends merged weights in bfloat16"),
        ([ON, "actor_rollout_ref.rollout.layered_summon=true"], "layered_summon=true: it saves memory with FSDP1"),
        ([ON, "actor_rollout_ref.actor.checkpoint.save_lora_only=true"], "save_lora_only=true"),
        ([ON, "actor_rollout_ref.actor.checkpoint.save_contents=[model,hf_model]"], "has hf_model"),
    ],
)
def test_what_is_wrong_is_refused(wrong: list[str], named: str) -> None:
    (problem,) = said(*wrong)
    assert named in problem


def test_verls_algorithms_are_checked_alike() -> None:
    assert said(ON, algorithm="grpo") == []
    assert "Megatron reads it" in said(f"{MODEL}.lora.rank=8", algorithm="grpo")[0]


def test_what_is_refused_is_what_verl_has() -> None:
    """All of `model.lora` but merge is Megatron's, and FSDP reads the rank of `model` alone."""
    config, _ = compose_run("pacs", ["recipe=arithmetic"])
    shipped = OmegaConf.to_container(config.actor_rollout_ref.model.lora)
    assert shipped == {**MEGATRONS, "merge": False}
    source = inspect.getsource(transformer_impl)
    assert "self._is_lora = self.model_config.lora_rank > 0" in source
    assert set(__import__("re").findall(r'model_config\.lora\.get\("(\w+)"', source)) == {"merge"}
    assert adapters.LARGEST_RANK == 512


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("target", "what"), [("embed_tokens", "embedding"), ("lm_head", "head")])
def test_adapters_on_embeddings_are_refused(target: str, what: str, tied: bool, tmp_path: Path) -> None:
    """Tied ones merge into another model; a merged sync of untied ones leaves them out, since it skips the root."""
    write(tmp_path, "qwen3", tie_word_embeddings=tied)
    asked = (ON, f"{MODEL}.target_modules=[q_proj,{target}]")
    (problem,) = architecture_problems(composed(tmp_path, "qwen3", "packed", *asked))
    assert f"would get adapters on its {what} by {MODEL}.target_modules=['q_proj', '{target}']" in problem
    assert ("one tensor" in problem) == tied
    assert "set it to all-linear, or name layers of the decoder alone" in problem
    assert 'name != "":  # skip root model' in inspect.getsource(fsdp_utils.fsdp_merge_unmerge)


@pytest.mark.parametrize(
    "chosen", [(), (f"{MODEL}.target_modules=[q_proj]",), (rf"{MODEL}.exclude_modules=.*\.k_proj",)]
)
@pytest.mark.parametrize("family", ["qwen3", "llama", "gemma3_text"])
def test_linear_layers_of_the_decoder_are_let_through(family: str, chosen: tuple[str, ...], tmp_path: Path) -> None:
    """Tied embeddings, too: peft leaves the head out of all-linear."""
    write(tmp_path, family, tie_word_embeddings=True)
    assert list(architecture_problems(composed(tmp_path, family, "packed", ON, *chosen))) == []


@pytest.mark.parametrize(
    ("family", "chosen", "named"),
    [
        ("qwen3", f"{MODEL}.target_modules=[q_prj]", "would get no adapters"),
        ("qwen3", f"{MODEL}.target_modules=[norm]", "would get no adapters"),
        (
            "qwen3",
            f"{MODEL}.exclude_modules=k_proj",
            "no layer that actor_rollout_ref.model.exclude_modules=k_proj leaves",
        ),
    ],
)
def test_layers_that_are_not_there_or_not_linear_are_refused(
    family: str, chosen: str, named: str, tmp_path: Path
) -> None:
    write(tmp_path, family)
    (problem,) = architecture_problems(composed(tmp_path, family, "packed", ON, chosen))
    assert named in problem
    assert "set it to all-linear" in problem or "mend it, or leave it out" in problem


def test_it_is_pefts_own_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def noted(*given: object) -> object:
        made.append(get_peft_model(*given))
        return made[-1]

    monkeypatch.setattr("pacs.integration.checks.adapted_layers.get_peft_model", noted)
    write(tmp_path, "qwen3")
    assert list(architecture_problems(composed(tmp_path, "qwen3", "packed", ON))) == []
    [model] = made
    names = {name.rpartition(".")[2] for name, part in model.named_modules() if isinstance(part, LoraLayer)}
    assert names == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert model.peft_config["default"].r == 8
