"""What Ray is started with for a run on CPUs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.cluster.ray_node import logical_resources
from pacs.cluster.rendezvous import ClusterError
from tests.integration.real_run import RealRun, make_task


def test_a_run_on_cpus_has_a_logical_gpu_for_each_rank_and_slots_for_its_actors() -> None:
    assert logical_resources(["recipe=arithmetic"]) == ["--num-gpus=1", "--num-cpus=16"]
    ranks = ["--config-name", "grpo", "hardware=cpu", "trainer.n_gpus_per_node=3", "ray_kwargs.ray_init.num_cpus=24"]
    assert logical_resources(ranks) == ["--num-gpus=3", "--num-cpus=24"]
    assert logical_resources(["recipe=arithmetic", "ray_kwargs.ray_init.num_cpus=null"]) == ["--num-gpus=1"]


@pytest.mark.parametrize("arguments", [["recipe=qwen3_8b"], ["--help"], ["--version"]])
def test_ray_counts_real_gpus_itself(arguments: list[str]) -> None:
    assert logical_resources(arguments) == []


def test_a_run_that_cannot_be_composed_is_refused_before_ray(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ClusterError, match="what is wrong with it is above"):
        logical_resources(["recipe=arithmetic", "trainer.nnode=2"])
    assert "Did you mean trainer.nnodes" in capfd.readouterr().err


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
