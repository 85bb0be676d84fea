"""What a model's config.json says that verl's engine would not heed, or fail at in the worker: refused at once."""

import json
import re
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForCausalLM, PreTrainedConfig
from verl.models.transformers import monkey_patch, qwen3_5
from verl.utils.experimental import torch_functional

from pacs import cli
from pacs.composing import compose_run
from pacs.integration.checks.architecture import architecture_problems
from pacs.integration.checks.fused_head import fused_head_problem
from pacs.integration.checks.run import ConfigError, check_model
from pacs.integration.checks.silent import PACKED_BY_VERL
from tests.integration.preflight.families import tiny_config
from tests.integration.preflight.families_case import composed

MODEL = "actor_rollout_ref.model"
PACKED, FUSED = f"Set {MODEL}.use_remove_padding=false", f"Set {MODEL}.use_fused_kernels=false."


def write(folder: Path, family: str, **changes: Any) -> Path:
    """The config.json of a tiny model, as it is saved with its weights."""
    config = tiny_config(family)
    settings = {**config.to_dict(), "architectures": [AutoModelForCausalLM._model_mapping[type(config)].__name__]}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**settings, **changes}))
    return folder


def problems(
    folder: Path, family: str, layout: str = "packed, fused", overrides: Sequence[str] = (), **settings: Any
) -> list[str]:
    return list(architecture_problems(composed(folder, family, layout, *overrides, **settings)))


@pytest.mark.parametrize(
    "family", ["qwen2", "qwen3", "qwen3_moe", "llama", "mistral", "gemma3_text", "phi3", "olmo2", "cwm"]
)
def test_families_without_such_parts_are_let_through(family: str, tmp_path: Path) -> None:
    assert problems(write(tmp_path, family), family) == []


@pytest.mark.parametrize(
    ("family", "changes", "named"),
    [
        ("gemma2", {}, "final_logit_softcapping=30.0"),
        ("granite", {}, "logits_scaling=8.0"),
        ("granitemoe", {}, "logits_scaling=6.0"),
        ("cohere", {}, "logit_scale=0.0625"),
        ("cohere2", {}, "logit_scale=0.0625"),
        ("phi", {}, "a bias of lm_head"),
        ("nanochat", {}, "final_logit_softcapping=15.0"),
        ("gemma3_text", {"final_logit_softcapping": 20.0}, "final_logit_softcapping=20.0"),
    ],
)
def test_a_head_that_does_more_than_multiply_is_not_fused(
    family: str, changes: dict[str, Any], named: str, tmp_path: Path
) -> None:
    write(tmp_path, family, **changes)
    (problem,) = problems(tmp_path, family)
    assert named in problem
    assert problem.endswith(FUSED)
    assert f"{MODEL}.path={tmp_path}" in problem
    assert problems(tmp_path, family, "packed") == []


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("gemma2", {"final_logit_softcapping": None}),
        ("granite", {"logits_scaling": 1.0}),
        ("cohere", {"logit_scale": 1.0}),
    ],
)
def test_a_scale_of_one_and_no_cap_are_let_through(family: str, changes: dict[str, Any], tmp_path: Path) -> None:
    """What counts is the number that comes out, not a family's name."""
    assert problems(write(tmp_path, family, **changes), family) == []


def test_an_override_of_the_run_counts(tmp_path: Path) -> None:
    write(tmp_path, "gemma2")
    assert problems(tmp_path, "gemma2", final_logit_softcapping=None) == []


@pytest.mark.parametrize(
    ("family", "carrier"),
    [
        ("qwen3_next", "linear_attention"),
        ("qwen3_5_text", "linear_attention"),
        ("lfm2", "conv"),
        ("mamba2", "Conv1d"),
        ("falcon_h1", "Conv1d"),
        ("bamba", "Conv1d"),
        ("jamba", "Conv1d"),
        ("recurrent_gemma", "Conv1d"),
        ("minimax", "linear_attention"),
        ("granitemoehybrid", "mamba"),
    ],
)
def test_layers_that_carry_numbers_along_are_not_packed(family: str, carrier: str, tmp_path: Path) -> None:
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1} if family == "mamba2" else {}
    write(tmp_path, family)
    (problem,) = problems(tmp_path, family, "packed", **heads)
    assert carrier in problem
    assert PACKED in problem
    assert problems(tmp_path, family, "padded", **heads) == []


def test_what_takes_no_positions_is_not_packed(tmp_path: Path) -> None:
    write(tmp_path, "bloom")
    (problem,) = problems(tmp_path, "bloom", "packed", num_key_value_heads=2)
    assert "takes no position_ids" in problem
    assert problems(tmp_path, "bloom", "padded", num_key_value_heads=2) == []


def test_the_layers_that_verl_packs_itself_are_still_those() -> None:
    assert {"cu_seqlens", "cu_seqlens_cpu"} <= signature(qwen3_5.forward_with_normal_backend).parameters.keys()
    assert f"in {list(PACKED_BY_VERL)}:".replace("'", '"') in Path(monkey_patch.__file__).read_text()


@pytest.mark.parametrize("family", ["gpt_neox", "bloom", "opt"])
def test_a_config_without_key_value_heads_is_refused_by_the_model_s_name(family: str, tmp_path: Path) -> None:
    """Today's worker says `no attribute 'num_key_value_heads'`."""
    write(tmp_path, family)
    (problem,) = problems(tmp_path, family, "padded")
    name = AutoModelForCausalLM._model_mapping[type(tiny_config(family))].__name__
    assert f"is of the architecture {name}, whose config has no num_key_value_heads" in problem
    assert f"set +{MODEL}.override_config.num_key_value_heads=2" in problem


def test_a_model_that_verl_would_load_without_its_head_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "gpt2")
    (problem,) = problems(tmp_path, "gpt2", "padded")
    assert "is of the architecture GPT2LMHeadModel: verl gives a language-model head to" in problem


SHARED = ["trainer.n_gpus_per_node=4", "actor_rollout_ref.actor.ulysses_sequence_parallel_size=4"]


@pytest.mark.parametrize(
    ("family", "changes", "settings", "complaint"),
    [
        ("qwen3", {"architectures": []}, {}, "verl needs just one"),
        ("qwen3", {"model_type": "unheard_of"}, {}, "unknown to the installed transformers"),
        ("qwen3", {"num_attention_heads": "two"}, {}, "transformers refuses its config.json"),
        ("qwen3", {"attention_dropout": 0.1}, {}, f"set +{MODEL}.override_config.attention_dropout=0."),
        ("starcoder2", {"residual_dropout": 0.1}, {}, f"set +{MODEL}.override_config.residual_dropout=0."),
        ("bloom", {"num_key_value_heads": 2}, {"attn_implementation": "sdpa"}, "has no sdpa: set"),
    ],
    ids=["architectures", "model type", "config", "dropout", "other dropout", "attention"],
)
def test_what_the_engine_asks_of_a_model(
    family: str, changes: dict[str, Any], settings: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    write(tmp_path, family, **changes)
    (problem,) = problems(tmp_path, family, "padded", **settings)
    assert complaint in problem


@pytest.mark.parametrize(
    ("family", "layers"),
    [("aria_text", "AriaTextDecoderLayer"), ("zamba", "ZambaMambaDecoderLayer"), ("zamba2", "Zamba2MambaDecoderLayer")],
)
def test_layers_within_layers_are_sharded_by_one_class(family: str, layers: str, tmp_path: Path) -> None:
    """Seen in the worker: torch's fully_shard refuses them, or multiplies a shard by a whole tensor.

    That a worker takes the mend is `tests/integration/preflight/test_preflight.py`'s.
    """
    key = "actor_rollout_ref.actor.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap"
    write(tmp_path, family)
    (problem,) = problems(tmp_path, family, "padded")
    assert problem.endswith(f": set +{key}=[{layers}], and the same for actor_rollout_ref.ref.")
    assert problems(tmp_path, family, "padded", [f"+{key}=[{layers}]"]) == []
    assert problems(tmp_path, family, "padded", [f"+{key}={layers}"]) == []


def test_ranks_can_share_a_sequence_by_heads_and_flash_attention_alone(tmp_path: Path) -> None:
    write(tmp_path, "qwen3", num_attention_heads=4)
    (problem,) = problems(tmp_path, "qwen3", "packed", SHARED)
    assert "each rank would attend to its own part alone" in problem
    assert problems(tmp_path, "qwen3", "packed", SHARED, attn_implementation="flash_attention_2") == []
    write(tmp_path, "qwen3")
    (problem,) = problems(tmp_path, "qwen3", "packed", SHARED)
    assert "has 2 attention heads and 1 of keys and values, which 4 ranks" in problem


def test_a_weight_that_no_bucket_holds_is_refused_on_a_cpu(tmp_path: Path) -> None:
    """Seen: verl's transfer asserts it, once vLLM is up."""
    bucket = "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes"
    write(tmp_path, "qwen3", vocab_size=2**21)
    (problem,) = problems(tmp_path, "qwen3", "padded")
    asked = re.search(r"set it to (\d+)", problem)
    assert asked is not None
    assert problems(tmp_path, "qwen3", "padded", [f"{bucket}={asked[1]}"]) == []
    assert problems(tmp_path, "qwen3", "padded", [f"{bucket}={int(asked[1]) - 1}"]) != []


@pytest.mark.parametrize("setting", ["method.token_weight.name=era", "method.metrics.effective_rank_every=10"])
def test_effective_ranks_need_a_final_norm_of_a_known_name(setting: str, tmp_path: Path) -> None:
    """HRM's two halves have one each: the worker would say so, minutes after the start."""
    write(tmp_path, "hrm_text")
    (problem,) = problems(tmp_path, "hrm_text", "padded", [setting], num_key_value_heads=2)
    assert problem.startswith(f"{MODEL}.path={tmp_path} (HrmTextForCausalLM) is refused: effective ranks need")
    assert "leave method.metrics.effective_rank_every out with this model" in problem
    assert problems(tmp_path, "hrm_text", "padded", num_key_value_heads=2) == []
    assert problems(write(tmp_path / "lfm2", "lfm2"), "lfm2", "padded", [setting]) == []


def test_code_of_a_model_s_own_is_not_executed(tmp_path: Path) -> None:
    """The probe in the worker looks at it."""
    write(tmp_path, "gemma2", auto_map={"AutoModelForCausalLM": "modeling.Own", "AutoConfig": "modeling.OwnConfig"})
    (tmp_path / "modeling.py").write_text("raise SystemExit('executed')")
    assert problems(tmp_path, "gemma2", overrides=[f"{MODEL}.trust_remote_code=true"]) == []
    # Not trusted, it is the library's own, whose fused head is wrong.
    assert len(problems(tmp_path, "gemma2")) == 1


def test_a_dry_run_refuses_too(tmp_path: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "gemma2")
    arguments = [*inputs, f"{MODEL}.path={tmp_path}", f"{MODEL}.use_fused_kernels=true"]
    assert cli.main(["train", "--dry-run", *arguments]) == 2
    assert "final_logit_softcapping=30.0" in capsys.readouterr().err


def test_the_shipped_recipes_are_let_through(tmp_path: Path) -> None:
    """Fused and packed, for 8 GPUs: Qwen3-8B as it is published, less the size."""
    write(tmp_path, "qwen3", bos_token_id=151643, eos_token_id=151645, vocab_size=151936)
    check_model(compose_run("pacs", ["recipe=qwen3_8b", f"{MODEL}.path={tmp_path}"])[0])
    write(tmp_path, "granite")
    granite = compose_run("grpo", ["recipe=qwen3_8b", f"{MODEL}.path={tmp_path}"])[0]
    with pytest.raises(ConfigError, match="logits_scaling"):
        check_model(granite)


def test_the_check_leaves_the_class_as_it_was() -> None:
    """verl's patch of a model's class would stay for the whole process."""
    model_class = AutoModelForCausalLM._model_mapping[type(tiny_config("gemma2"))]
    before = model_class.forward
    config: PreTrainedConfig = tiny_config("gemma2")
    assert fused_head_problem(model_class, config) is not None
    assert model_class.forward is before
    assert config.vocab_size == tiny_config("gemma2").vocab_size


def test_the_fused_head_is_examined_where_flash_attn_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """verl's head has flash-attn's Triton kernel then, which cannot read a tensor on the CPU."""

    def on_cpu(*_: Any) -> None:
        raise ValueError("Pointer argument (at 0) cannot be accessed from Triton (cpu tensor?)")

    monkeypatch.setattr(torch_functional, "_FLASH_ATTN_CROSS_ENTROPY_AVAILABLE", True)
    monkeypatch.setattr(torch_functional, "cross_entropy_loss", on_cpu, raising=False)
    config = tiny_config("qwen3")
    assert fused_head_problem(AutoModelForCausalLM._model_mapping[type(config)], config) is None
