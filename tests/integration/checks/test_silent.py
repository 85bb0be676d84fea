"""What transformers' own tiny models do without a word, in every family, and what is refused of it."""

from pathlib import Path

import pytest
import torch
from omegaconf import DictConfig
from transformers import AutoModelForCausalLM, PreTrainedModel

from pacs.integration.checks.architecture import architecture_problems
from pacs.integration.checks.silent import silent_problems
from tests.integration.preflight.families import WRONG_WITH_SDPA, has_sdpa, tiny_config, tiny_model
from tests.integration.preflight.families_case import composed
from tests.integration.preflight.families_list import FAMILIES

MODEL = "actor_rollout_ref.model"
ROWS = [torch.arange(3, 13), torch.arange(5, 29)]
#: Nats: what is wrong is wrong by more, what is right by 1e-5.
WRONG = 1e-3
#: Beside all families, which take half a minute: one of each kind.
QUICK = ("qwen3", "deepseek_v3", "gpt_oss", "afmoe", "lfm2", "bamba", "doge", "glm_moe_dsa", "seed_oss", "phimoe")
EACH = [family if family in QUICK else pytest.param(family, marks=pytest.mark.slow) for family in FAMILIES]


def run_of(family: str, attention: str, packed: bool) -> DictConfig:
    layout = "packed" if packed else "padded"
    return composed(Path("nowhere"), family, layout, attn_implementation=attention)


def said_of(family: str, attention: str, packed: bool) -> str:
    config = tiny_config(family)
    with torch.device("meta"):
        built = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    return " ".join(silent_problems(run_of(family, attention, packed), built, config))


@torch.no_grad()
def log_probs(model: PreTrainedModel, tokens: torch.Tensor, **arguments: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    return model(input_ids=tokens[None], use_cache=False, **arguments).logits[0].log_softmax(-1)


def differ(a: torch.Tensor, b: torch.Tensor) -> bool:
    return float((a - b).abs().max()) > WRONG


@pytest.mark.parametrize("family", EACH)
def test_what_a_family_does_without_a_word_is_refused_and_nothing_else(family: str) -> None:
    """Later tokens that change earlier ones, training mode, and rows that change each other when they are packed."""
    attention = "sdpa" if has_sdpa(family) else "eager"
    model = tiny_model(family, attention).eval()
    said = said_of(family, attention, packed=False)
    row = ROWS[1]
    alone = log_probs(model, row)
    assert differ(alone[:10], log_probs(model, row[:10])) == ("attends to later tokens" in said)
    random = differ(alone, log_probs(model.train(), row))
    assert random == ("has dropout" in said)
    if "attends to later tokens" not in said:
        lengths = [len(each) for each in ROWS]
        positions = {"position_ids": torch.cat([torch.arange(length) for length in lengths])[None]}
        takes = "takes no position_ids" not in (packed := said_of(family, attention, packed=True))
        parts = log_probs(model.eval(), torch.cat(ROWS), **(positions if takes else {})).split(lengths)
        leaks = any(differ(part, log_probs(model, each)) for part, each in zip(parts, ROWS, strict=True))
        assert leaks == (f"Set {MODEL}.use_remove_padding=false." in packed)


@pytest.mark.slow
def test_sdpa_is_refused_where_it_is_wrong_and_nowhere_else() -> None:
    """By the gradients in families.json, which are held against eager attention."""
    refused = [
        family
        for family in FAMILIES
        if has_sdpa(family) and "attn_implementation" in said_of(family, "sdpa", packed=False)
    ]
    assert sorted(refused) == sorted(WRONG_WITH_SDPA)


@pytest.mark.parametrize("family", ["doge", "glm_moe_dsa"])
def test_eager_attention_mends_those_that_attend_to_later_tokens(family: str) -> None:
    model = tiny_model(family, "eager").eval()
    assert not differ(log_probs(model, ROWS[1])[:10], log_probs(model, ROWS[1][:10]))
    assert said_of(family, "eager", packed=True) == ""
    assert f"Set {MODEL}.override_config.attn_implementation=eager" in said_of(family, "sdpa", packed=True)
    assert "attends to later tokens" in said_of(family, "flash_attention_2", packed=True)


def test_without_jitter_phi_moe_draws_no_experts_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    """In training it draws among those that are as good but for the jitter."""
    said = said_of("phimoe", "sdpa", packed=True)
    assert said.endswith(f"set +{MODEL}.override_config.router_jitter_noise=0.")
    monkeypatch.setitem(FAMILIES, "phimoe", FAMILIES["phimoe"]._replace(settings={"router_jitter_noise": 0.0}))
    model = tiny_model("phimoe")
    assert not differ(log_probs(model.train(), ROWS[1]), log_probs(model.eval(), ROWS[1]))
    assert said_of("phimoe", "sdpa", packed=True) == ""


@pytest.mark.parametrize("family", ["gemma2", "vaultgemma"])
def test_a_cap_on_attention_s_logits_that_sdpa_leaves_out_is_refused(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right with eager attention, and with sdpa where the cap is off."""
    small = dict(FAMILIES[family].settings) | {"attn_logit_softcapping": 0.5}
    monkeypatch.setitem(FAMILIES, family, FAMILIES[family]._replace(settings=small))
    models = {attention: tiny_model(family, attention).eval() for attention in ("eager", "sdpa")}
    eager, sdpa = (log_probs(model, ROWS[1]) for model in models.values())
    assert differ(eager, sdpa)
    said = said_of(family, "sdpa", packed=True)
    assert "caps the logits of its attention (attn_logit_softcapping=0.5)" in said
    assert said.endswith(f"Set {MODEL}.override_config.attn_implementation=eager.")
    assert said_of(family, "eager", packed=True) == ""
    monkeypatch.setitem(FAMILIES, family, FAMILIES[family]._replace(settings=small | {"attn_logit_softcapping": None}))
    assert said_of(family, "sdpa", packed=True) == ""


def test_jitter_is_named_as_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "mixtral", FAMILIES["mixtral"]._replace(settings={"router_jitter_noise": 0.1}))
    said = said_of("mixtral", "sdpa", packed=False)
    assert said.endswith(f"set +{MODEL}.override_config.router_jitter_noise=0.")


def test_flash_attention_that_would_be_another_kernel_is_refused(tmp_path: Path) -> None:
    """GPT-OSS: transformers takes vllm-flash-attn3 from the Hub, with a warning."""
    config = tiny_config("gpt_oss")
    config.architectures = ["GptOssForCausalLM"]
    config.save_pretrained(tmp_path)
    run = composed(tmp_path, "gpt_oss", "padded", attn_implementation="flash_attention_2")
    (said,) = architecture_problems(run)
    assert "transformers would fetch kernels-community/vllm-flash-attn3 from the Hub in its place" in said
    assert f"Set {MODEL}.override_config.attn_implementation=eager" in said
    assert list(architecture_problems(composed(tmp_path, "gpt_oss", "padded"))) == []
