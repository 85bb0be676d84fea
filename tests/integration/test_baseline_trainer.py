"""What the trainer of verl's own algorithms adds to verl's loop, as far as that shows without Ray."""

import pytest
from hydra import compose, initialize_config_dir
from verl.trainer.ppo.utils import Role
from verl.workers.engine_workers import TrainingWorker

from pacs.integration.baseline_trainer import BaselineTrainer, without_shaping
from pacs.integration.gradients import gradient_metrics
from pacs.integration.poison import PoisonError
from pacs.integration.training_worker import SKIPPED_IN_A_ROW, BaselineTrainingWorker
from pacs.paths import config_dir


def trainer(algorithm: str, *overrides: str) -> BaselineTrainer:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return BaselineTrainer(compose(algorithm, overrides=["recipe=arithmetic", *overrides]))


@pytest.mark.parametrize(
    ("algorithm", "overrides", "roles"),
    [
        ("ppo", [], {Role.ActorRollout, Role.Critic}),
        ("grpo", [], {Role.ActorRollout}),
        ("grpo", ["actor_rollout_ref.actor.use_kl_loss=true"], {Role.ActorRolloutRef}),
    ],
)
def test_every_role_has_a_worker_of_ours(algorithm: str, overrides: list[str], roles: set[Role]) -> None:
    made = trainer(algorithm, *overrides)
    made._init_resource_pool_mgr()
    assert made.role_worker_mapping.keys() == roles
    for remote in made.role_worker_mapping.values():
        worker = remote.__ray_metadata__.modified_class
        trained = worker if issubclass(worker, TrainingWorker) else worker.actor_worker_cls
        assert issubclass(trained, BaselineTrainingWorker)


def test_groups_are_sampled_anew_up_to_the_limit() -> None:
    made = trainer("dapo", "algorithm.filter_groups.max_num_gen_batches=3")
    made.global_steps = 7
    for _ in range(2):  # the count begins anew with each step
        made._count_resampled(None)
        made._count_resampled(100)
        made._count_resampled(28)
        assert made.prompts_resampled == 128
    with pytest.raises(RuntimeError, match=r"step 7: 193 prompts .* algorithm.filter_groups.max_num_gen_batches=3"):
        made._count_resampled(1)
    unbounded = trainer("dapo", "algorithm.filter_groups.max_num_gen_batches=0")
    unbounded._count_resampled(10**6)


def test_skipped_updates_stop_the_run() -> None:
    made = trainer("ppo", "pacs.faults.skipped_updates=2")
    made.global_steps = 4
    norms = [0.5, float("nan"), 3.0]
    told = {f"actor/{name}": value for name, value in gradient_metrics(norms, 1.0).items()}
    metrics = {"actor/grad_norm": 1.0, "critic/pacs/other": 0.0, **told, f"actor/{SKIPPED_IN_A_ROW}": 1}
    ours = made._gradients("actor", metrics)
    assert ours["pacs/gradient/skipped_count"] == 1
    assert ours["pacs/gradient/clipped_fraction"] == pytest.approx(1 / 3)
    assert metrics == {"actor/grad_norm": 1.0, "critic/pacs/other": 0.0}
    with pytest.raises(PoisonError, match=r"2 updates in a row were skipped.* step 4$"):
        made._gradients("critic", {f"critic/{SKIPPED_IN_A_ROW}": 2})


def test_scores_are_the_verifier_s_where_it_gives_one() -> None:
    assert without_shaping([0.5, 1.0, 0.25], [{"score": 1.0}, {"acc": 1.0}, {"score": None}]) == [1.0, 1.0, 0.25]
