"""PACS on one page, in plain torch: sample, grade, score, update, reset. No Ray, no vLLM, no verl. Start reading here.

    python recipes/minimal.py

A Qwen3 of 0.4 million parameters makes careless mistakes in two-digit addition and subtraction, and learns from labels
of 0 and 1 alone to leave them. The command makes the model and its problems first (into outputs/minimal, once a seed;
nothing is downloaded), trains, prints a line a step, and measures the model before and after on problems held out.

Below, top to bottom: the settings, the probability of a response, one update, the training loop, the command. The
equations are in pacs/algorithm, which a run of `pacs train` calls as well: there vLLM samples and FSDP2 holds the
weights, and the same responses give the same update (tests/recipes/test_minimal.py).
"""

import argparse
import copy
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

sys.path.insert(0, str(Path(__file__).parents[1]))  # the recipes are beside the package, not in it

from pacs.algorithm import Pacs, method_loss
from pacs.base.arguments import positive, positive_number, whole_seed
from pacs.base.errors import UserError
from recipes.arithmetic.make import make
from recipes.arithmetic.measure import Prompts, Responses, generate, grade, measure_model, read_prompts, response_logits
from recipes.arithmetic.problems import split_problems


@dataclass(frozen=True)
class Settings:
    """What decides a run: the same settings give the same numbers."""

    steps: int = 20  # each samples new responses
    prompts: int = 16  # a step
    responses: int = 8  # G of each prompt: a group
    updates_per_step: int = 2  # mini-batches of whole groups that a step is cut into; divides prompts
    reset_every: int | None = 5  # K, the steps from one reset of the reference to the next; None: never
    reset_optimizer: bool = True  # whether Adam forgets its moments at a reset
    beta: float = 1.0  # of the log-probability ratio, Eq. 7
    lr: float = 1e-4  # Adam's learning rate
    lr_warmup_updates: int = 0  # of a new Adam, over which its learning rate rises to lr; 0: it starts there
    clip_grad: float = 10.0  # the gradient's largest norm; a larger gradient is scaled down to it
    seed: int = 0  # of the start, of each step's prompts and of the responses


def log_probs(model: PreTrainedModel, responses: Responses) -> torch.Tensor:
    """log pi(o_it), the log-probability of each response token given all before it: (B, T) float32.

    Responses are sampled at a temperature of 1, so the logits are taken as they are.
    """
    tokens = responses.ids[:, -responses.response_mask.shape[1] :]
    return response_logits(model, responses).log_softmax(-1).gather(-1, tokens.unsqueeze(-1)).squeeze(-1)


def update(
    policy: PreTrainedModel,
    reference: PreTrainedModel,
    optimizer: torch.optim.Optimizer,
    responses: Responses,
    labels: torch.Tensor,
    groups: torch.Tensor,
    settings: Settings,
) -> tuple[float, float]:
    """One update of the policy, in place, from B graded responses in whole groups.

    Args:
        policy: pi_theta, trained.
        reference: pi_ref, left as it is.
        optimizer: of the policy.
        responses: B responses, P tokens of prompt and T of response.
        labels: (B,) R_i, 1 where the verifier accepts the response, else 0.
        groups: (B,) int64, the same number for the responses to one prompt.
        settings: those of one update are `beta` and `clip_grad`.

    Returns:
        The loss L of Eq. 8, and the gradient's norm before it is clipped.

    Raises:
        ValueError: log-probabilities that are not finite, or labels other than 0 and 1.
    """
    with torch.no_grad():
        reference_log_probs = log_probs(reference, responses)
    # A response's reward proxy is how much likelier it has become, and its score that reward against its group:
    #     r_i   = beta * sum_t m_it * (log pi_theta(o_it) - log pi_ref(o_it))        Eq. 7
    #     psi_i = r_i - (1/(G-1)) * sum_{j != i} r_j                                 Eq. 6
    # The loss is that of a classifier that has psi_i as its logit and R_i as its label, both classes weighing the same:
    #     L     = (1/B) * sum_i w_i * BCE(sigmoid(psi_i), R_i)                       Eq. 8
    method, own_log_probs = Pacs(beta=settings.beta), log_probs(policy, responses)
    loss, _ = method_loss(own_log_probs, reference_log_probs, responses.response_mask, labels, groups, method)
    optimizer.zero_grad()
    loss.backward()  # through the scores of the whole group, into the policy: there is no other network
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), settings.clip_grad)
    optimizer.step()
    return loss.item(), norm.item()


def new_optimizer(policy: PreTrainedModel, settings: Settings) -> tuple[torch.optim.Optimizer, LambdaLR]:
    """Adam without moments, and the learning rate's warm-up, which begins with it."""
    optimizer = torch.optim.AdamW(policy.parameters(), lr=settings.lr, weight_decay=0.0)
    return optimizer, LambdaLR(optimizer, lambda done: min(1.0, (done + 1) / max(1, settings.lr_warmup_updates)))


def rows_of(responses: Responses, rows: torch.Tensor) -> Responses:
    """The responses of (B',) int64 `rows`."""
    masks = responses.attention_mask[rows], responses.response_mask[rows]
    return Responses(responses.ids[rows], *masks, [responses.texts[row] for row in rows])


def train(
    policy: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, problems: Prompts, settings: Settings
) -> list[dict[str, float]]:
    """Train the policy in place; prints a line a step.

    Args:
        policy: the start, which is the first reference, too.
        tokenizer: the policy's, padding on the left.
        problems: to draw each step's prompts from; at least `settings.prompts`.
        settings: see there.

    Returns:
        The curve, a point a step: `step`; `reward`, the share of the step's responses that are right; and the means of
        its updates' `loss` and `gradient_norm`.
    """
    reference = copy.deepcopy(policy)
    optimizer, schedule = new_optimizer(policy, settings)
    groups = torch.arange(settings.prompts).repeat_interleave(settings.responses)
    order = random.Random(settings.seed)
    torch.manual_seed(settings.seed)
    started = time.monotonic()
    curve = []
    for step in range(1, settings.steps + 1):
        # Sample: a group of responses to each of a few prompts.
        chosen = order.sample(range(len(problems.answers)), settings.prompts)
        messages = [problems.messages[i] for i in chosen]
        responses = generate(policy, tokenizer, messages, samples=settings.responses)

        # Grade: the verifier compares what stands in the last \boxed{} with the right answer.
        labels = grade(responses, [problems.answers[i] for i in chosen]).flatten()

        # Score and update, a mini-batch of whole groups at a time. From the second on, the responses are not quite the
        # policy's own any more. PACS corrects nothing for it: scores are calculated anew, and labels stay true.
        losses, norms = [], []
        for rows in torch.arange(len(labels)).chunk(settings.updates_per_step):
            part = rows_of(responses, rows)
            loss, norm = update(policy, reference, optimizer, part, labels[rows], groups[rows], settings)
            schedule.step()
            losses.append(loss)
            norms.append(norm)

        # Reset: the reference becomes the policy. All scores are 0 again, and the loss is log 2.
        if settings.reset_every and step % settings.reset_every == 0:
            reference.load_state_dict(policy.state_dict())
            if settings.reset_optimizer:
                optimizer, schedule = new_optimizer(policy, settings)

        point = {"step": step, "reward": labels.mean().item()}
        point |= {"loss": statistics.mean(losses), "gradient_norm": statistics.mean(norms)}
        curve.append(point)
        numbers = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in point.items() if name != "step")
        print(f"step {step}/{settings.steps}: {numbers}, {time.monotonic() - started:.0f} s", flush=True)
    return curve


def run(settings: Settings, start: Path) -> dict[str, Any]:
    """Make the start in the folder `start`, or reuse it, and train from it.

    Returns:
        `before` and `after`, what `recipes.arithmetic.measure` says of held-out problems, and the `curve` of `train`.
    """
    before = make(start, settings.seed)
    tokenizer = AutoTokenizer.from_pretrained(start / "model", padding_side="left")
    policy = AutoModelForCausalLM.from_pretrained(start / "model", dtype=torch.float32)
    curve = train(policy, tokenizer, read_prompts(start / "train.parquet"), settings)
    after = measure_model(policy, tokenizer, read_prompts(start / "test.parquet"), seed=settings.seed)
    return {"before": before, "after": after, "curve": curve}


def count_or_never(text: str) -> int | None:
    """An argparse type: a whole number of at least 1, or None for `never`."""
    try:
        return None if text == "never" else positive(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}, or never") from None


def parse() -> Settings:
    """The command line's settings; ends the process where one is refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(option: str, kind: Callable[[str], Any], about: str) -> None:
        default = getattr(Settings(), option[2:].replace("-", "_"))
        parser.add_argument(option, type=kind, default=default, metavar="X", help=f"{about} (default: {default:g})")

    add("--steps", positive, "steps, each with new responses")
    add("--prompts", positive, "prompts a step")
    add("--responses", positive, "responses to a prompt, at least 2: they are compared with each other")
    add("--updates-per-step", positive, "updates that a step's prompts are shared out among")
    add("--reset-every", count_or_never, "steps from one reset of the reference to the next, or never")
    add("--beta", positive_number, "factor of the log-probability ratio")
    add("--lr", positive_number, "Adam's learning rate")
    add("--seed", whole_seed, "of the start, of each step's prompts and of the responses")
    settings = Settings(**vars(parser.parse_args()))
    if settings.responses < 2:
        parser.error(f"--responses {settings.responses} has nothing to be compared with: give 2 or more")
    if settings.prompts % settings.updates_per_step:
        parser.error(f"--updates-per-step {settings.updates_per_step} does not divide --prompts {settings.prompts}")
    problems = len(split_problems(settings.seed).train)
    if settings.prompts > problems:
        parser.error(f"--prompts {settings.prompts} is more than the {problems} training problems")
    return settings


def main() -> None:
    """Train with the command line's settings, and print what it came to."""
    settings = parse()
    try:
        result = run(settings, Path(f"outputs/minimal/seed{settings.seed}"))
    except UserError as error:  # of the start
        sys.exit(f"minimal.py: error: {error}")
    print("held-out problems, before -> after:")
    for name, before in result["before"].items():
        print(f"  {name:22} {before:6.3f} -> {result['after'][name]:6.3f}")


if __name__ == "__main__":
    main()
