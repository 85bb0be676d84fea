"""What the reference schedule does to PACS: a sweep over K, Adam's state, updates a step and clip, in plain torch.

    python benchmarks/reference_schedule.py --reset-every 1 5 20 50 never --optimizer keep reset \
        --updates-per-step 1 2 4 --seeds 0 1 2 --out outputs/reference_schedule.json

Trains the arithmetic recipe's model once for each combination, from the same start and on the same prompts, with the
project's own loss but without verl, Ray and vLLM: a run of 40 steps takes about a minute on one core. Prints
a line a step, and at the end a table of what each setting reached on the held-out problems. Results are written
after each run; a sweep that is started again goes on where it stopped.
"""

import argparse
import copy
import itertools
import json
import random
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

sys.path.insert(0, str(Path(__file__).parents[1]))  # the recipes are beside the package, not in it

from pacs.algorithm import Pacs, method_loss
from recipes.arithmetic.make import make
from recipes.arithmetic.measure import (
    Prompts,
    Responses,
    generate,
    grade,
    measure_model,
    read_prompts,
    response_logits,
)


@dataclass(frozen=True)
class Setting:
    """One run."""

    reset_every: int | None
    optimizer: str
    updates_per_step: int
    lr: float
    lr_warmup_updates: int
    beta: float
    steps: int
    prompts: int
    responses: int
    clip: float
    seed: int

    @property
    def name(self) -> str:
        """The swept settings, for people."""
        return (
            f"K={self.reset_every or 'never'}, Adam {self.optimizer}, {self.updates_per_step} updates a step, "
            f"lr {self.lr:g}, beta {self.beta:g}, clip {self.clip:g}"
        )


def train(setting: Setting, start: Path) -> dict[str, Any]:
    """Train from the recipe folder `start`; returns the setting, its curve and its final measurement."""
    tokenizer = AutoTokenizer.from_pretrained(start / "model", padding_side="left")
    policy = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32)
    reference = copy.deepcopy(policy).eval()
    problems, held_out = read_prompts(start / "train.parquet"), read_prompts(start / "test.parquet")
    order = random.Random(setting.seed)
    config = Pacs(beta=setting.beta)
    optimizer, updates = _adam(policy, setting), 0
    torch.manual_seed(setting.seed)

    curve = []
    started = time.monotonic()
    for step in range(1, setting.steps + 1):
        chosen = order.sample(range(len(problems.answers)), setting.prompts)
        batch = Prompts([problems.messages[i] for i in chosen], [problems.answers[i] for i in chosen])
        rollouts = generate(policy, tokenizer, batch.messages, samples=setting.responses)
        labels = grade(rollouts, batch.answers).flatten()
        groups = torch.arange(setting.prompts).repeat_interleave(setting.responses)
        rows: dict[str, list[float]] = {"loss": [], "gradient_norm": []}
        for mini_batch in torch.arange(len(labels)).chunk(setting.updates_per_step):
            part = _rows(rollouts, mini_batch)
            with torch.no_grad():
                ref_log_probs = _log_probs(reference, part)
            loss, _ = method_loss(
                _log_probs(policy, part),
                ref_log_probs,
                part.response_mask,
                labels[mini_batch],
                groups[mini_batch],
                config,
            )
            optimizer.zero_grad()
            loss.backward()
            rows["loss"].append(loss.item())
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), setting.clip)
            rows["gradient_norm"].append(norm.item())
            updates += 1
            for group in optimizer.param_groups:
                group["lr"] = setting.lr * min(1.0, updates / max(1, setting.lr_warmup_updates))
            optimizer.step()
        if setting.reset_every and step % setting.reset_every == 0:
            reference.load_state_dict(policy.state_dict())
            if setting.optimizer == "reset":
                optimizer, updates = _adam(policy, setting), 0
        point = {"step": step, "reward": labels.mean().item()}
        point |= {name: statistics.mean(values) for name, values in rows.items()}
        curve.append(point)
        print(
            f"  {step}/{setting.steps}: reward {point['reward']:.3f}, loss {point['loss']:.3f}, gradient norm "
            f"{point['gradient_norm']:.2f}, {time.monotonic() - started:.0f} s",
            flush=True,
        )
    before = json.loads((start / "before.json").read_text())
    after = measure_model(policy, tokenizer, held_out, seed=setting.seed)
    return {"setting": asdict(setting), "before": before, "after": after, "curve": curve}


def _adam(policy: PreTrainedModel, setting: Setting) -> torch.optim.AdamW:
    return torch.optim.AdamW(policy.parameters(), lr=setting.lr, weight_decay=0.0)


def _rows(responses: Responses, rows: torch.Tensor) -> Responses:
    return Responses(
        ids=responses.ids[rows],
        attention_mask=responses.attention_mask[rows],
        response_mask=responses.response_mask[rows],
        texts=[responses.texts[i] for i in rows.tolist()],
    )


def _log_probs(model: PreTrainedModel, responses: Responses) -> torch.Tensor:
    """(B, T) log-probabilities of the response tokens."""
    logits = response_logits(model, responses)
    tokens = responses.ids[:, -responses.response_mask.shape[1] :]
    return logits.log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def table(results: list[dict[str, Any]]) -> str:
    """Markdown, a row a setting: means over the seeds, and the lowest greedy accuracy of a seed.

    The last column is the mean training reward over all steps: how fast it learned.
    """
    names = ("greedy", "pass@1", "pass@8", "entropy", "response_length_tokens")
    lines = [
        "| setting | seeds | " + " | ".join(names) + " | lowest greedy | mean reward |",
        "|---|---|" + "---|" * (len(names) + 2),
    ]
    starts = {result["setting"]["seed"]: result["before"] for result in results}
    by_setting: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        by_setting.setdefault(Setting(**result["setting"]).name, []).append(result)

    def line(name: str, measured: list[dict[str, float]], mean_reward: str) -> str:
        means = " | ".join(f"{statistics.mean(numbers[n] for numbers in measured):.3f}" for n in names)
        lowest = min(numbers["greedy"] for numbers in measured)
        return f"| {name} | {len(measured)} | {means} | {lowest:.3f} | {mean_reward} |"

    lines.append(line("(the start)", list(starts.values()), ""))
    for name, group in by_setting.items():
        mean_reward = statistics.mean(point["reward"] for result in group for point in result["curve"])
        lines.append(line(name, [result["after"] for result in group], f"{mean_reward:.3f}"))
    return "\n".join(lines)


def _every(text: str) -> int | None:
    return None if text == "never" else int(text)


def main() -> None:
    """Run the sweep of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    several = {"nargs": "+", "metavar": "X"}
    parser.add_argument("--reset-every", type=_every, default=[20], help="K in steps, or never", **several)
    parser.add_argument(
        "--optimizer", choices=["keep", "reset"], default=["keep"], nargs="+", help="Adam's state at a reset"
    )
    parser.add_argument("--updates-per-step", type=int, default=[1], help="mini-batches a step", **several)
    parser.add_argument("--lr", type=float, default=[1e-4], **several)
    parser.add_argument("--beta", type=float, default=[1.0], **several)
    parser.add_argument("--seeds", type=int, default=[0], **several)
    parser.add_argument("--lr-warmup-updates", type=int, default=0, help="after the start and each reset of Adam")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--prompts", type=int, default=64, help="a step (default: 64)")
    parser.add_argument("--responses", type=int, default=8, help="a prompt (default: 8)")
    parser.add_argument("--clip", type=float, default=[1.0], help="gradient norm; inf never clips", **several)
    parser.add_argument("--work", type=Path, default=Path("outputs/reference_schedule"), help="for the starts")
    parser.add_argument("--out", type=Path, default=Path("outputs/reference_schedule.json"))
    a = parser.parse_args()
    if any(a.prompts % updates for updates in a.updates_per_step):
        parser.error(f"--updates-per-step must divide --prompts {a.prompts} into whole groups")

    results = json.loads(a.out.read_text()) if a.out.exists() else []
    done = [result["setting"] for result in results]
    combinations = itertools.product(
        a.clip, a.lr, a.beta, a.updates_per_step, a.optimizer, a.reset_every, sorted(a.seeds)
    )
    settings = [
        Setting(every, optimizer, updates, lr, a.lr_warmup_updates, beta, a.steps, a.prompts, a.responses, clip, seed)
        for clip, lr, beta, updates, optimizer, every, seed in combinations
        # Never reset, Adam's state has no reset to survive: one run stands for both.
        if every is not None or optimizer == a.optimizer[0]
    ]
    for i, setting in enumerate(settings, 1):
        if asdict(setting) in done:
            continue
        print(f"run {i}/{len(settings)}: {setting.name}, seed {setting.seed}", flush=True)
        start = a.work / f"seed{setting.seed}"
        make(start, setting.seed)
        results.append(train(setting, start))
        a.out.parent.mkdir(parents=True, exist_ok=True)
        a.out.write_text(json.dumps(results, indent=1) + "\n")
        print("  reached: " + ", ".join(f"{n} {v:.3f}" for n, v in results[-1]["after"].items()), flush=True)
    print(table([result for result in results if result["setting"] in [asdict(s) for s in settings]]))


if __name__ == "__main__":
    main()
