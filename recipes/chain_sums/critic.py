"""How much of the rewards VC-PPO's critic explains before the policy is trained, by how many responses it learned from.

    python -m recipes.chain_sums.critic --start outputs/chain_sums
    python -m recipes.chain_sums.critic --start outputs/chain_sums --responses 4096 --epochs 3
    python -m recipes.chain_sums.critic --start outputs/chain_sums --critic outputs/trained
    python -m recipes.chain_sums.critic --start outputs/chain_sums --layers 2

The critic of the laboratory (a value head on the policy's body, or on that of `--critic`, with `--layers` more) learns
the reward of a response at each of its tokens, as VC-PPO's does while the policy stands. Then it values new responses
to the same problems. Prints 1 - var(R - V) / var(R) over their tokens, all together and in each quarter of a response,
beside what the problem's own pass rate explains.
"""

import argparse
import copy
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from pacs.base.arguments import path, positive, positive_number, whole_seed
from pacs.base.errors import UserError, one_line
from pacs.base.markdown import table
from pacs.base.terminal import print
from recipes.genac_arithmetic.heads import pretrained
from recipes.laboratory.beginning import Beginning, read_beginning
from recipes.laboratory.methods import method_named
from recipes.laboratory.ppo import Critic
from recipes.laboratory.rollouts import Rollouts
from recipes.laboratory.sampling import Samples, joined
from recipes.laboratory.settings import Settings

PROMPTS, RESPONSES = 128, 8
#: Of the new responses that decide, and of an update.
HELD_OUT, ROWS = 1024, 64
QUARTERS = ("all", "first quarter", "second", "third", "last")


def answered(beginning: Beginning, count: int, seed: int) -> tuple[Samples, torch.Tensor]:
    """At least so many responses to training problems, drawn one after the other, and their (B,) rewards."""
    settings = Settings(method="grpo", options={}, steps=1, prompts=PROMPTS, responses=RESPONSES, lr=1e-4, seed=seed)
    rollouts = Rollouts(beginning, settings, method_named("grpo", {}))
    batches = [rollouts.next() for _ in range(-(-count // (PROMPTS * RESPONSES)))]
    return joined([batch.samples for batch in batches]), torch.cat([batch.labels for batch in batches])


def explained(values: torch.Tensor, rewards: torch.Tensor, response_mask: torch.Tensor) -> list[float]:
    """1 - var(R - V) / var(R) over the tokens of B responses, and over those of each quarter of a response.

    Args:
        values: (B, T), of what stands before each token.
        rewards: (B,) of the responses.
        response_mask: (B, T) bool, a response's tokens from the first column on.
    """
    place = (torch.arange(values.shape[1]) + 0.5) / response_mask.sum(1, keepdim=True)
    returns = rewards[:, None].expand_as(values)
    parts = [response_mask, *(response_mask & (place >= k / 4) & (place < (k + 1) / 4) for k in range(4))]
    return [1 - float((returns[part] - values[part]).var() / returns[part].var()) for part in parts]


@torch.no_grad()
def valued(critic: Critic, samples: Samples) -> torch.Tensor:
    """(B, T) the critic's values of responses."""
    width, values = samples.response_mask.shape[1], []
    for rows in torch.arange(len(samples)).split(ROWS):
        part = critic(samples.of(rows))
        values.append(torch.nn.functional.pad(part, (0, width - part.shape[1])))
    return torch.cat(values)


def by_problem(known: Samples, rewards: torch.Tensor, samples: Samples) -> torch.Tensor:
    """(B, T) the mean reward of the known responses to the same problem, at each token; of all, to a new one."""
    found: dict[tuple[int, ...], list[float]] = {}
    for prompt, reward in zip(_prompts(known), rewards.tolist(), strict=True):
        found.setdefault(prompt, []).append(reward)
    rates = [sum(r) / len(r) if (r := found.get(prompt)) else float(rewards.mean()) for prompt in _prompts(samples)]
    return torch.tensor(rates)[:, None].expand(samples.response_mask.shape)


def _prompts(samples: Samples) -> list[tuple[int, ...]]:
    width = samples.ids.shape[1] - samples.response_mask.shape[1]
    rows = zip(samples.ids[:, :width], samples.attention_mask[:, :width].bool(), strict=True)
    return [tuple(ids[mask].tolist()) for ids, mask in rows]


def loaded(folder: Path, beginning: Beginning) -> PreTrainedModel:
    """Another model that reads the policy's tokens."""
    try:
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    except (OSError, ValueError) as error:
        raise UserError(f"--critic {folder} is no model ({one_line(error)}): give the folder of one") from error
    size, needed = model.config.vocab_size, beginning.policy.config.vocab_size
    if size != needed:
        raise UserError(f"--critic {folder} reads {size} tokens, and the policy {needed}: give a model of its task")
    return model


def deepened(model: PreTrainedModel, layers: int) -> PreTrainedModel:
    """The model with so many more layers after its last one, which change nothing until they are trained.

    Their weights are drawn anew, but for the two projections that add to the residual stream, which are 0. `model` is
    of the family of `recipes/arithmetic`: its config counts its layers and names their kinds.
    """
    config = copy.deepcopy(model.config)
    config.num_hidden_layers += layers
    config.layer_types = [*config.layer_types, *config.layer_types[-1:] * layers]
    deeper: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    deeper.load_state_dict(deeper.state_dict() | model.state_dict())
    for layer in deeper.base_model.layers[model.config.num_hidden_layers :]:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return deeper


def measure(
    start: Path,
    numbers: Sequence[int],
    epochs: float,
    lr: float,
    seed: int,
    critic_model: Path | None = None,
    layers: int = 0,
) -> str:
    """The table in Markdown, a line for each number of responses.

    Args:
        start: the policy, with its problems.
        numbers: of responses to learn from.
        epochs: how often each is seen.
        lr: of the critic's Adam.
        seed: of prompts, responses, order and new weights.
        critic_model: the folder of the model that the critic begins as; None: the policy.
        layers: that it has more than that.

    Raises:
        UserError: `start` is none, or `critic_model` cannot be loaded or has another vocabulary than the policy.
    """
    torch.manual_seed(seed)
    beginning = read_beginning(start, prompts=PROMPTS, split="probe", problems=1)
    body = beginning.policy if critic_model is None else loaded(critic_model, beginning)
    body = deepened(body, layers) if layers else body
    began = time.monotonic()
    every, rewards = answered(beginning, max(numbers) + HELD_OUT, seed)
    new = torch.arange(len(every) - HELD_OUT, len(every))
    held_out, held_rewards = every.of(new), rewards[new]
    print(f"{len(every):,} responses, {float(rewards.mean()):.3f} right, after {time.monotonic() - began:.0f} s")
    rows = []
    for number in numbers:
        first, updates = torch.arange(number), max(1, round(epochs * number / ROWS))
        known, known_rewards = every.of(first), rewards[first]
        critic = pretrained(body, known, known_rewards, steps=updates, responses=ROWS, lr=lr, seed=seed)
        for name, values in (
            (f"{updates:,} updates", valued(critic, held_out)),
            ("pass rate", by_problem(known, known_rewards, held_out)),
        ):
            cells = (f"{share:.2f}" for share in explained(values, held_rewards, held_out.response_mask))
            rows.append([f"{number:,}", name, *cells])
        print(f"{' | '.join(rows[-2])}, after {time.monotonic() - began:.0f} s")
    return table(["responses", "values by", *QUARTERS], rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.chain_sums.critic",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--start", type=Path, required=True, help="of recipes.chain_sums.make, or of a task like it")
    parser.add_argument(
        "--responses", type=positive, nargs="+", default=[4096, 16384, 65536], help="to learn from (default: three)"
    )
    parser.add_argument("--epochs", type=positive_number, default=1.5, help="how often each is seen (default: 1.5)")
    parser.add_argument("--lr", type=positive_number, default=5e-4, help="falls in the second half (default: 5e-4)")
    about = "folder of the model that the critic begins as, such as an export of a trained policy (default: the policy)"
    parser.add_argument("--critic", type=path, metavar="DIR", help=about)
    parser.add_argument(
        "--layers", type=positive, default=0, help="that the critic has more than its model (default: 0)"
    )
    parser.add_argument("--seed", type=whole_seed, default=0, help="of prompts, responses and order (default: 0)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    try:
        asked = (arguments.responses, arguments.epochs, arguments.lr, arguments.seed)
        print(measure(arguments.start, *asked, arguments.critic, arguments.layers))
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
