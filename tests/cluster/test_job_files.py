"""Job files beside Slurm's: what they start is a run that pacs takes, on as many nodes and GPUs as they ask for."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pacs.composing import compose_run

SCRIPTS = Path(__file__).parents[2] / "scripts"
SKYPILOT = "skypilot==0.14.1"
#: It has Kubernetes's own schemas; KubeRay's is in no package.
KUBERNETES = "kubernetes-validate==1.37.0"


def read(name: str) -> dict[str, Any]:
    return yaml.safe_load((SCRIPTS / name / "train.yaml").read_text())


def test_kuberay_s_job_starts_a_run_of_its_own_size() -> None:
    job = read("kuberay")
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    command, subcommand, *overrides = shlex.split(job["spec"]["entrypoint"])
    assert (command, subcommand) == ("pacs", "train")
    config = compose_run("pacs", overrides)[0]
    (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert {group["replicas"], group["minReplicas"], group["maxReplicas"]} == {config.trainer.nnodes}
    assert config.ray_kwargs.ray_init.address == "auto"
    assert config.run.dir == "/shared/outputs/pacs/qwen3_8b-pacs"
    # The image has no data.
    assert {file.split("/data/")[0] for file in (config.data.train_files, config.data.val_files)} == {"/shared"}
    pods = [job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"], group["template"]]
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        assert "/dev/shm" in {mount["mountPath"] for mount in container["volumeMounts"]}
    limits = [pod["spec"]["containers"][0]["resources"]["limits"].get("nvidia.com/gpu") for pod in pods]
    assert limits == [None, str(config.trainer.n_gpus_per_node)]


def started(task: dict[str, Any], node: int, addresses: str) -> list[str]:
    """The words of the command that SkyPilot's task starts on a node."""
    stubs = "source() { :; }; pacs_activate() { :; }; mkdir() { :; }; exec() { printf '%s\\n' \"$@\"; }\n"
    place = {"SKYPILOT_NODE_RANK": str(node), "SKYPILOT_NUM_NODES": "2", "SKYPILOT_TASK_ID": "sky-7"}
    variables = {**place, "SKYPILOT_NODE_IPS": addresses, "PATH": "/usr/bin:/bin", **task["envs"]}
    command = ["bash", "-c", stubs + task["run"]]
    return subprocess.run(command, env=variables, text=True, capture_output=True, check=True).stdout.splitlines()


def test_a_managed_job_of_skypilot_s_meets_anew_when_it_is_recovered() -> None:
    """It keeps SKYPILOT_TASK_ID (sky/skylet/constants.py of 0.14.1), on other machines."""
    first, other, recovered = (
        started(read("sky"), node, addresses)[8]
        for node, addresses in ((0, "10.0.0.4\n10.0.0.5"), (1, "10.0.0.4\n10.0.0.5"), (0, "10.0.0.4\n10.0.0.9"))
    )
    assert first == other != recovered


def test_skypilot_s_task_starts_a_run_of_its_own_size() -> None:
    task = read("sky")
    config = compose_run("pacs", shlex.split(task["envs"]["PACS_ARGS"]))[0]
    assert task["num_nodes"] == config.trainer.nnodes
    assert task["resources"]["accelerators"] == f"H200:{config.trainer.n_gpus_per_node}"
    for part in ("setup", "run"):
        assert subprocess.run(["bash", "-n"], input=task[part], text=True, check=False).returncode == 0
    words = started(task, 1, "10.0.0.4\n10.0.0.5")
    assert words[:8] == ["python", "-m", "pacs.cluster", "--node", "1", "--nodes", "2", "--meet"]
    assert Path(words[8]).parent == Path("/shared/nodes")
    assert words[9] == "--"
    config = compose_run("pacs", words[10:])[0]
    assert (config.trainer.nnodes, config.run.dir) == (2, "/shared/outputs/pacs/qwen3_8b-pacs")
    # A bucket, which `file_mounts` would be, takes no appends.
    assert (list(task["volumes"]), "file_mounts" in task) == (["/shared"], False)


def installed(requirement: str, folder: Path) -> Path:
    """The programs of a package, in an environment of its own."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", requirement], check=True)
    return folder / "bin"


@pytest.mark.long
def test_the_pods_of_kuberay_s_job_are_kubernetes_s(tmp_path: Path) -> None:
    """Each field of a pod is one that Kubernetes knows, of its type; a field that is misspelt is not."""
    cluster = read("kuberay")["spec"]["rayClusterSpec"]
    files = []
    for name, group in {"head": cluster["headGroupSpec"], "worker": cluster["workerGroupSpecs"][0]}.items():
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, **group["template"]}
        files.append(tmp_path / f"{name}.yaml")
        files[-1].write_text(yaml.safe_dump(pod))
    misspelt = files[-1].read_text().replace("volumeMounts:", "volumeMount:")
    (tmp_path / "misspelt.yaml").write_text(misspelt)
    program = installed(KUBERNETES, tmp_path / "env") / "kubernetes-validate"
    subprocess.run([program, "--strict", *files], check=True)
    refused = subprocess.run(
        [program, "--strict", tmp_path / "misspelt.yaml"], text=True, capture_output=True, check=False
    )
    assert refused.returncode != 0
    assert "'volumeMount' was unexpected" in refused.stdout + refused.stderr


@pytest.mark.long
def test_skypilot_reads_its_task(tmp_path: Path) -> None:
    programs = installed(SKYPILOT, tmp_path / "env")
    code = f"import sky; task = sky.Task.from_yaml({str(SCRIPTS / 'sky/train.yaml')!r}); print(task.num_nodes)"
    done = subprocess.run(
        [programs / "python", "-c", code], cwd=SCRIPTS.parent, text=True, capture_output=True, check=True
    )
    assert done.stdout.split()[-1] == "2"
