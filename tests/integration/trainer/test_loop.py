"""What the trainer adds to verl's loop, at values that are not the default: without Ray and without a model."""

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf
from verl.trainer.ppo.v1.trainer_base import KVBatchMeta, PPOTrainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.trainer.ppo.v1.utils import MetricsAggregator
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Pacs, TrainBatch
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.token_weights import Steer, TokenWeightConfig
from pacs.base.run_folder import RunFolder
from pacs.integration.exchange import REPEAT
from pacs.integration.strategy import Choice
from pacs.integration.trainer import effective_ranks as ranks_module
from pacs.integration.trainer import phases
from pacs.integration.trainer import step as step_module
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.phases import find_last_step
from pacs.integration.trainer.prompts import PromptOrder
from pacs.integration.trainer.update import log
from tests.integration.trainer.test_baseline_trainer import jagged
from tests.integration.trainer.test_baseline_trainer import trainer as baseline
from tests.integration.trainer.test_trainer import returned
from tests.integration.trainer.test_update_step import make_trainer


def test_prompts_are_numbered_through_whatever_step_they_are_drawn_in() -> None:
    order, uids = PromptOrder(OmegaConf.create({"data": {"train_batch_size": 2}})), []
    for step, *sizes in ((1, 2, 1), (2, 3)):
        order.begin_step(1)
        for size in sizes:
            batch = order.number(step, tu.get_tensordict({"rows": torch.zeros(size)}))
            uids += list(tu.get(batch, "uid"))
        assert (order.drawn, order.resampled) == (3, 1)
    assert uids == ["1-0", "1-1", "1-2", "2-0", "2-1", "2-2"]


@pytest.mark.parametrize("seeded", [True, False])
def test_with_seeds_it_is_counted_how_often_a_step_has_drawn_a_prompt(seeded: bool) -> None:
    """Else two groups of one step, of a prompt that the data have twice, would be the same responses."""
    rollouts = {"seeded": seeded, "partial": {"ahead": None}}
    order = PromptOrder(OmegaConf.create({"data": {"train_batch_size": 2}, "run": {"rollouts": rollouts}}))
    for step in (1, 2):
        order.begin_step(step)
        prompts = [[{"role": "user", "content": text}] for text in "aba"]
        batch = order.number(step, tu.get_tensordict({"raw_prompt": prompts}))
        assert (REPEAT in batch) == seeded
        if seeded:
            assert list(tu.get(batch, REPEAT)) == [0, 0, 1]


def test_a_step_takes_the_median_of_the_time_between_two_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 15, 15, 16, 16, 18, 18])  # each end is looked up twice: steps of 5, 1 and 2 seconds
    monkeypatch.setattr(phases, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    buffer = SimpleNamespace(finished_keys={}, failure_keys={})
    watched = phases.Phases(buffer)
    watched.begin_steps()
    for step in (1, 2, 3):
        watched.end_step(step)
    assert watched.progress(0).step_seconds == 2


@pytest.mark.parametrize(("asked", "last"), [(100, 6), (4, 4)])
def test_epochs_or_steps_end_the_run_whichever_is_sooner(tmp_path: Path, asked: int, last: int) -> None:
    made = make_trainer(tmp_path, "trainer.total_epochs=2")
    made.steps_per_epoch, made.total_training_steps, made.global_steps = 3, asked, 0
    find_last_step(made)
    assert made.phases.last_step == made.total_training_steps == last


def test_the_responses_of_so_many_groups_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[list[str]] = []
    monkeypatch.setattr(PPOTrainerSync, "_log_rollout_data", lambda self, batch, *rest: written.append(batch.keys))
    keys = ["1-0_0_0", "1-1_0_0", "1-0_1_0", "1-2_0_0", "1-1_1_0", "1-1_2_0"]
    tags = [{"is_padding": key == "1-1_2_0"} for key in keys]
    made = make_trainer(tmp_path, "run.sample_groups=2")
    batch = KVBatchMeta(partition_id="train", keys=keys, tags=tags)
    monkeypatch.setattr(PPOTrainerSync, "step", lambda self, *given: batch)
    assert made.step({}, {}) is batch  # before weights are saved or sent
    made._log_rollout_data(batch, {}, "")  # as verl's loop calls it at last
    assert written == [["1-0_0_0", "1-1_0_0", "1-0_1_0", "1-1_1_0"]]


def test_they_are_written_with_the_parts_of_their_rewards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[dict[str, list[Any]]] = []
    monkeypatch.setattr(PPOTrainerSync, "_dump_generations", lambda self, *given: written.append(given[4]))
    made = make_trainer(tmp_path)

    def verls(self: Any, batch: Any, *rest: Any) -> None:  # sorted by prompt
        self._dump_generations([], [], [], [], {"uid": sorted(batch.keys)}, "")

    monkeypatch.setattr(PPOTrainerSync, "_log_rollout_data", verls)
    keys = ["1-1_0_0", "1-0_0_0"]
    said = [{"correctness": 1.0, "format": 0.0}, {"correctness": 0.0, "format": 1.0}]
    monkeypatch.setattr(made.grading, "parts", lambda batch: dict(zip(batch.keys, said, strict=True)))
    batch = KVBatchMeta(partition_id="train", keys=keys, tags=[{}, {}])
    made._write_samples(batch)
    assert written == [{"uid": ["1-0_0_0", "1-1_0_0"], "correctness": [0.0, 1.0], "format": [1.0, 0.0]}]
    made._dump_generations([], [], [], [], {"format": [0.5]}, "")  # of a validation
    assert written[1] == {"format": [0.5]}


@pytest.mark.parametrize(("saved", "saves"), [(None, 1), (3, 1), (5, 0)])
def test_a_step_after_which_the_run_is_to_stop_is_saved_unless_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: int | None, saves: int
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(PPOTrainerSync, "on_step_end", lambda self: None)
    made = make_trainer(tmp_path)
    monkeypatch.setattr(made, "_save_checkpoint", lambda: calls.append(made.global_steps))
    (tmp_path / RunFolder.STOP).touch()
    made.global_steps, made.phases.last_step, made.saving.saved_step = 5, 9, saved
    made.phases.begin_steps()
    made.on_step_end()
    assert calls == [5] * saves
    assert made.total_training_steps == 5


def test_a_validation_is_of_the_verifiers_scores_where_a_manager_has_shaped_them() -> None:
    made = baseline("dapo")
    made.global_steps = 3
    infos = {"reward": [0.5, -0.5, 1.0, 0.25], "score": [1.0, 0.0, 1.0, 1.0]}
    counts = {("a", "1"): 2, ("a", "2"): 2}
    metrics = made._val_metrics_update(["a"] * 4, ["1", "1", "2", "2"], infos, [2] * 4, counts)
    assert metrics["pacs/validation/a/pass@1"] == 0.75
    assert metrics["val-core/a/reward/mean@2"] == 0.75


def test_rewards_are_trained_on_and_scores_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, put = make_trainer(tmp_path), {}
    grades = Grades(
        rewards=torch.tensor([0.75, 0.0, 0.5]),
        scores=torch.tensor([1.0, 0.0, 1.0]),
        group_ids=torch.tensor([0, 0, 0]),
        sampled=torch.tensor([True] * 3),
        first=torch.tensor([True] * 3),
        tokens=torch.tensor([3.0, 3.0, 3.0]),
        truncated=torch.tensor([False] * 3),
        fingerprints=torch.tensor([1, 2, 3]),
        infos=[{}] * 3,
    )
    monkeypatch.setattr(made.grading, "grade", lambda batch: grades)
    monkeypatch.setattr(step_module.tq, "kv_batch_put", lambda **words: put.update(words["fields"]))
    metrics: dict[str, Any] = {}
    step_module.score(made, KVBatchMeta(partition_id="train", keys=list("abc"), tags=[{}] * 3), metrics)
    assert put["pacs_labels"].tolist() == [0.75, 0.0, 0.5]
    assert (metrics["pacs/rows/correct_count"], metrics["pacs/rows/wrong_count"]) == (2, 1)


#: A right and a wrong response to one prompt, of two tokens and of one.
TWO = Grades(
    rewards=torch.tensor([1.0, 0.0]),
    scores=torch.tensor([1.0, 0.0]),
    group_ids=torch.tensor([0, 0]),
    sampled=torch.tensor([True, True]),
    first=torch.tensor([True, True]),
    tokens=torch.tensor([2.0, 1.0]),
    truncated=torch.tensor([False] * 2),
    fingerprints=torch.tensor([1, 2]),
    infos=[{}] * 2,
)


class ByEntropy(Grpo):
    """Credit of each token: its entropy, of right responses."""

    READS = ("entropy",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return batch.labels[:, None] * batch.streams["entropy"]


def test_what_a_method_reads_of_tokens_is_fetched_and_its_credit_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each response as long as it is, 0 at a tool's tokens; verl's pass of entropies is due in every step."""
    made, put, asked = make_trainer(tmp_path), {}, []
    made.method, made.global_steps = ByEntropy(), 1
    assert step_module.wants_old_log_probs(made)
    monkeypatch.setattr(made.grading, "grade", lambda batch: TWO)
    rows = {"response_mask": jagged([[1.0, 0.0, 1.0], [1.0]]), "entropy": jagged([[0.5, 9.0, 2.0], [3.0]])}

    def get(select_fields: list[str], **_: Any) -> Any:
        asked.extend(select_fields)
        return tu.get_tensordict(rows)

    monkeypatch.setattr(step_module.tq, "kv_batch_get", get)
    monkeypatch.setattr(step_module.tq, "kv_batch_put", lambda **words: put.update(words["fields"]))
    step_module.score(made, KVBatchMeta(partition_id="train", keys=["1-0_0_0", "1-0_1_0"], tags=[{}] * 2), {})
    assert asked == ["response_mask", "entropy"]
    assert [row.tolist() for row in put["pacs_credit"].unbind()] == [[0.5, 0.0, 2.0], [0.0]]
    assert put["pacs_coefficients"].tolist() == [1.0, 0.0]
    assert put["pacs_shares"].tolist() == [2.0, 1.0]


@pytest.mark.parametrize(
    ("name", "asked", "passes", "weights"),
    [
        ("position", ["response_mask"], False, [[1.0, 1.0, 0.5], [1.0]]),
        ("probability", ["response_mask", "rollout_log_probs"], False, [[0.2, 1.0, 0.46211717], [0.9640276]]),
        ("entropy_top", ["response_mask", "entropy"], True, [[0.0, 1.0, 0.0], [1.0]]),
        ("kl_cov", ["response_mask", "old_log_probs"], True, [[1.0, 1.0, 1.0], [1.0]]),
    ],
)
def test_a_token_weight_is_made_of_what_it_reads(
    name: Any, asked: list[str], passes: bool, weights: list[list[float]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of each response as long as it is, 1 at a tool's tokens; verl's pass is due only where the weight reads it."""
    made, put, fetched = make_trainer(tmp_path), {}, []
    made.method, made.global_steps = Pacs(token_weight=TokenWeightConfig(name=name)), 1
    assert step_module.wants_old_log_probs(made) == passes
    monkeypatch.setattr(made.grading, "grade", lambda batch: TWO)
    rows = {
        "response_mask": jagged([[1.0, 0.0, 1.0], [1.0]]),
        "entropy": jagged([[0.5, 9.0, 2.0], [3.0]]),
        "old_log_probs": jagged([[-9.0, 0.0, -1.0], [0.0]]),
        "rollout_log_probs": jagged([[-9.0, 0.0, math.log(0.25)], [0.0]]),
    }

    def get(select_fields: list[str], **_: Any) -> Any:
        fetched.extend(select_fields)
        return tu.get_tensordict({field: rows[field] for field in select_fields})

    monkeypatch.setattr(step_module.tq, "kv_batch_get", get)
    monkeypatch.setattr(step_module.tq, "kv_batch_put", lambda **words: put.update(words["fields"]))
    step_module.score(made, KVBatchMeta(partition_id="train", keys=["1-0_0_0", "1-0_1_0"], tags=[{}] * 2), {})
    assert fetched == asked
    found = [row.tolist() for row in put["pacs_token_weights"].unbind()]
    assert found == [pytest.approx(row, rel=1e-6) for row in weights]
    assert ("pacs_penalties" in put) == (name == "kl_cov")
    if name == "kl_cov":  # one token, of the response of 1 or 0 that its log-probability goes with
        assert sum(float(row.sum()) for row in put["pacs_penalties"].unbind()) == 1


def test_steers_exact_form_reads_what_the_pass_gave_of_the_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker gives it of prompt and response, at the place before each token; PACS's advantages are 1 and -1."""
    made, put = make_trainer(tmp_path), {}
    steer = TokenWeightConfig(name="steer", steer=Steer(form="exact", least=0.5))
    made.method, made.global_steps = Pacs(token_weight=steer), 1
    assert step_module.wants_old_log_probs(made)
    monkeypatch.setattr(made.grading, "grade", lambda batch: TWO)
    rows = {
        "response_mask": jagged([[1.0, 0.0, 1.0], [1.0]]),
        "entropy": jagged([[0.5, 9.0, 2.0], [3.0]]),
        "old_log_probs": jagged([[-1.5, 0.0, -1.0], [-0.5]]),
        # Prompts of two tokens and of three.
        "mean_entropy_slope": jagged([[9.0, 0.1, 9.0, -0.2, 9.0], [9.0, 9.0, 0.3, 9.0]]),
    }
    monkeypatch.setattr(
        step_module.tq, "kv_batch_get",
        lambda select_fields, **_: tu.get_tensordict({field: rows[field] for field in select_fields}),
    )  # fmt: skip
    monkeypatch.setattr(step_module.tq, "kv_batch_put", lambda **words: put.update(words["fields"]))
    step_module.score(made, KVBatchMeta(partition_id="train", keys=["1-0_0_0", "1-0_1_0"], tags=[{}] * 2), {})
    changes = [
        abs(math.exp(log_prob) * (log_prob + entropy) - slope)
        for log_prob, entropy, slope in ((-1.5, 0.5, 0.1), (-1.0, 2.0, -0.2), (-0.5, 3.0, 0.3))
    ]
    first, second, third = (0.5 ** (change / max(changes)) for change in changes)
    found = [row.tolist() for row in put["pacs_token_weights"].unbind()]
    assert found == [pytest.approx([first, 1.0, second], rel=1e-6), pytest.approx([third], rel=1e-6)]


ERA = ("method.token_weight.name=era", "method.token_weight.era.stride=2", "method.token_weight.era.ema=0.25")


def test_eras_ranks_are_fetched_logged_and_carried_to_the_next_step_and_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker gives them of prompt and response, at the place before each token."""
    made, put, fetched = make_trainer(tmp_path, *ERA), {}, []
    made.global_steps = 1
    assert step_module.wants_old_log_probs(made)
    monkeypatch.setattr(made.grading, "grade", lambda batch: TWO)
    first, second = [0.0, 0.0, 0.0, 0.0, 9.0, 4.0, 2.0, 0.0], [0.0, 0.0, 0.0, 3.0, 0.0]
    rows = {
        "response_mask": jagged([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0]]),
        "effective_rank": jagged([first, second]),  # prompts of four and three tokens
    }

    def get(select_fields: list[str], **_: Any) -> Any:
        fetched.append(select_fields)
        return tu.get_tensordict({field: rows[field] for field in select_fields})

    for module in (step_module, ranks_module):
        monkeypatch.setattr(module.tq, "kv_batch_get", get)
    monkeypatch.setattr(step_module.tq, "kv_batch_put", lambda **words: put.update(words["fields"]))
    batch, metrics = KVBatchMeta(partition_id="train", keys=["1-0_0_0", "1-0_1_0"], tags=[{}] * 2), {}
    step_module.score(made, batch, metrics)
    assert fetched == [["response_mask"], ["effective_rank", "response_mask"]]
    assert [row.tolist() for row in put["pacs_token_weights"].unbind()] == [[1.0] * 4, [1.0] * 2]
    assert metrics["pacs/effective_rank/rank_correct_mean"] == 2  # 9 is at a tool's token
    assert metrics["pacs/effective_rank/rank_wrong_mean"] == 3
    assert metrics["pacs/token_weight/era_rank_mean"] == 2.5
    assert made.memory == {
        name: metrics[f"pacs/token_weight/{name}_mean"] for name in ("era_rank", "era_velocity", "era_acceleration")
    }
    again = make_trainer(tmp_path, *ERA)
    again.saving.resumed_metrics = json.loads(json.dumps(metrics))
    monkeypatch.setattr(again.references, "load", lambda *_: None)
    again.load_algorithm_state(None)
    assert again.memory == made.memory
    again.global_steps = 2
    monkeypatch.setattr(again.grading, "grade", lambda batch: TWO)
    rows["effective_rank"] = jagged([[3 * value for value in first], second])
    step_module.score(again, batch, metrics)
    right, wrong = put["pacs_token_weights"].unbind()
    assert right.tolist() == [right[0].item(), 1.0, right[0].item(), right[0].item()]
    assert 0.5 <= wrong[0] < 1 < right[0] <= 1.5  # both ranks are above 2.5
    assert again.memory["era_rank"] == 0.75 * 2.5 + 0.25 * (6 + 3) / 2


@pytest.mark.parametrize(("score", "told"), [(0.0, {"correct": 2.0, "wrong": 3.0}), (0.3, {})])
def test_ranks_are_of_the_verifiers_classes(tmp_path: Path, score: float, told: dict[str, float]) -> None:
    """A wrong response that is paid for its format is wrong; with graded scores there are no classes."""
    made = make_trainer(tmp_path, "method.metrics.effective_rank_every=1")
    paid = torch.tensor([0.8, score + 0.1])
    made.grades = replace(TWO, rewards=paid, scores=torch.tensor([1.0, score]))
    measured = jagged([[0.0, 0.0, 2.0], [0.0, 3.0]]), jagged([[1.0, 0.0, 1.0], [1.0, 1.0]])
    rows: Any = SimpleNamespace(row_mask=torch.tensor([True, True]), labels=paid)
    found = ranks_module.rank_metrics(made, measured, rows)
    named = {name: value for name, value in found.items() if "/rank_" in name}
    assert named == {f"pacs/effective_rank/rank_{word}_mean": rank for word, rank in told.items()}


def test_what_a_token_weight_carries_is_kept_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """verl makes the mean over a step's parts of every metric: of one part of three rows (0.1 * 3) / 3."""
    made, name = make_trainer(tmp_path, *ERA), ranks_module.logged_as("era_rank")
    parts = MetricsAggregator()
    parts.add_step_metrics({name: 0.1}, sample_count=3)
    metrics = parts.get_aggregated_metrics()
    assert metrics[name] != 0.1
    made.memory, made.grades = {"era_rank": 0.1}, TWO
    monkeypatch.setattr(PPOTrainer, "_compute_metrics", lambda *_, **__: None)
    made._compute_metrics(None, metrics, {}, global_steps=1, epoch=0)
    assert metrics[name] == 0.1


@pytest.mark.parametrize(("step", "due"), [(4, True), (5, False)])
def test_ranks_for_the_metrics_alone_are_measured_at_their_interval(tmp_path: Path, step: int, due: bool) -> None:
    made = make_trainer(tmp_path, "method.metrics.effective_rank_every=2")
    made.global_steps = step
    assert step_module.wants_old_log_probs(made) == due
    assert ranks_module.ranks_are_due(made) == due


def test_so_many_skipped_updates_in_a_row_are_too_many(tmp_path: Path) -> None:
    skipped = make_trainer(tmp_path, "run.faults.skipped_updates=5").skipped
    assert not skipped.add([float("nan")] * 4)
    assert skipped.add([float("inf")])


@pytest.mark.parametrize(("strategy", "fraction"), [("cached", 1.0), ("grouped", 0.0)])
def test_the_metrics_say_which_strategy_was_taken(tmp_path: Path, strategy: Any, fraction: float) -> None:
    made = make_trainer(tmp_path)
    assert log(made, Choice(strategy, ""), returned([1.0]))["pacs/update/cached_fraction"] == fraction


def test_the_entropy_of_a_baseline_is_the_mean_over_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where verl aggregates by sequence: (1 + 2 + 6) / 3, the masked 8 not among them."""
    made = baseline("grpo", "actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-mean")
    rows = {"entropy": jagged([[1.0, 2.0], [6.0, 8.0]]), "response_mask": jagged([[1.0, 1.0], [1.0, 0.0]])}
    monkeypatch.setattr(step_module.tq, "kv_batch_get", lambda **words: tu.get_tensordict(rows))
    monkeypatch.setattr(PPOTrainerSync, "_compute_old_log_prob", lambda self, batch, metrics: batch)
    metrics = {"actor/entropy": 7.0}
    made._compute_old_log_prob(KVBatchMeta(partition_id="train", keys=["a", "b"], tags=[{}, {}]), metrics)
    assert metrics["actor/entropy"] == 3.0
