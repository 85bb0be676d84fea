"""Which models have exact shared rows: by the library's own passes over each trace in a row of its own."""

from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from pacs.composing import compose_run
from pacs.integration.checks.architecture import architecture_problems, shared_prefix_problem
from pacs.integration.checks.genac import critic_folder_problems
from pacs.integration.trainer.critic_rows import Judged, Trace, critic_rows
from pacs.integration.worker.shared_prefix import Layout, laid_out
from pacs.verl_keys.config import SHARED_PREFIX
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4, "num_attention_heads": 2,
    "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 128, "initializer_range": 0.5,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
TRUNK, TRACE = 18, 6
#: Name -> settings, and words of the refusal; None: it is exact.
MODELS: dict[str, tuple[dict[str, Any], str | None]] = {
    "qwen3": ({"model_type": "qwen3"}, None),
    "llama": ({"model_type": "llama"}, None),
    "qwen2": ({"model_type": "qwen2", "sliding_window": 8}, None),  # use_sliding_window is false
    "qwen2, windows": (
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2},
        "sliding_window",
    ),
    "mistral": ({"model_type": "mistral", "sliding_window": 8}, "8 tokens alone (sliding_window)"),
    "mistral, wide": ({"model_type": "mistral", "sliding_window": 24}, None),
    "mistral, all": ({"model_type": "mistral", "sliding_window": None}, None),
    "gemma3": ({"model_type": "gemma3_text", "sliding_window": 8}, "sliding_window"),
    "gemma3, full": ({"model_type": "gemma3_text", "sliding_window": 8, "layer_types": ["full_attention"] * 4}, None),
    "gemma2": (
        {"model_type": "gemma2", "sliding_window": 24, "attn_logit_softcapping": 0.5},
        "attn_logit_softcapping=0.5",
    ),
    "gemma2, no cap": ({"model_type": "gemma2", "sliding_window": 24, "attn_logit_softcapping": None}, None),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_a_model_whose_shared_rows_are_others_is_refused(name: str) -> None:
    """Two traces behind places of one response, in a row, and each in a row of its own by eager attention."""
    settings, words = MODELS[name]
    config = CONFIG_MAPPING[settings["model_type"]](**SIZES | settings)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").double().eval()
    trunk, traces = torch.randint(3, 64, (TRUNK,)), torch.randint(3, 64, (2, TRACE))
    starts = (5, TRUNK)

    def of(tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            logits: torch.Tensor = model(tokens[None], position_ids=positions[None], use_cache=False).logits[0]
        return torch.log_softmax(logits[-TRACE * 2 :], -1)

    own = [torch.cat([trunk[:start], trace]) for start, trace in zip(starts, traces, strict=True)]
    alone = torch.cat([of(tokens, torch.arange(len(tokens)))[-TRACE:] for tokens in own])
    places = torch.arange(TRUNK + 2 * TRACE)
    behind = [torch.arange(start, start + TRACE) for start in starts]
    layout = Layout(
        torch.zeros_like(places)[None],
        torch.tensor([0] * TRUNK + [1] * TRACE + [2] * TRACE)[None],
        places[None],
        torch.tensor([*range(1, TRUNK + 1), *[starts[0]] * TRACE, *[starts[1]] * TRACE])[None],
    )
    model.set_attn_implementation(SHARED_PREFIX)
    with laid_out(layout):
        shared = of(torch.cat([trunk, *traces]), torch.cat([torch.arange(TRUNK), *behind]))
    error = float((shared - alone).abs().max())
    assert error < 1e-4 if words is None else error > 0.1, error  # positions are rounded to float32
    run = OmegaConf.create({"trainer": {"device": "cpu"}})
    said = shared_prefix_problem(config.to_dict(), run, TRUNK + TRACE)
    assert said is None if words is None else words in str(said)


def test_layers_that_are_no_attention_are_refused() -> None:
    run = OmegaConf.create({"trainer": {"device": "cuda"}})
    found = CONFIG_MAPPING["qwen3_next"]().to_dict()
    assert "linear_attention" in str(shared_prefix_problem(found, run, 100))
    capped = CONFIG_MAPPING["gemma2"]().to_dict()
    assert shared_prefix_problem(capped, run, 100) is None  # FlexAttention caps
    assert shared_prefix_problem({"model_type": "nobody's"}, run, 100) is None


@pytest.mark.parametrize(("window", "refused"), [(8, True), (2000, False)])
def test_a_critic_is_looked_at_before_the_run(window: int, refused: bool, tmp_path: Path) -> None:
    tokenizer = build_tokenizer(2048)
    sizes = SIZES | {"vocab_size": len(tokenizer), "max_position_embeddings": 2048}
    mistral = CONFIG_MAPPING["mistral"](**sizes | {"sliding_window": window})
    AutoModelForCausalLM.from_config(mistral).save_pretrained(tmp_path / "critic")
    build_model(tokenizer, seed=0).save_pretrained(tmp_path / "policy")
    for name in ("critic", "policy"):
        tokenizer.save_pretrained(tmp_path / name)
    paths = (f"actor_rollout_ref.model.path={tmp_path}/policy", f"genac.critic.model.path={tmp_path}/critic")
    config, _ = compose_run("genac", ["recipe=arithmetic", *paths])
    problems = [problem for problem in critic_folder_problems(config) if "share a row" in problem]
    assert len(problems) == refused
    assert all(f"genac.critic.model.path={tmp_path}/critic attends to 8 tokens" in problem for problem in problems)


@pytest.mark.parametrize("original", [150, 400])
def test_a_critic_s_positions_are_held_against_its_rows(original: int, tmp_path: Path) -> None:
    """Problem and response are shorter than where dynamic RoPE stretches; with template and trace they are not."""
    tokenizer = build_tokenizer(2048)
    stretched = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}
    sizes = SIZES | {"vocab_size": len(tokenizer), "max_position_embeddings": original, "rope_parameters": stretched}
    AutoModelForCausalLM.from_config(CONFIG_MAPPING["llama"](**sizes)).save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    lengths = ("data.max_prompt_length=50", "data.max_response_length=50", "genac.template_tokens=100")
    path = f"actor_rollout_ref.model.path={tmp_path}/model"
    config, _ = compose_run("genac", ["recipe=arithmetic", path, *lengths, "genac.trace_tokens=50"])
    said = [problem for problem in critic_folder_problems(config) if "rope_type=dynamic" in problem]
    assert len(said) == (original < 250)
    assert all("rows have up to 250" in problem and "genac.trace_tokens" in problem for problem in said)
    assert not any("rope_type" in problem for problem in architecture_problems(config))


@pytest.mark.parametrize(("tail", "refused"), [("", True), ("|", False)])
def test_a_trace_stands_behind_something_of_its_own(tail: str, refused: bool, tmp_path: Path) -> None:
    """verl reads the log-probability of a trace's first token at the place before it, which else is another trace's."""
    (tmp_path / "template").write_text(f"{{problem}}|{{partial_solution}}{tail}\n", encoding="utf-8")
    config, _ = compose_run("genac", ["recipe=arithmetic", f"genac.template={tmp_path}/template"])
    said = [problem for problem in critic_folder_problems(config) if "ends with {partial_solution}" in problem]
    assert len(said) == refused
    traces = [Trace(0, [5, 6], [-1.0, -1.0], 0.5), Trace(2, [7, 8], [-1.0, -1.0], 0.5)]
    response = Judged([1, 2], [3, 4, 9], [20] if tail else [], 1.0, traces)
    (row,) = critic_rows(response, [1.0, 1.0], 100)
    tokens, branch = row.prompt + row.response, row.branch
    before = [branch[place - 1] == branch[place] for place, token in enumerate(tokens) if token in (5, 7)]
    assert before == [not refused] * 2
