"""What a step makes of a critic's traces: without Ray and without a model."""

import json
import math
import statistics
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transfer_queue as tq
from hydra import compose, initialize_config_dir
from tensordict import TensorDict

from pacs.algorithm import row_columns
from pacs.algorithm.genac.method import GenAcCritic
from pacs.base.paths import config_dir
from pacs.checkpoints.folder import CRITIC
from pacs.integration import exchange
from pacs.integration.trainer.generative_critic import GenerativeCritic, UnparsableError
from pacs.integration.worker.not_finite import PoisonError
from pacs.verl_keys.config import critic_section

#: Of two responses: outcome, and the scores of their segments.
STEP = [(1.0, [3, None, 9]), (0.0, [2])]
REWARDS = [1 - 0.7**2, 0.0, 1 - 0.1**2, 1 - 0.2**2]


class Workers:
    """Notes what the critic's workers are given."""

    world_size = 1

    def __init__(self) -> None:
        self.batches: list[TensorDict] = []
        self.norms = [0.5]

    def update_actor(self, batch: TensorDict) -> dict[str, Any]:
        self.batches.append(batch)
        names = (*row_columns(GenAcCritic()), "update", "rollout_gap", "rollout_gap_worst", "tokens")
        table = {name: torch.zeros(1) for name in names} | {"active": torch.ones(1), "tokens": torch.ones(1)}
        values = torch.stack([table[name] for name in names])
        return {"metrics": {exchange.TABLES: [(names, values)], "grad_norm": self.norms, "learning_rate": 1e-6}}

    def save_checkpoint(self, folder: str, *_: Any) -> None:
        Path(folder).mkdir()
        for kind in ("model", "optim", "extra_state"):
            (Path(folder) / f"{kind}_world_size_1_rank_0.pt").touch()

    def load_checkpoint(self, folder: str, *_: Any) -> None:
        self.loaded = folder


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def traces(scores: list[int | None]) -> dict[str, Any]:
        number = len(scores)
        return {
            exchange.CRITIC_TRACES: {
                "head": [5, 6], "tail": [7], "starts": list(range(number)), "scores": scores,
                "traces": [[8, 9 + i] for i in range(number)], "log_probs": [[-1.0, -2.0]] * number,
            }
        }  # fmt: skip

    def get(select_fields: list[str], **_: Any) -> Any:
        assert select_fields == ["responses", "extra_fields"]
        # The last row fills up, and is a copy of another.
        extra = [traces(scores) for _, scores in [*STEP, STEP[0]]]
        responses = torch.nested.as_nested_tensor([torch.arange(10, 14)] * 3, layout=torch.jagged)
        return Columns({"responses": responses, "extra_fields": np.array(extra, dtype=object)})

    def made(*overrides: str) -> GenerativeCritic:
        with initialize_config_dir(str(config_dir()), version_base=None):
            given = ["recipe=arithmetic", f"run.dir={tmp_path}", "genac.rate.first=0.5", "genac.unparsable=0.3"]
            config = compose("genac", overrides=[*given, *overrides])
        trainer = SimpleNamespace(config=config, global_steps=1, tokenizer=SimpleNamespace(eos_token_id=2))
        critic = GenerativeCritic(trainer)
        critic.workers, critic.ranks, critic.section = Workers(), 1, critic_section(config)
        return critic

    monkeypatch.setattr(tq, "kv_batch_get", get)
    return made


class Columns(dict[str, Any]):
    """As TransferQueue gives columns."""


def update(critic: GenerativeCritic) -> dict[str, float]:
    metrics = {"pacs/response_tokens/generated_sum": 100.0}
    batch = SimpleNamespace(keys=[], partition_id="train", tags=[{}, {}, {"is_padding": True}])
    critic.update(batch, [outcome for outcome, _ in STEP] + [1.0], metrics)
    return metrics


def credits_given(critic: GenerativeCritic) -> list[float]:
    """Of the traces that the workers got, by their order among the rows."""
    (batch,) = critic.workers.batches
    rows = zip(batch["response_mask"].unbind(), batch["pacs_credit"].unbind(), strict=True)
    found = [
        credit for mask, credits in rows for own, credit in zip(mask.tolist(), credits.tolist(), strict=True) if own
    ]
    return sorted(found[::2])


def test_a_trace_s_credit_is_its_reward_less_the_mean_of_the_others(make: Any) -> None:
    critic = make()
    update(critic)
    others = [statistics.fmean(REWARDS[:i] + REWARDS[i + 1 :]) for i in range(len(REWARDS))]
    expected = sorted(reward - mean for reward, mean in zip(REWARDS, others, strict=True))
    assert credits_given(critic) == pytest.approx(expected, abs=1e-6)


def test_without_a_baseline_it_is_the_reward(make: Any) -> None:
    critic = make("genac.baseline=none")
    update(critic)
    assert credits_given(critic) == pytest.approx(sorted(REWARDS), abs=1e-6)


def test_the_rate_that_is_told_is_from_before_the_step(make: Any) -> None:
    critic = make("genac.rate.decay=0.8")
    assert update(critic)["pacs/genac/rate_mean"] == 0.5
    critic.rate.rate = 0.25
    assert update(critic)["pacs/genac/rate_mean"] == 0.25
    assert critic.rate.rate == pytest.approx(0.8 * 0.25 + 0.2 * 0.5)


def test_the_metrics_are_those_of_the_step(make: Any) -> None:
    metrics = update(make())
    errors = [0.7**2, 0.1**2, 0.2**2]
    assert metrics["pacs/genac/squared_error_mean"] == pytest.approx(statistics.fmean(errors))
    assert metrics["pacs/genac/explained_fraction"] == pytest.approx(
        1 - statistics.fmean(errors) / statistics.pvariance([1, 1, 0])
    )
    assert metrics["pacs/genac/unparsable_fraction"] == 0.25
    assert metrics["pacs/genac/segments_mean"] == 2
    assert metrics["pacs/genac/trace_tokens_sum"] == 8
    assert metrics["pacs/response_tokens/generated_sum"] == 108
    assert metrics["pacs/critic/pretraining_count"] == 0


def test_the_policy_stands_while_the_critic_is_pretrained(make: Any) -> None:
    assert update(make("trainer.critic_warmup=2"))["pacs/critic/pretraining_count"] == 1


def test_too_many_traces_without_a_score_end_the_run(make: Any) -> None:
    with pytest.raises(
        UnparsableError, match=r"step 1: 1 of the critic's 4 traces have no score.*genac.unparsable=0.2"
    ):
        update(make("genac.unparsable=0.2"))


def test_updates_that_are_skipped_in_a_row_end_the_run(make: Any) -> None:
    critic = make("run.faults.skipped_updates=2")
    critic.workers.norms = [math.nan]
    update(critic)
    with pytest.raises(PoisonError):
        update(critic)


def test_a_checkpoint_has_the_critic_and_the_rate(make: Any, tmp_path: Path) -> None:
    critic, folder = make(), tmp_path / "global_step_1"
    folder.mkdir()
    critic.rate.rate = 0.125
    critic.save(folder)
    assert json.loads((folder / "genac.json").read_text()) == {"rate": 0.125}
    resumed = make("genac.rate.first=null")
    resumed.load(SimpleNamespace(folder=folder))
    assert (resumed.rate.rate, resumed.workers.loaded) == (0.125, str(folder / CRITIC))
    resumed.learn_first_rate({"val-core/sums/acc/mean@4": 0.9})
    assert resumed.rate.rate == 0.125


def test_the_first_rate_is_that_of_the_validation_where_none_is_set(make: Any) -> None:
    critic = make("genac.rate.first=null")
    critic.learn_first_rate(
        {"val-core/a/acc/mean@4": 0.25, "val-core/b/acc/mean@4": 0.75, "val-core/a/acc/best@4/mean": 1}
    )
    assert critic.rate.rate == 0.5
    critic.learn_first_rate({"val-core/a/acc/mean@4": 0.9})
    assert critic.rate.rate == 0.5


def test_a_critic_has_the_policy_s_settings_but_for_its_own(make: Any) -> None:
    critic = make("actor_rollout_ref.rollout.temperature=0.7", "+genac.critic.actor.optim.weight_decay=0.5")
    section = critic.section
    policy = critic.trainer.config.actor_rollout_ref
    assert (section.actor.optim.lr, section.actor.optim.weight_decay) == (1e-6, 0.5)
    assert (policy.actor.optim.lr, policy.actor.optim.weight_decay) == (1e-4, 0.0)
    assert section.rollout.temperature == 0.7
    assert section.rollout.response_length == 1024
    data = critic.trainer.config.data
    assert section.rollout.max_model_len == data.max_prompt_length + data.max_response_length + 384 + 1024
    assert section.rollout.prompt_length + section.rollout.response_length == section.rollout.max_model_len
    assert policy.model.override_config.attn_implementation == "sdpa"
    assert section.model.override_config.attn_implementation == "shared_prefix"
