"""The returns that a critic learns, with a lambda of their own: VC-PPO's decoupled GAE (arXiv 2503.01491)."""

from typing import Any

import transfer_queue as tq
from omegaconf import DictConfig
from tensordict import TensorDict
from verl.trainer.ppo.core_algos import compute_gae_advantage_return
from verl.workers.utils.padding import response_to_nested


def write_returns(batch: Any, config: DictConfig, lam: float) -> None:
    """Write the returns of GAE at `lam` over those that verl has written, which are at `algorithm.lam`.

    At `lam` 1 the return of a token is the sum of the rewards from it on, whatever the values say; at 0 its reward and
    the next token's value.

    Args:
        batch: verl's keys of the step's rows, whose rewards and values are known.
        config: of the run.
        lam: lambda of the returns, from 0 to 1.
    """
    rewards = "token_level_rewards" if config.algorithm.use_kl_in_reward else "rm_scores"
    where = {"keys": batch.keys, "partition_id": batch.partition_id}
    rows = tq.kv_batch_get(select_fields=[rewards, "values", "response_mask"], **where)
    mask, padded = rows["response_mask"], rows.to_padded_tensor()
    _, returns = compute_gae_advantage_return(
        padded[rewards], padded["values"], padded["response_mask"], config.algorithm.gamma, lam
    )
    tq.kv_batch_put(fields=TensorDict({"returns": response_to_nested(returns, mask)}, batch_size=len(batch)), **where)
