"""Every patch of foreign behaviour, in one place.

Each patch says what it works around, waits for the module it changes to be imported (so that it costs nothing
where that module is not used), and first checks that what it changes is still as it was when the patch was
written: a new version of verl or vLLM that moved it stops with an error that names the patch, rather than
running without it. All but `VERL_PATCHES` and `VLLM_PATCHES` concern the CPU stack.
"""

import importlib.metadata
import os
from collections.abc import Callable
from functools import partial

from pacs.integration.patches import replacements
from pacs.integration.patches.patch import Patch
from pacs.integration.patches.shown_config import log_without_secrets, print_without_secrets
from pacs.runs.processes import RUN_DIR

VERL_PATCHES = (
    Patch(
        name="a fused head belongs to the root",
        module="verl.utils.fsdp_utils",
        why="verl's fused log-probabilities read lm_head.weight without calling lm_head, which FSDP2 has wrapped by "
        "itself if embeddings are untied (Qwen3-8B), so that the weight is still sharded (verl pull request 7427)",
        anchor="_select_fsdp2_wrap_targets",
        expects=('{"embed_tokens", "lm_head"}',),
        apply=replacements.leave_a_fused_head_to_the_root,
    ),
    Patch(
        name="the forward pass before fusing is kept",
        module="verl.models.transformers.monkey_patch",
        why="verl puts the fused head's forward pass in the place of the class's own, which the probe compares it with",
        anchor="patch_forward_with_backends",
        expects=("model.__class__.forward = forward_with_torch_backend_function",),
        apply=replacements.keep_the_forward_before_fusing,
    ),
    Patch(
        name="weights go to the run's own vLLM",
        module="verl.workers.rollout.vllm_rollout.bucketed_weight_transfer",
        why="the socket for new weights is named after Ray's job, which is the first in every Ray: of two runs on one "
        "machine one's vLLM may take the other's weights, and both hang (verl issue 6233 once more)",
        anchor="",
        expects=("class BucketedWeightSender:", "class BucketedWeightReceiver:", replacements.WEIGHTS_SOCKET),
        apply=replacements.weights_go_to_the_own_run,
    ),
    Patch(
        name="collectives have the time that the config gives them",
        module="verl.utils.distributed",
        why="verl has the setting actor_rollout_ref.nccl_timeout and reads it nowhere: its workers ask for torch's own "
        "time, which is 30 minutes of a group for both gloo and NCCL",
        anchor="initialize_global_process_group_ray",
        expects=("timeout=timeout,", "timedelta(seconds=timeout_second) if timeout_second is not None else None"),
        apply=replacements.collective_timeout,
    ),
    Patch(
        name="a critic with the config's attention",
        module="verl.utils.model",
        why="verl loads a critic with flash attention whatever attn_implementation says; not every machine has it",
        anchor="load_valuehead_model",
        expects=(
            "def load_valuehead_model(local_path, torch_dtype, model_config, trust_remote_code)",
            'attn_implementation="flash_attention_2"',
        ),
        apply=replacements.critic_with_the_configs_attention,
    ),
    Patch(
        name="a receiver of weights says what has failed",
        module="verl.workers.rollout.vllm_rollout.bucketed_weight_transfer",
        why="an exception in the midst still holds the shared memory, which verl then cannot close, and of which alone "
        "it tells",
        anchor="BucketedWeightReceiver",
        expects=("        finally:\n            self._cleanup()", "self.shm.close()"),
        apply=replacements.receivers_say_what_has_failed,
    ),
    Patch(
        name="senders of weights are watched",
        module="verl.workers.rollout.vllm_rollout.vllm_rollout",
        why="verl's sender waits for ever for a receiver that has raised or died",
        anchor="ServerAdapter.update_weights",
        expects=(
            "future = await self._execute_method(\n",
            "sender = BucketedWeightSender(\n            zmq_handle=self.zmq_handle,",
        ),
        apply=replacements.senders_are_watched,
    ),
    Patch(
        name="Ray's daemons are killed",
        module="ray._private.node",
        why="a run's daemons have SIGTERM blocked (pacs/runs/signals.py), and at the end Ray waits a second for each, "
        "and then kills it",
        anchor="Node.kill_all_processes",
        expects=("check_alive: bool = True,\n        allow_graceful: bool = False,",),
        apply=replacements.rays_daemons_are_killed,
    ),
    Patch(
        name="the config is printed without secrets",
        module="verl.trainer.main_ppo",
        why="verl prints the whole config, and what Ray is started with, to the console and into Ray's logs",
        anchor="",
        expects=(
            'print(f"ray init kwargs: {ray_init_kwargs}")',
            "pprint(OmegaConf.to_container(config, resolve=True))",
        ),
        apply=print_without_secrets,
    ),
    Patch(
        name="loggers get the config without secrets",
        module="verl.utils.tracking",
        why="verl sends the whole config to W&B, MLflow and the like",
        anchor="Tracking.__init__",
        expects=("def __init__(self, project_name, experiment_name, default_backend: str | list[str]", "config=None)"),
        apply=log_without_secrets,
    ),
)

VERL_CPU_PATCHES = (
    Patch(
        name="engines for the CPU",
        module="verl.workers.engine.fsdp.transformer_impl",
        why="verl registers its FSDP engines for cuda and npu only",
        anchor="",
        expects=("class FSDPEngineWithLMHead(", "class FSDPEngineWithValueHead(", 'device=["cuda", "npu"]'),
        apply=replacements.register_cpu_engines,
    ),
    Patch(
        name="no pinned memory",
        module="verl.workers.engine.fsdp.transformer_impl",
        why="the reference's FSDP2 offload policy pins memory, which needs an accelerator",
        anchor="FSDPEngine._build_fsdp_module",
        expects=("CPUOffloadPolicy(pin_memory=True)",),
        apply=replacements.do_not_pin_memory,
    ),
    Patch(
        name="gloo process group",
        module="verl.utils.distributed",
        why='verl asks for the backend "cpu:gloo,cpu:gloo", which torch refuses',
        anchor="initialize_global_process_group_ray",
        expects=('backend = backend or f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',),
        apply=replacements.gloo_process_group,
    ),
)

VLLM_PATCHES = (
    Patch(
        name="engines are started with signals blocked",
        module="vllm.v1.engine.utils",
        why="a signal to every process of a run would end its engine, which handles some only once it is up",
        anchor="CoreEngineProcManager.__init__",
        expects=("context.Process(", "proc.start()"),
        apply=replacements.engines_are_started_blocked,
    ),
)

VLLM_CPU_PATCHES = (
    Patch(
        name="linear weights are kept",
        module="vllm.model_executor.layers.utils",
        why="vLLM drops a linear layer's weights after packing them for the CPU, so that a weight update finds "
        "no parameter to load into; kept, verl's post-load processing packs them again",
        anchor="dispatch_cpu_unquantized_gemm",
        expects=("remove_weight: bool", "if remove_weight:\n            layer.weight = "),
        apply=replacements.keep_linear_weights,
    ),
    Patch(
        name="waiting for the engine's messages leaves the cores to others",
        module="vllm.distributed.device_communicators.shm_broadcast",
        why="for a second after each message vLLM's processes look for the next without a pause, and take the cores "
        "that the rest of a run needs",
        anchor="SpinCondition.wait",
        expects=("if current_time <= self.last_read + self.busy_loop_s:\n            sched_yield()",),
        apply=replacements.pause_between_looks_for_messages,
    ),
)


def install_distribution_alias() -> None:
    """Let `importlib.metadata.version("vllm")` find the CPU build, whose distribution is named `vllm-cpu`.

    verl asks for the distribution `vllm` and refuses to run without it. The answer ends in "+cpu", the local
    version by which vLLM itself recognises its CPU build.
    """
    original = importlib.metadata.version
    if isinstance(original, partial):
        return
    try:
        original("vllm")
        return
    except importlib.metadata.PackageNotFoundError:
        pass
    importlib.metadata.version = partial(_version_with_alias, original)


def _version_with_alias(original: Callable[[str], str], distribution_name: str) -> str:
    if distribution_name == "vllm":
        return original("vllm-cpu") + "+cpu"
    return original(distribution_name)


def install_for_verl() -> None:
    """Patch verl on every platform; called in every process that imports verl."""
    for patch in VERL_PATCHES:
        patch.install()


def install_for_verl_on_cpu() -> None:
    """Patch verl for the CPU stack; called in every process that imports verl."""
    install_distribution_alias()
    for patch in VERL_CPU_PATCHES:
        patch.install()


def install_for_vllm() -> None:
    """Patch vLLM in a run, on every platform; called in every vLLM process."""
    if RUN_DIR in os.environ:
        for patch in VLLM_PATCHES:
            patch.install()


def install_for_vllm_on_cpu() -> None:
    """Patch vLLM for the CPU stack; called in every vLLM process."""
    for patch in VLLM_CPU_PATCHES:
        patch.install()
