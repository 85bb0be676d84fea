"""Every patch of foreign behaviour, in one place.

Each patch says what it works around, waits for the module it changes to be imported (so that it costs nothing
where that module is not used), and first checks that what it changes is still as it was when the patch was
written: a new version of verl or vLLM that moved it stops with an error that names the patch, rather than
running without it. All but `VERL_PATCHES` and `VLLM_PATCHES` concern the CPU stack.
"""

import importlib.metadata
import inspect
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from types import ModuleType
from typing import Any

import wrapt

from pacs.integration.compatibility.shown_config import log_without_secrets, print_without_secrets
from pacs.runs import signals
from pacs.runs.processes import RUN_DIR, TOKEN

#: How the names of verl's sockets for weights begin.
WEIGHTS_SOCKET = "ipc:///tmp/rl-colocate-zmq-"
#: Variable of a run's processes: `actor_rollout_ref.nccl_timeout`.
COLLECTIVE_SECONDS = "PACS_COLLECTIVE_SECONDS"
#: Class of a model -> its own forward pass, where verl has put one with a fused head in its place.
FORWARD_BEFORE_FUSING: dict[type, Callable[..., Any]] = {}


class PatchError(RuntimeError):
    """A patch no longer fits the installed version of what it changes."""


@dataclass(frozen=True)
class Patch:
    """One change of a foreign module.

    Attributes:
        name: Short name, for errors.
        module: The module that is changed, after its import.
        why: What the patch works around.
        expects: Source fragments that `anchor` must contain for the patch to make sense.
        anchor: Dotted name, within the module, of what is changed; "" is the module itself.
        apply: Makes the change.
    """

    name: str
    module: str
    why: str
    anchor: str
    expects: tuple[str, ...]
    apply: Callable[[ModuleType], None]

    def check(self, module: ModuleType) -> None:
        """Raise `PatchError` if the module is not what the patch was written for."""
        target: Any = module
        for part in filter(None, self.anchor.split(".")):
            if not hasattr(target, part):
                raise self._error(f"{self.anchor} is gone")
            target = getattr(target, part)
        source = inspect.getsource(target)
        missing = [fragment for fragment in self.expects if fragment not in source]
        if missing:
            raise self._error(f"its source no longer contains {missing}")

    def install(self) -> None:
        """Apply the patch when its module is imported, or now if it already is."""
        if self.module in sys.modules:
            self._on_import(sys.modules[self.module])
        else:
            wrapt.register_post_import_hook(self._on_import, self.module)

    def _on_import(self, module: ModuleType) -> None:
        self.check(module)
        self.apply(module)

    def _error(self, what: str) -> PatchError:
        return PatchError(
            f"The patch '{self.name}' ({self.why}) does not fit the installed {self.module}: {what}. "
            "Install the versions pinned in pyproject.toml, or bring "
            "pacs/integration/compatibility/patches.py up to date."
        )


def _register_cpu_engines(module: Any) -> None:
    from verl.workers.engine.base import EngineRegistry

    for model_type, engine in (
        ("language_model", module.FSDPEngineWithLMHead),
        ("value_model", module.FSDPEngineWithValueHead),
    ):
        EngineRegistry.register(model_type=model_type, backend=["fsdp", "fsdp2"], device="cpu")(engine)


def _do_not_pin_memory(module: Any) -> None:
    policy = module.CPUOffloadPolicy
    module.CPUOffloadPolicy = lambda pin_memory=False: policy(pin_memory=False)


def _collective_timeout(module: Any) -> None:
    original, seconds = module.initialize_global_process_group_ray, os.environ.get(COLLECTIVE_SECONDS)
    if seconds is None:  # verl is used by itself
        return

    @wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second or int(seconds), backend=backend)

    module.initialize_global_process_group_ray = initialize


def _gloo_process_group(module: Any) -> None:
    original = module.initialize_global_process_group_ray

    @wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second, backend=backend or "gloo")

    module.initialize_global_process_group_ray = initialize


def _engines_are_started_blocked(module: Any) -> None:
    original = module.CoreEngineProcManager.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        with signals.blocked():
            original(self, *args, **options)

    module.CoreEngineProcManager.__init__ = init


def _keep_linear_weights(module: Any) -> None:
    original = module.dispatch_cpu_unquantized_gemm

    @wraps(original)
    def dispatch(layer: Any, remove_weight: bool) -> None:
        original(layer, remove_weight=False)

    module.dispatch_cpu_unquantized_gemm = dispatch


def _leave_a_fused_head_to_the_root(module: Any) -> None:
    original = module._select_fsdp2_wrap_targets

    @wraps(original)
    def select(model: Any, layer_classes: Any) -> Any:
        targets = original(model, layer_classes)
        if not hasattr(model, "_verl_fused_kernels_backend"):
            return targets
        head = model.get_output_embeddings()
        return [target for target in targets if target is not head]

    module._select_fsdp2_wrap_targets = select


def _keep_the_forward_before_fusing(module: Any) -> None:
    original = module.patch_forward_with_backends

    @wraps(original)
    def patch(model: Any, *args: Any, **kwargs: Any) -> None:
        own_class = type(model)
        before = own_class.forward
        original(model, *args, **kwargs)
        # Not the second time: another model of the class is in this process.
        if own_class.forward is not before and own_class not in FORWARD_BEFORE_FUSING:
            FORWARD_BEFORE_FUSING[own_class] = before

    module.patch_forward_with_backends = patch


def _weights_go_to_the_own_run(module: Any) -> None:
    token = os.environ.get(TOKEN)
    if token is None:  # verl is used by itself
        return
    for side in (module.BucketedWeightSender, module.BucketedWeightReceiver):
        side.__init__ = _with_token(side.__init__, token)


def _with_token(original: Callable[..., None], token: str) -> Callable[..., None]:
    @wraps(original)
    def init(self: Any, zmq_handle: str, *args: Any, **kwargs: Any) -> None:
        original(self, zmq_handle.replace(WEIGHTS_SOCKET, f"{WEIGHTS_SOCKET}{token}-"), *args, **kwargs)

    return init


def _senders_are_watched(module: Any) -> None:
    def watched(*args: Any, **options: Any) -> Any:
        from pacs.integration.compatibility.weight_transfer import (
            WatchedSender,  # which imports what is being imported here
        )

        return WatchedSender(*args, **options)

    module.BucketedWeightSender = watched


def _receivers_say_what_has_failed(module: Any) -> None:
    original = module.BucketedWeightReceiver.receive_weights

    @wraps(original)
    def receive(self: Any, on_bucket_received: Callable[..., None]) -> None:
        try:
            original(self, on_bucket_received)
        except BufferError as error:
            raise error.__context__ or error from None

    module.BucketedWeightReceiver.receive_weights = receive


def _rays_daemons_are_killed(module: Any) -> None:
    if RUN_DIR not in os.environ:  # its daemons heed SIGTERM
        return
    original = module.Node.kill_all_processes

    @wraps(original)
    def kill_all_processes(self: Any, check_alive: bool = True, allow_graceful: bool = False, **options: Any) -> None:
        original(self, check_alive=check_alive, allow_graceful=False, **options)

    module.Node.kill_all_processes = kill_all_processes


def _critic_with_the_configs_attention(module: Any) -> None:
    original = module.load_valuehead_model

    def load(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
        from transformers import AutoModelForTokenClassification

        if str(model_config._attn_implementation).startswith("flash"):
            return original(local_path, torch_dtype, model_config, trust_remote_code)
        return AutoModelForTokenClassification.from_pretrained(
            local_path, dtype=torch_dtype, config=model_config, trust_remote_code=trust_remote_code
        )

    module.load_valuehead_model = load


VERL_PATCHES = (
    Patch(
        name="a fused head belongs to the root",
        module="verl.utils.fsdp_utils",
        why="verl's fused log-probabilities read lm_head.weight without calling lm_head, which FSDP2 has wrapped by "
        "itself if embeddings are untied (Qwen3-8B), so that the weight is still sharded (verl pull request 7427)",
        anchor="_select_fsdp2_wrap_targets",
        expects=('{"embed_tokens", "lm_head"}',),
        apply=_leave_a_fused_head_to_the_root,
    ),
    Patch(
        name="the forward pass before fusing is kept",
        module="verl.models.transformers.monkey_patch",
        why="verl puts the fused head's forward pass in the place of the class's own, which the probe compares it with",
        anchor="patch_forward_with_backends",
        expects=("model.__class__.forward = forward_with_torch_backend_function",),
        apply=_keep_the_forward_before_fusing,
    ),
    Patch(
        name="weights go to the run's own vLLM",
        module="verl.workers.rollout.vllm_rollout.bucketed_weight_transfer",
        why="the socket for new weights is named after Ray's job, which is the first in every Ray: of two runs on one "
        "machine one's vLLM may take the other's weights, and both hang (verl issue 6233 once more)",
        anchor="",
        expects=("class BucketedWeightSender:", "class BucketedWeightReceiver:", WEIGHTS_SOCKET),
        apply=_weights_go_to_the_own_run,
    ),
    Patch(
        name="collectives have the time that the config gives them",
        module="verl.utils.distributed",
        why="verl has the setting actor_rollout_ref.nccl_timeout and reads it nowhere: its workers ask for torch's own "
        "time, which is 30 minutes of a group for both gloo and NCCL",
        anchor="initialize_global_process_group_ray",
        expects=("timeout=timeout,", "timedelta(seconds=timeout_second) if timeout_second is not None else None"),
        apply=_collective_timeout,
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
        apply=_critic_with_the_configs_attention,
    ),
    Patch(
        name="a receiver of weights says what has failed",
        module="verl.workers.rollout.vllm_rollout.bucketed_weight_transfer",
        why="an exception in the midst still holds the shared memory, which verl then cannot close, and of which alone "
        "it tells",
        anchor="BucketedWeightReceiver",
        expects=("        finally:\n            self._cleanup()", "self.shm.close()"),
        apply=_receivers_say_what_has_failed,
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
        apply=_senders_are_watched,
    ),
    Patch(
        name="Ray's daemons are killed",
        module="ray._private.node",
        why="a run's daemons have SIGTERM blocked (pacs/runs/signals.py), and at the end Ray waits a second for each, "
        "and then kills it",
        anchor="Node.kill_all_processes",
        expects=("check_alive: bool = True,\n        allow_graceful: bool = False,",),
        apply=_rays_daemons_are_killed,
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
        apply=_register_cpu_engines,
    ),
    Patch(
        name="no pinned memory",
        module="verl.workers.engine.fsdp.transformer_impl",
        why="the reference's FSDP2 offload policy pins memory, which needs an accelerator",
        anchor="FSDPEngine._build_fsdp_module",
        expects=("CPUOffloadPolicy(pin_memory=True)",),
        apply=_do_not_pin_memory,
    ),
    Patch(
        name="gloo process group",
        module="verl.utils.distributed",
        why='verl asks for the backend "cpu:gloo,cpu:gloo", which torch refuses',
        anchor="initialize_global_process_group_ray",
        expects=('backend = backend or f"cpu:gloo,{get_device_name()}:{get_nccl_backend()}"',),
        apply=_gloo_process_group,
    ),
)

VLLM_PATCHES = (
    Patch(
        name="engines are started with signals blocked",
        module="vllm.v1.engine.utils",
        why="a signal to every process of a run would end its engine, which handles some only once it is up",
        anchor="CoreEngineProcManager.__init__",
        expects=("context.Process(", "proc.start()"),
        apply=_engines_are_started_blocked,
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
        apply=_keep_linear_weights,
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
