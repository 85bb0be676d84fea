"""What a critic explains, against numpy's own variances; the pass rate of a problem, by hand; the program itself."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch

from pacs.base.errors import UserError
from recipes.chain_sums.critic import by_problem, deepened, explained, loaded, measure
from recipes.laboratory.beginning import read_beginning
from recipes.laboratory.sampling import Samples
from recipes.laboratory.starts import start_of


def samples(prompts: list[list[int]], lengths: list[int]) -> Samples:
    """Responses of these lengths to prompts that are padded on the left."""
    wide, long = max(map(len, prompts)), max(lengths)
    ids = torch.zeros(len(prompts), wide + long, dtype=torch.int64)
    seen = torch.zeros_like(ids)
    for row, (prompt, length) in enumerate(zip(prompts, lengths, strict=True)):
        ids[row, wide - len(prompt) : wide] = torch.tensor(prompt)
        seen[row, wide - len(prompt) : wide + length] = 1
    mask = seen[:, wide:].bool()
    return Samples(ids, seen, mask, [""] * len(prompts), mask.float(), mask.float())


def test_explained_is_the_share_of_the_variance_over_tokens() -> None:
    generator = np.random.default_rng(0)
    lengths, rewards = [8, 4, 6, 3, 8], np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    values = generator.uniform(size=(5, 8))
    places = [(i, t) for i, length in enumerate(lengths) for t in range(length)]

    def share(kept: list[tuple[int, int]]) -> float:
        returns = np.array([rewards[i] for i, _ in kept])
        return float(1 - np.var([rewards[i] - values[i, t] for i, t in kept], ddof=1) / np.var(returns, ddof=1))

    # A token's quarter is that of its middle.
    quarters = [[(i, t) for i, t in places if int(4 * (t + 0.5) / lengths[i]) == quarter] for quarter in range(4)]
    mask = torch.arange(8) < torch.tensor(lengths)[:, None]
    found = explained(torch.tensor(values), torch.tensor(rewards), mask)
    assert found == pytest.approx([share(places), *map(share, quarters)])
    known = torch.tensor(rewards)[:, None].expand(5, 8)
    assert explained(known, torch.tensor(rewards), mask) == pytest.approx([1.0] * 5)


def test_a_problems_pass_rate_is_that_of_the_known_responses_to_it() -> None:
    known = samples([[5], [5], [5], [6, 7], [6, 7]], [1, 2, 3, 2, 2])
    new = samples([[6, 7], [5], [9, 9, 9]], [2, 4, 1])
    rates = by_problem(known, torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0]), new)
    assert rates[:, 0].tolist() == pytest.approx([1.0, 1 / 3, 3 / 5])
    assert rates.shape == new.response_mask.shape
    assert (rates == rates[:, :1]).all()


def test_a_critic_begins_as_another_model_that_reads_the_same_tokens(tmp_path: Path) -> None:
    start = start_of("chain_sums", 0, tmp_path)
    beginning = read_beginning(start, prompts=1, split="probe", problems=1)
    other = type(beginning.policy)(deepcopy(beginning.policy.config))
    other.save_pretrained(tmp_path / "other")
    critic = loaded(tmp_path / "other", beginning)
    assert all(map(torch.equal, critic.parameters(), other.parameters()))
    other.resize_token_embeddings(beginning.policy.config.vocab_size + 1)
    other.save_pretrained(tmp_path / "larger")
    with pytest.raises(UserError, match="give a model of its task"):
        loaded(tmp_path / "larger", beginning)
    with pytest.raises(UserError, match="nowhere is no model"):
        loaded(tmp_path / "nowhere", beginning)


def test_further_layers_change_nothing_until_they_are_trained(tmp_path: Path) -> None:
    policy = read_beginning(start_of("chain_sums", 0, tmp_path), prompts=1, split="probe", problems=1).policy
    ids = torch.arange(24).reshape(2, 12)
    deeper = deepened(policy, 2)
    assert deeper.config.num_hidden_layers == policy.config.num_hidden_layers + 2
    assert len(deeper.base_model.layers) == deeper.config.num_hidden_layers
    assert torch.equal(deeper(input_ids=ids).logits, policy(input_ids=ids).logits)
    optimizer = torch.optim.SGD(deeper.base_model.layers[-2:].parameters(), lr=1.0)
    deeper(input_ids=ids).logits.square().mean().backward()
    optimizer.step()
    assert not torch.allclose(deeper(input_ids=ids).logits, policy(input_ids=ids).logits)


@pytest.mark.long
def test_a_critic_learns_from_responses(tmp_path: Path) -> None:
    table = measure(start_of("chain_sums", 0, tmp_path), [4096], epochs=3.0, lr=5e-4, seed=0)
    line = next(line for line in table.splitlines() if "updates" in line)
    assert float(line.split("|")[3]) > 0.03
