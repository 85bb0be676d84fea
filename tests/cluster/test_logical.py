"""What Ray is started with for a run on CPUs, and whether a run uses the nodes of its job."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.cluster.ray_node import check_nodes, composed_run, logical_resources
from pacs.cluster.rendezvous import ClusterError
from tests.integration.real_run import RealRun, make_task


def test_a_run_on_cpus_has_a_logical_gpu_for_each_rank_and_slots_for_its_actors() -> None:
    assert logical_resources(composed_run(["recipe=arithmetic"])) == ["--num-gpus=1", "--num-cpus=16"]
    ranks = ["--config-name", "grpo", "hardware=cpu", "trainer.n_gpus_per_node=3", "ray_kwargs.ray_init.num_cpus=24"]
    assert logical_resources(composed_run(ranks)) == ["--num-gpus=3", "--num-cpus=24"]
    unlimited = composed_run(["recipe=arithmetic", "ray_kwargs.ray_init.num_cpus=null"])
    assert logical_resources(unlimited) == ["--num-gpus=1"]


@pytest.mark.parametrize("arguments", [["recipe=qwen3_8b"], ["--help"], ["--version"]])
def test_ray_counts_real_gpus_itself(arguments: list[str]) -> None:
    assert logical_resources(composed_run(arguments)) == []


def test_a_run_that_cannot_be_composed_is_refused_before_ray(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ClusterError, match="what is wrong with it is above"):
        composed_run(["recipe=arithmetic", "trainer.nnode=2"])
    assert "Did you mean trainer.nnodes" in capfd.readouterr().err


def test_a_run_that_would_leave_nodes_idle_is_refused() -> None:
    """As one does whose trainer.nnodes was forgotten, with --nodes=8 of sbatch."""
    check_nodes(None, 8)
    forgotten = composed_run(["recipe=qwen3_8b"])
    check_nodes(forgotten, 1)
    with pytest.raises(ClusterError, match=r"uses 1 of 8 nodes, .*: set trainer\.nnodes=8, or ask for fewer"):
        check_nodes(forgotten, 8)
    apart = ["trainer.nnodes=5", "actor_rollout_ref.rollout.nnodes=2"]
    judged = ["reward.reward_model.enable=true", "reward.reward_model.enable_resource_pool=true"]
    of_three = composed_run(["recipe=qwen3_8b", *apart, *judged, "reward.reward_model.nnodes=1"])
    check_nodes(of_three, 8)
    with pytest.raises(ClusterError, match="uses 8 of 9 nodes"):
        check_nodes(of_three, 9)
    check_nodes(composed_run(["recipe=qwen3_8b", "trainer.nnodes=many"]), 8)  # `pacs train` refuses it


@pytest.mark.slow
@pytest.mark.long
def test_the_user_s_own_arguments_of_ray_count_and_a_cluster_without_logical_gpus_is_told_how_to_have_them(
    tmp_path: Path,
) -> None:
    run = RealRun(make_task(tmp_path), tmp_path / "run")
    command = [sys.executable, "-m", "pacs.cluster", "--node=0", "--nodes=1", f"--meet={tmp_path / 'meet'}", "--"]
    env = os.environ | {"PACS_RAY_ARGS": "--num-gpus=0"}
    train = run.command[run.command.index("train") + 1 :]
    ended = subprocess.run([*command, *train], env=env, capture_output=True, text=True, timeout=200)
    assert ended.returncode == 2, ended.stdout + ended.stderr
    assert "the Ray cluster has 1 nodes (GPUs of each: " in ended.stderr
    assert ": 0): ask for fewer, or start Ray on each node with --num-gpus=1 --num-cpus=16, logical" in ended.stderr
