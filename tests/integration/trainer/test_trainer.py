"""What the trainer makes verl's loop do, as far as that shows without Ray."""

import copy
import inspect
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import get_trainer_cls, trainer_base
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from pacs.algorithm import Pacs, ReferenceConfig, ReferenceSchedule, row_columns
from pacs.base.paths import config_dir
from pacs.checkpoints import folder as checkpoints
from pacs.integration import exchange
from pacs.integration.checkpoints.saving import ReferenceCheckpoints
from pacs.integration.checkpoints.shard_checks import check_shards
from pacs.integration.strategy import Choice
from pacs.integration.trainer import method_trainer
from pacs.integration.trainer.grading import said_of_all
from pacs.integration.trainer.method_trainer import MethodTrainer
from pacs.integration.trainer.step_rows import check_labels, dense_ids, prompt_uid, row_sums, step_rows
from pacs.integration.trainer.update import log, reset
from pacs.integration.worker.adapters import AdapterWorker
from pacs.integration.worker.method_worker import MethodWorker
from pacs.integration.worker.teacher import TeachingWorker
from pacs.runs.disk_space import SHARED_MEMORY
from pacs.runs.processes import TOKEN
from pacs.runs.state import write_state
from tests.metrics.page import find
from tests.runs.states import state_in


@pytest.fixture(scope="module")
def config() -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic"])


@pytest.fixture
def trainer(config: DictConfig) -> MethodTrainer:
    return MethodTrainer(config)


def test_verl_finds_the_trainer_by_its_name(config: DictConfig) -> None:
    assert get_trainer_cls(config.trainer.v1.trainer_mode) is MethodTrainer


def test_every_place_where_verl_asks_for_the_mode_sees_sync(trainer: MethodTrainer, config: DictConfig) -> None:
    assert config.trainer.v1.trainer_mode == "pacs"
    assert trainer.trainer_mode == "sync"
    # The synchronous replay buffer: exactly this class, and told the synchronous mode.
    assert type(trainer.replay_buffer) is ReplayBuffer
    assert trainer.replay_buffer.trainer_mode == "sync"
    # The other comparisons (data loading, checkpoint, resume, submission) read the same attribute; a new one that
    # reads the config instead would go wrong silently, so it fails here.
    source = inspect.getsource(trainer_base)
    assert len(re.findall(r'self\.trainer_mode [!=]= "sync"', source)) == 6
    assert len(re.findall(r"trainer\.v1\.trainer_mode", source)) == 1  # where self.trainer_mode is set


def test_the_dataloader_is_the_synchronous_one(trainer: MethodTrainer) -> None:
    source = inspect.getsource(trainer_base.PPOTrainer._init_dataloader)
    assert 'requires_exact_refill = self.trainer_mode != "sync" or' in source
    assert trainer.config.data.gen_batch_size is None


@pytest.mark.parametrize(("reset_every", "role"), [(20, Role.ActorRolloutRef), (1, Role.ActorRollout)])
def test_the_worker_group_holds_a_reference_unless_it_is_always_the_policy(
    config: DictConfig, reset_every: int, role: Role
) -> None:
    config = copy.deepcopy(config)
    config.method.reference.reset_every = reset_every
    trainer = MethodTrainer(config)
    trainer._init_resource_pool_mgr()
    assert trainer.mapping[role] == "global_pool"
    assert set(trainer.role_worker_mapping) == {role}
    assert not trainer.use_reference_policy  # verl asks for no pass of it


@pytest.mark.parametrize(
    ("settings", "role", "worker"),
    [
        ({"reset_every": 20}, Role.ActorRollout, AdapterWorker),
        ({"reset_every": 1}, Role.ActorRollout, MethodWorker),
        ({"reset_every": 1, "teacher": "model"}, Role.ActorRolloutRef, TeachingWorker),
    ],
)
def test_adapters_need_no_reference_model(
    config: DictConfig, settings: dict[str, Any], role: Role, worker: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = copy.deepcopy(config)
    config.actor_rollout_ref.model.lora_rank = 8
    config.method.reference.reset_every = settings["reset_every"]
    monkeypatch.setattr(method_trainer, "teacher_of", lambda method: settings.get("teacher"))
    trainer = MethodTrainer(config)
    trainer._init_resource_pool_mgr()
    assert set(trainer.role_worker_mapping) == {role}
    made = trainer.role_worker_mapping[role].__ray_metadata__.modified_class
    assert issubclass(made, worker)
    assert worker is AdapterWorker or not issubclass(made, AdapterWorker)


def test_a_validation_gives_pass_at_k_beside_verls_own_metrics(trainer: MethodTrainer) -> None:
    """Two sources; of one a problem has a right answer in two, of the other a rollout failed."""
    metrics = trainer._val_metrics_update(
        data_sources=["a", "a", "a", "a", "org/b"],
        sample_uids=["1", "1", "2", "2", "3"],
        reward_extra_infos_dict={"reward": [1.0, 0.0, 0.0, 0.0, 1.0]},
        sample_turns=[2] * 5,
        expected_acc_counts={("a", "1"): 2, ("a", "2"): 2, ("org/b", "3"): 2},
    )
    assert {key: value for key, value in metrics.items() if key.startswith("pacs/")} == {
        "pacs/validation/a/pass@1": 0.25,
        "pacs/validation/a/pass@2": 0.5,
        "pacs/validation/org/b/pass@1": 0.5,
        "pacs/validation/org/b/pass@2": 1.0,
    }
    assert metrics["val-core/a/reward/mean@2"] == 0.25
    assert [key for key in metrics if find(key) is None] == []


GROUPED = Choice("grouped", "")


class Workers:
    """Notes what the workers of a run would be told."""

    world_size = 1

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.told.append((name, *arguments))


class SavedRun:
    """A run with a reset after every second step, as far as its checkpoints go."""

    def __init__(self, folder: Path, reset_every: int = 2) -> None:
        self.folder, self.workers = folder, Workers()
        self.schedule = ReferenceSchedule(ReferenceConfig(reset_every=reset_every))
        self.references = ReferenceCheckpoints(folder)

    def step(self, step: int) -> checkpoints.Checkpoint:
        """Train a step and save it."""
        if self.schedule.after_updates(step, saturated=0.0, log_ratio=0.0):
            self.references.forget()
        aside = checkpoints.step_folder(self.folder / checkpoints.SAVING, step)
        aside.mkdir(parents=True)
        reference = self.references.save(aside, self.schedule, self.workers)
        checkpoints.seal(aside, step=step, ranks=1, reference=reference)
        checkpoints.publish(aside, checkpoints.step_folder(self.folder, step), reference)
        return checkpoints.read_checkpoint(checkpoints.step_folder(self.folder, step))

    def go_on(self, checkpoint: checkpoints.Checkpoint, reset_every: int = 2) -> "SavedRun":
        """A later start, in the same folder."""
        resumed = SavedRun(self.folder, reset_every)
        resumed.references.load(checkpoint, resumed.schedule, resumed.workers)
        return resumed


def test_a_reference_is_stored_once_a_reset(tmp_path: Path) -> None:
    run = SavedRun(tmp_path)
    saved = [run.step(step) for step in range(1, 6)]
    # Steps 2 and 4 end with a reset: there the reference is the policy.
    assert [checkpoint.reference is None for checkpoint in saved] == [False, True, False, True, False]
    assert [name for name, *_ in run.workers.told] == ["save_reference"] * 3

    run = SavedRun(tmp_path / "rare", reset_every=9)
    (reference,) = {run.step(step).reference for step in range(1, 6)}
    assert len(run.workers.told) == 1
    assert reference is not None
    assert reference.name.startswith("step_0-")


def test_the_reference_of_a_checkpoint_is_taken_up(tmp_path: Path) -> None:
    run = SavedRun(tmp_path)
    first, second, third = (run.step(step) for step in (1, 2, 3))

    resumed = run.go_on(first)
    assert resumed.workers.told == [("load_reference", str(first.reference))]
    assert resumed.step(2).reference is None
    # From the same step on it makes another reference than the run before it; that one stays for its checkpoint.
    other = resumed.step(3)
    assert other.reference != third.reference
    assert run.go_on(second).workers.told == [("reset_reference", False)]

    again = run.go_on(other)
    assert again.schedule.state() == resumed.schedule.state()
    with pytest.raises(ValueError, match=r"reset_every=1, but the run that wrote .*step_1 had another reference"):
        run.go_on(first, reset_every=1)


def test_a_resumed_run_does_not_store_its_reference_again(tmp_path: Path) -> None:
    run = SavedRun(tmp_path, reset_every=9)
    checkpoint = run.step(1)
    resumed = run.go_on(checkpoint, reset_every=9)
    assert resumed.step(2).reference == checkpoint.reference
    assert [name for name, *_ in resumed.workers.told] == ["load_reference"]

    elsewhere = SavedRun(tmp_path / "branch", reset_every=9)
    elsewhere.references.load(checkpoint, elsewhere.schedule, elsewhere.workers)
    stored = elsewhere.step(2).reference
    assert stored is not None
    assert stored.is_relative_to(tmp_path / "branch")


def test_a_first_save_that_fails_at_once_says_why(trainer: MethodTrainer, tmp_path: Path) -> None:
    """Before a worker has made the folder of checkpoints."""

    def dies() -> None:
        raise RuntimeError("a worker died")

    trainer.run_dir, trainer.saving.folder, trainer.global_steps = tmp_path, tmp_path / "checkpoints", 1
    with pytest.raises(RuntimeError, match="a worker died"):
        trainer.saving.save(dies)


def test_a_save_that_is_cut_off_leaves_no_reference(tmp_path: Path) -> None:
    """Another would be left by each further try, as large as the model."""
    run = SavedRun(tmp_path)
    run.schedule.after_updates(1, saturated=0.0, log_ratio=0.0)
    aside = checkpoints.step_folder(tmp_path / checkpoints.SAVING, 1)
    aside.mkdir(parents=True)
    assert run.references.save(aside, run.schedule, run.workers) is not None
    checkpoints.clear_unfinished(tmp_path)
    assert list(tmp_path.rglob("*")) == [tmp_path / checkpoints.REFERENCES]


def test_references_may_be_a_link_to_another_disk(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as disk:
        if Path(disk).stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("it needs two file systems")
        (tmp_path / checkpoints.REFERENCES).symlink_to(disk)
        saved = [SavedRun(tmp_path, reset_every=9).step(step).reference for step in (1, 2)]
        assert {path.name for path in Path(disk).iterdir()} == {path.name for path in saved if path is not None}
        assert len(list(Path(disk).iterdir())) == 2


def test_rows_of_a_jagged_tensor_are_summed() -> None:
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([]), torch.tensor([5.0])]
    assert row_sums(torch.nested.as_nested_tensor(rows, layout=torch.jagged)).tolist() == [3.0, 0.0, 5.0]


def test_rewards_that_a_method_takes_for_no_label_are_refused() -> None:
    for method in (Pacs(weight_scope="batch"), Pacs()):
        check_labels(torch.tensor([0.0, 1.0]), method)
    with pytest.raises(ValueError, match=r"labels of 0 and 1, but .* \[0.5\].*reward.custom_reward_function"):
        check_labels(torch.tensor([0.0, 0.5]), Pacs(weight_scope="batch"))
    check_labels(torch.tensor([0.0, 0.5]), Pacs())
    triggered = Pacs(reference=ReferenceConfig(reset_every=None, reset_at_saturation=0.5))
    check_labels(torch.tensor([0.0, 1.0]), triggered)
    with pytest.raises(ValueError, match=r"reset_at_saturation=0\.5: with scores between 0 and 1"):
        check_labels(torch.tensor([0.0, 0.5]), triggered)
    with pytest.raises(ValueError, match=r"labels from 0 to 1, but .* \[-0.5, 1.5\]"):
        check_labels(torch.tensor([0.0, 1.5, -0.5]), Pacs())


def test_prompts_are_numbered_in_order_of_appearance() -> None:
    assert dense_ids(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]


def test_the_prompt_of_a_row_is_what_its_key_says_before_session_and_output() -> None:
    assert [prompt_uid(key) for key in ("3-17_0_0", "run_2-17_4_12")] == ["3-17", "run_2-17"]


def test_rows_are_grouped_weighed_and_counted() -> None:
    uids = ["a", "a", "a", "b", "c", "c", "pad1", "pad2"]
    padding = torch.tensor([False] * 6 + [True] * 2)
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    rows, alone = step_rows(dense_ids(uids), padding, rewards, Pacs(single_class_groups="drop"), torch.ones(8))
    assert rows.labels.tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    assert alone.tolist() == [False, False, False, True, False, False, False, False]
    assert rows.active.tolist() == [True, True, True, False, False, False, False, False]
    assert rows.coefficients.tolist() == [1.5, 0.75, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0]
    written = rows.pack()
    assert written["pacs_shares"].tolist() == [1.0] * 3 + [0.0] * 5
    assert "pacs_credit" not in written
    assert written["pacs_group_sizes"].tolist() == [3, 3, 3, 1, 2, 2, 0, 0]
    assert written["pacs_row_mask"].tolist() == [True, True, True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("estimator", "alone"), [("rloo", [0, 0, 0, 0, 0, 1]), ("grpo", [0, 0, 0, 1, 1, 1]), ("none", [0] * 6)]
)
def test_a_group_too_small_for_the_estimator_is_dropped(estimator: str, alone: list[int]) -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    ids, padding = dense_ids(list("aaabbc")), torch.zeros(6, dtype=torch.bool)
    rows, left_out = step_rows(ids, padding, rewards, Pacs(estimator=estimator), torch.ones(6))
    assert left_out.int().tolist() == alone
    assert rows.active.int().tolist() == [1 - value for value in alone]


def test_statuses_are_told_only_if_every_response_has_one() -> None:
    assert said_of_all([{"status": "correct"}, {"status": "timeout"}], "status", str) == ["correct", "timeout"]
    assert said_of_all([{"status": "correct"}, {}, {"status": "wrong"}], "status", str) is None


def returned(norms: list[float]) -> dict:
    row = torch.tensor([1.0])
    names = (*row_columns(Pacs()), "entropy")
    return {
        exchange.TABLES: [(names, torch.stack([row] * len(names)))],
        "grad_norm": norms,
        "learning_rate": 1e-3,
        "mfu": [0.1, 0.3],
        "loss": [5.0, 7.0],
        "lr": [2e-3],
        "timing_s/reference_pass": 1.0,
        "timing_s/policy_pass": 0.0,
    }


def test_clipped_and_skipped_updates_are_counted(trainer: MethodTrainer) -> None:
    clip = trainer.config.actor_rollout_ref.actor.optim.clip_grad
    metrics = log(trainer, GROUPED, returned([clip / 2, 2 * clip, float("nan"), 3 * clip]))
    assert metrics["pacs/gradient/clipped_fraction"] == 0.5
    assert metrics["pacs/gradient/skipped_count"] == 1
    assert metrics["pacs/update/learning_rate_mean"] == 1e-3
    assert metrics["perf/mfu/actor"] == pytest.approx(0.2)
    assert metrics["actor/entropy"] == 1.0
    assert "actor/loss" not in metrics  # the surrogate's value; pacs/loss_mean is Eq. 8's


@pytest.mark.parametrize(
    ("trigger", "threshold", "value"),
    [("reset_at_saturation", 0.5, 1.0), ("reset_at_log_ratio", 2.0, 2.5), ("reset_at_log_ratio", 3.0, None)],
)
def test_a_threshold_sees_what_the_workers_returned(
    config: DictConfig, trigger: str, threshold: float, value: float | None
) -> None:
    """One row that counts, right and sure of it (psi = 6), with a log-ratio of 2.5."""
    config = copy.deepcopy(config)
    config.method.reference.reset_every = None
    config.method.reference[trigger] = threshold
    trainer = MethodTrainer(config)
    trainer.global_steps, trainer.actor_rollout_wg = 1, Workers()
    row = {"active": 1, "correct": 1, "loss": 0, "score": 6, "log_ratio": 2.5, "tokens": 3}
    row |= {"effective_advantage": 0, "mixed": 1, "grpo_fallback": 0}
    given = returned([1.0]) | {exchange.TABLES: [(tuple(row), torch.tensor(list(row.values()))[:, None])]}
    metrics = log(trainer, GROUPED, given)
    reset(trainer, metrics)
    assert [(event.trigger, event.value) for event in trainer.reference.events] == ([(trigger, value)] if value else [])
    assert metrics["pacs/reference/reset_count"] == (1 if value else 0)
    assert trainer.actor_rollout_wg.told == ([("reset_reference", False)] if value else [])


def test_every_metric_of_the_update_is_in_the_registry(trainer: MethodTrainer) -> None:
    assert [name for name in log(trainer, GROUPED, returned([1.0])) if find(name) is None] == []


def test_what_is_finished_stays_so_while_verl_looks_again(trainer: MethodTrainer) -> None:
    """verl empties its sets before it asks the queue: an end of the rollouts' progress must not look like progress."""
    trainer.phases.current = "rollouts"
    trainer.replay_buffer.finished_keys["train"] = {"1-0", "1-1"}
    trainer.replay_buffer.failure_keys["train"] = {"1-2"}
    assert trainer._progress().count == 3
    trainer.replay_buffer.finished_keys.clear()
    assert trainer._progress().count == 3
    trainer.phases.current = "update"
    assert trainer._progress().count == 1


@pytest.mark.parametrize(
    ("hook", "before", "after"), [("on_step_begin", "update", "rollouts"), ("on_sample_end", "rollouts", "update")]
)
def test_a_phase_begins_with_verls_hook(
    trainer: MethodTrainer, monkeypatch: pytest.MonkeyPatch, hook: str, before: str, after: str
) -> None:
    """Once verl's own is done."""
    seen = []
    monkeypatch.setattr(PPOTrainerSync, hook, lambda self: seen.append(self.phases.current))
    trainer.phases.current = before
    getattr(trainer, hook)()
    assert (seen, trainer.phases.current) == ([before], after)


def test_a_pass_over_the_rollouts_is_a_phase(trainer: MethodTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PPOTrainerSync, "_compute_values", lambda self, batch, metrics: self.phases.current)
    trainer.phases.current = "rollouts"
    assert trainer._compute_values(None, {}) == "values"
    assert trainer.phases.current == "rollouts"


def test_a_trainer_whose_folder_was_taken_over_does_not_save(
    trainer: MethodTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer.run_dir = tmp_path
    monkeypatch.setenv(TOKEN, "mine")
    trainer.saving.check_own()
    write_state(tmp_path, state_in(tmp_path, token="mine"))
    trainer.saving.check_own()
    write_state(tmp_path, state_in(tmp_path, token="another", host="there", pid=7))
    with pytest.raises(RuntimeError, match=r"was taken over by another start, of process 7 on there"):
        trainer.saving.check_own()


def test_a_save_without_every_rank_s_shards_is_refused(tmp_path: Path) -> None:
    for kind in ("model", "optim", "extra_state"):
        for rank in range(2):
            (tmp_path / f"{kind}_world_size_2_rank_{rank}.pt").touch()
    check_shards(tmp_path, 2)
    (tmp_path / "optim_world_size_2_rank_1.pt").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks 1 of 6 shards, optim_world_size_2_rank_1.pt .*all nodes share"):
        check_shards(tmp_path, 2)
