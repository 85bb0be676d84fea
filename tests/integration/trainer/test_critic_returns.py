"""The returns that a critic learns with a lambda of their own, against the definition summed term by term."""

from dataclasses import dataclass, field

import pytest
import torch
from hydra import compose, initialize_config_dir
from verl.utils import tensordict_utils as tu

from pacs.base.paths import config_dir
from pacs.integration.trainer import critic_returns
from pacs.integration.trainer.critic_returns import write_returns

GAMMA = 0.9
#: Rewards, values and mask of two responses; in the second a tool wrote two tokens.
REWARDS = [[0.0, 0.3, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.5]]
VALUES = [[0.2, 0.4, 0.1, 0.7], [0.3, 9.0, -9.0, 0.6, 0.2]]
MASKS = [[1, 1, 1, 1], [1, 0, 0, 1, 1]]


@dataclass
class Batch:
    keys: list[str] = field(default_factory=lambda: ["1_0_0", "1_1_0"])
    partition_id: str = "train"

    def __len__(self) -> int:
        return len(self.keys)


def jagged(rows: list[list[float]]) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def naive_returns(rewards: list[float], values: list[float], lam: float) -> list[float]:
    """Of the policy's tokens alone: V_t and the sum over l of (gamma lambda)^l times the TD error l tokens on."""
    after = [*values[1:], 0.0]
    errors = [r + GAMMA * v - own for r, v, own in zip(rewards, after, values, strict=True)]
    return [
        values[t] + sum((GAMMA * lam) ** (i - t) * errors[i] for i in range(t, len(values))) for t in range(len(values))
    ]


@pytest.mark.parametrize("rewarded", ["rm_scores", "token_level_rewards"])
@pytest.mark.parametrize("lam", [0.0, 0.5, 1.0])
def test_returns_are_those_of_their_own_lambda(lam: float, rewarded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    in_reward = str(rewarded == "token_level_rewards").lower()
    overrides = ["recipe=arithmetic", f"algorithm.gamma={GAMMA}", f"algorithm.use_kl_in_reward={in_reward}"]
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose("vcppo", overrides=overrides)
    fields = {rewarded: jagged(REWARDS), "values": jagged(VALUES), "response_mask": jagged(MASKS)}
    written = {}
    monkeypatch.setattr(
        critic_returns.tq,
        "kv_batch_get",
        lambda keys, partition_id, select_fields: tu.get_tensordict({name: fields[name] for name in select_fields}),
    )
    monkeypatch.setattr(critic_returns.tq, "kv_batch_put", lambda fields, **_: written.update(fields.items()))
    write_returns(Batch(), config, lam)
    assert list(written) == ["returns"]
    for row, rewards, values, mask in zip(written["returns"].unbind(), REWARDS, VALUES, MASKS, strict=True):
        assert len(row) == len(mask)
        own = [t for t, counts in enumerate(mask) if counts]
        expected = naive_returns([rewards[t] for t in own], [values[t] for t in own], lam)
        assert row[own].tolist() == pytest.approx(expected)
        if lam == 1:
            assert row[own[0]] == pytest.approx(sum(GAMMA**i * rewards[t] for i, t in enumerate(own)))
