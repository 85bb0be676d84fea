"""The probe in real workers: what it lets through has the gradient of autograd, what it stops has not."""

from pathlib import Path
from typing import Any

import pytest
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from pacs.doctor.trials import check_layout
from tests.integration.preflight.families import write_model
from tests.integration.preflight.families_case import composed
from tests.integration.preflight.families_list import FAMILIES, NOT_TRIED
from tests.integration.preflight.families_page import PAGE, known, render, verdict
from tests.integration.preflight.families_run import Case, run_cases, run_families

MODEL, ACTOR = "actor_rollout_ref.model", "actor_rollout_ref.actor"
BF16 = (f"{ACTOR}.fsdp_config.mixed_precision.param_dtype=bf16",)
#: Name -> the case, and what the probe names: what is wrong, and the setting that mends it; None: it lets it through.
CASES: dict[str, tuple[Case, tuple[str, ...] | None]] = {
    "qwen3 packed": (("qwen3", "packed", (), {}), None),
    "qwen3 fused": (("qwen3", "packed, fused", (), {}), None),
    "gemma2 packed": (("gemma2", "packed", (), {}), None),
    "gemma2 fused": (
        ("gemma2", "packed, fused", (), {}),
        ("Gemma2ForCausalLM (gemma2)", "fused head", f"Set {MODEL}.use_fused_kernels=false,"),
    ),
    "granite fused, padded": (("granite", "padded, fused", (), {}), (f"Set {MODEL}.use_fused_kernels=false,",)),
    "lfm2 padded": (("lfm2", "padded", (), {}), None),
    "lfm2 packed": (
        ("lfm2", "packed", (), {}),
        ("Lfm2ForCausalLM (lfm2)", "packed", f"Set {MODEL}.use_remove_padding=false,"),
    ),
    "granitemoehybrid packed, fused": (
        ("granitemoehybrid", "packed, fused", (), {}),
        (f"Set {MODEL}.use_remove_padding=false and {MODEL}.use_fused_kernels=false,",),
    ),
    "attention that does not heed where a sequence begins": (
        ("afmoe", "packed", (), {}),
        ("AfmoeForCausalLM (afmoe)", f"Set {MODEL}.use_remove_padding=false,"),
    ),
    "16 bits": (("qwen3", "packed, fused", BF16, {}), None),
    "lfm2 packed, 16 bits": (("lfm2", "packed", BF16, {}), (f"Set {MODEL}.use_remove_padding=false,",)),
    "dropout": (("qwen3", "padded", (), {"attention_dropout": 0.2}), ("in training mode",)),
    "two rows a micro-batch": (
        (
            "lfm2",
            "packed",
            (
                f"{ACTOR}.use_dynamic_bsz=false",
                f"{ACTOR}.ppo_micro_batch_size_per_gpu=8",
            ),
            {},
        ),
        (f"Set {MODEL}.use_remove_padding=false,",),
    ),
    "key and value heads by the run's settings": (("gpt_neox", "packed", (), {"num_key_value_heads": 2}), None),
    "layers sharded as the refusal says": (
        (
            "aria_text",
            "packed, fused",
            (f"+{ACTOR}.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap=[AriaTextDecoderLayer]",),
            {},
        ),
        None,
    ),
    "layers sharded as the refusal says, weights of several layers": (
        (
            "zamba2",
            "padded",
            (f"+{ACTOR}.fsdp_config.wrap_policy.transformer_layer_cls_to_wrap=[Zamba2MambaDecoderLayer]",),
            {},
        ),
        None,
    ),
    "shared without flash attention": (
        ("qwen3", "packed", (f"{ACTOR}.ulysses_sequence_parallel_size=2",), {}),
        (f"Set {ACTOR}.ulysses_sequence_parallel_size=1,",),
    ),
}


#: The others are for --all: what they show, one of these shows in another family or layout.
FIRST_TRIED = set(CASES) - {
    "gemma2 packed",
    "lfm2 padded",
    "lfm2 packed, 16 bits",
    "layers sharded as the refusal says, weights of several layers",
}
TRIED = [name if name in FIRST_TRIED else pytest.param(name, marks=pytest.mark.long) for name in CASES]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    specs = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    asked = {spec.params.get("name") for spec in specs if spec is not None} or FIRST_TRIED
    cases = {name: case for name, (case, _) in CASES.items() if name in asked}
    return run_cases(tmp_path_factory.mktemp("probe"), cases, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_the_probe_stops_what_would_train_wrongly(name: str, results: dict) -> None:
    """On two ranks, at a temperature of 0.7."""
    found, expected = results[name], CASES[name][1]
    assert "fails" not in found, found
    if expected is None:
        assert found["probe"] is None
        assert found.get("error", 0.0) < 1e-5
    else:
        assert [words for words in expected if words not in found["probe"]] == []
        assert found.get("error", 1.0) > 1e-3


@pytest.mark.slow
def test_the_probe_leaves_no_trace(results: dict) -> None:
    """Weights, gradients, optimizer, random numbers, mode of the model."""
    assert {name: found["undisturbed"] for name, found in results.items()} == dict.fromkeys(results, True)
    assert results


@pytest.mark.slow
@pytest.mark.long
def test_the_doctor_tries_the_layout_on_the_run_s_ranks(tmp_path: Path) -> None:
    path = write_model("afmoe", tmp_path)
    (finding,) = check_layout(composed(path, "afmoe", "packed", "trainer.n_gpus_per_node=2"))
    assert finding.state == "fail"
    assert finding.found.startswith("AfmoeForCausalLM (afmoe), sequences packed")
    assert finding.mend.startswith(f"set {MODEL}.use_remove_padding=false")
    findings = list(check_layout(composed(path, "afmoe", "padded")))
    assert [finding.state for finding in findings] == ["ok", "ok"], findings
    assert "nats a token" in findings[1].found


def test_every_family_of_the_library_has_a_row_or_a_reason() -> None:
    named = [*FAMILIES, *(family for families in NOT_TRIED.values() for family in families)]
    assert sorted(named) == sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    assert list(known()) == list(FAMILIES)


def test_the_page_has_what_was_measured() -> None:
    assert render() in PAGE.read_text(encoding="utf-8"), "run `python -m tests.integration.preflight.families_page`"


def let_through(found: dict[str, Any]) -> list[float]:
    """The gradients' errors where neither the checks nor the probe refuse a layout, as a share of what rounding may do.

    Gemma 3n cuts its activations at a quantile: rounding moves some across (in float64 it is a tenth).
    """
    return [
        error / (1e-4 if family == "gemma3n_text" else 1e-5)
        for family, layouts in found.items()
        for layout, how in verdict(layouts).items()
        if how == "trains"
        for error in layouts[layout]["errors"].values()
    ]


def test_what_is_let_through_had_autograd_s_gradient() -> None:
    """With and without the worker, as it was measured."""
    errors = let_through(known())
    assert len(errors) > 200
    assert max(errors) < 1


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(10800)
def test_every_family_is_as_the_page_says(tmp_path: Path) -> None:
    found = run_families(tmp_path, list(FAMILIES))
    assert {family: verdict(layouts) for family, layouts in found.items()} == {
        family: verdict(layouts) for family, layouts in known().items()
    }
    assert max(let_through(found)) < 1
