"""What `pacs plan` predicts for a setting of `step_against_plan.py`, and the tables of both."""

import statistics
from pathlib import Path
from typing import Any

from benchmarks.table import format_table

GIB = 2**30
#: The plan's names of the phases that are measured.
PHASES = ("reference pass", "policy pass", "update")
#: Parts of the plan that lie outside what is measured: torch's allocations in the training process.
ELSEWHERE = ("vLLM", "processes", "CUDA, NCCL")


def overrides(settings: dict[str, Any], model: Path) -> list[str]:
    """The run of a setting, as `pacs train` would be told."""
    actor, policy = "actor_rollout_ref.actor", "actor_rollout_ref.model"
    tokens = settings["responses"] * (settings["prompt_tokens"] + settings["response_tokens"])
    run = [
        f"recipe={'arithmetic' if settings['device'] == 'cpu' else 'qwen3_8b'}",
        "trainer.n_gpus_per_node=1",
        "method.update.strategy=cached",
        f"data.train_batch_size={settings['prompts']}",
        f"data.max_prompt_length={settings['prompt_tokens']}",
        f"data.max_response_length={settings['response_tokens']}",
        f"actor_rollout_ref.rollout.n={settings['responses']}",
        f"{policy}.path={model}",
        f"+{policy}.load_tokenizer=false",
        f"{policy}.use_remove_padding=true",
        f"{policy}.use_fused_kernels={str(settings['head'] != 'model').lower()}",
        f"++{policy}.override_config.attn_implementation={settings['attention']}",
        f"{actor}.ppo_mini_batch_size={settings['prompts'] // 2}",
        f"{actor}.ppo_max_token_len_per_gpu={tokens}",
        # So small that the weights stay what they are, step after step.
        f"{actor}.optim.lr=1e-12",
    ]
    if settings["head"] != "model":
        run.append(f"{policy}.fused_kernel_options.impl_backend={settings['head']}")
    if settings["device"] == "cuda" or settings.get("as_on_a_gpu"):
        run.append(f"{actor}.fsdp_config.model_dtype=bf16")
    if settings.get("as_on_a_gpu"):
        # The CPU's config says float32; on GPUs the key is not there, and verl takes bf16.
        run.append(f"++{actor}.fsdp_config.mixed_precision.param_dtype=bf16")
        run.append(f"{policy}.enable_gradient_checkpointing=true")
    return run


def estimate(run: list[str], gpu: str | None, mean_response_tokens: float) -> dict[str, Any]:
    """Phase -> bytes that the training process has of torch, and seconds (none on a CPU)."""
    # verl and Hydra take seconds to import.
    from pacs.composing import compose_run
    from pacs.planning.plan import make_plan

    config, hardware = compose_run("pacs_paper", run)
    plan = make_plan(config, hardware=hardware, gpu=gpu, mean_response_tokens=mean_response_tokens)
    sizes = {
        phase.name: sum(size for part, size in phase.parts.items() if part not in ELSEWHERE)
        for phase in plan.phases
        if phase.name in PHASES
    }
    return {name: {"bytes": sizes[name], "seconds": plan.seconds.get(name)} for name in PHASES}


def table(results: list[dict[str, Any]]) -> str:
    """A line a setting and phase: medians and peaks, what was planned, and measured over planned."""
    rows = []
    for result in results:
        for phase in PHASES:
            planned = result["planned"][phase]
            name = f"{result['settings']['shape']}, {result['settings']['head']}, {phase}"
            if "error" in result:
                rows.append([name, "", _number(planned["seconds"]), "", result["error"], _gib(planned["bytes"]), ""])
                continue
            found = result["measured"]["phases"][phase]
            seconds = statistics.median(found["seconds"])
            expected = planned["seconds"]
            cells = [f"{seconds:.3f}", _number(expected), f"{seconds / expected:.2f}" if expected else ""]
            share = f"{found['peak_bytes'] / planned['bytes']:.2f}"
            rows.append([name, *cells, _gib(found["peak_bytes"]), _gib(planned["bytes"]), share])
    return format_table(["", "seconds", "planned", "ratio", "peak, GiB", "planned", "ratio"], rows)


def noise_table(results: list[dict[str, Any]]) -> str:
    """A line a setting: the log-ratio of identical weights, the same rows packed in two ways."""
    rows = [
        [
            f"{result['settings']['shape']}, {result['settings']['head']}",
            f"{noise['per_token']:.2g}",
            f"{noise['per_response_mean']:.2g}",
            f"{noise['per_response_max']:.2g}",
            f"{noise['tokens']:,.0f}",
        ]
        for result in results
        if "measured" in result
        for noise in [result["measured"]["packing_noise"]]
    ]
    header = ["identical weights packed two ways, nats", "a token", "a response", "at most", "tokens a response"]
    return format_table(header, rows)


def _gib(size: float) -> str:
    return f"{size / GIB:.2f}"


def _number(seconds: float | None) -> str:
    return f"{seconds:.3f}" if seconds else ""
