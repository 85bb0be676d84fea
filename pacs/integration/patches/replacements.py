"""What each patch changes in a foreign module, a function each; `patches` says of each what it works around."""

import os
import time
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from pacs.runs import signals
from pacs.runs.processes import RUN_DIR, TOKEN

#: How the names of verl's sockets for weights begin.
WEIGHTS_SOCKET = "ipc:///tmp/rl-colocate-zmq-"
#: Of a process that waits for a message of vLLM's engine; benchmarks/engine_messages.py measures what it costs.
SECONDS_BETWEEN_LOOKS = 2e-4
#: Variable of a run's processes: `actor_rollout_ref.nccl_timeout`.
COLLECTIVE_SECONDS = "PACS_COLLECTIVE_SECONDS"
#: Class of a model -> its own forward pass, where verl has put one with a fused head in its place.
FORWARD_BEFORE_FUSING: dict[type, Callable[..., Any]] = {}


def register_cpu_engines(module: Any) -> None:
    """Register the FSDP engines for the device `cpu` too."""
    from verl.workers.engine.base import EngineRegistry

    for model_type, engine in (
        ("language_model", module.FSDPEngineWithLMHead),
        ("value_model", module.FSDPEngineWithValueHead),
    ):
        EngineRegistry.register(model_type=model_type, backend=["fsdp", "fsdp2"], device="cpu")(engine)


def do_not_pin_memory(module: Any) -> None:
    """Offload to memory that is not pinned: there is no accelerator to copy to."""
    policy = module.CPUOffloadPolicy
    module.CPUOffloadPolicy = lambda pin_memory=False: policy(pin_memory=False)


def collective_timeout(module: Any) -> None:
    """Give the process group of a run the time of `actor_rollout_ref.nccl_timeout`."""
    original, seconds = module.initialize_global_process_group_ray, os.environ.get(COLLECTIVE_SECONDS)
    if seconds is None:  # verl is used by itself
        return

    @wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second or int(seconds), backend=backend)

    module.initialize_global_process_group_ray = initialize


def gloo_process_group(module: Any) -> None:
    """Make the process group of gloo, unless another is asked for."""
    original = module.initialize_global_process_group_ray

    @wraps(original)
    def initialize(timeout_second: int | None = None, backend: str | None = None) -> None:
        original(timeout_second=timeout_second, backend=backend or "gloo")

    module.initialize_global_process_group_ray = initialize


def engines_are_started_blocked(module: Any) -> None:
    """Start vLLM's engines with the signals blocked, see `pacs.runs.signals`."""
    original = module.CoreEngineProcManager.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        with signals.blocked():
            original(self, *args, **options)

    module.CoreEngineProcManager.__init__ = init


def keep_linear_weights(module: Any) -> None:
    """Have linear layers keep their weights, which are loaded anew after each step."""
    original = module.dispatch_cpu_unquantized_gemm

    @wraps(original)
    def dispatch(layer: Any, remove_weight: bool) -> None:
        original(layer, remove_weight=False)

    module.dispatch_cpu_unquantized_gemm = dispatch


def pause_between_looks_for_messages(module: Any) -> None:
    """Sleep between two looks for a message of vLLM's engine.

    Waiting for its notification at once would not do: some are dropped, and the next look is five seconds later.
    """
    module.sched_yield = partial(time.sleep, SECONDS_BETWEEN_LOOKS)


def leave_a_fused_head_to_the_root(module: Any) -> None:
    """Do not wrap the head of a model by itself if its forward pass is fused with it."""
    original = module._select_fsdp2_wrap_targets

    @wraps(original)
    def select(model: Any, layer_classes: Any) -> Any:
        targets = original(model, layer_classes)
        if not hasattr(model, "_verl_fused_kernels_backend"):
            return targets
        head = model.get_output_embeddings()
        return [target for target in targets if target is not head]

    module._select_fsdp2_wrap_targets = select


def keep_the_forward_before_fusing(module: Any) -> None:
    """Note a model's own forward pass before verl replaces it, in `FORWARD_BEFORE_FUSING`."""
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


def weights_go_to_the_own_run(module: Any) -> None:
    """Put the run's token into the names of the sockets by which weights are sent."""
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


def senders_are_watched(module: Any) -> None:
    """Have the sender of weights look whether its receiver has failed."""

    def watched(*args: Any, **options: Any) -> Any:
        # It imports what is being imported here.
        from pacs.integration.patches.weight_transfer import WatchedSender

        return WatchedSender(*args, **options)

    module.BucketedWeightSender = watched


def receivers_say_what_has_failed(module: Any) -> None:
    """Have the receiver of weights say what it raises to the sender, which waits for it."""
    original = module.BucketedWeightReceiver.receive_weights

    @wraps(original)
    def receive(self: Any, on_bucket_received: Callable[..., None]) -> None:
        try:
            original(self, on_bucket_received)
        except BufferError as error:
            raise error.__context__ or error from None

    module.BucketedWeightReceiver.receive_weights = receive


def rays_daemons_are_killed(module: Any) -> None:
    """Have Ray kill a run's daemons at its end: they do not heed SIGTERM."""
    if RUN_DIR not in os.environ:  # its daemons heed SIGTERM
        return
    original = module.Node.kill_all_processes

    @wraps(original)
    def kill_all_processes(self: Any, check_alive: bool = True, allow_graceful: bool = False, **options: Any) -> None:
        original(self, check_alive=check_alive, allow_graceful=False, **options)

    module.Node.kill_all_processes = kill_all_processes


def critic_with_the_configs_attention(module: Any) -> None:
    """Load a critic with the attention that its config names."""
    original = module.load_valuehead_model

    def load(local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool) -> Any:
        from transformers import AutoModelForTokenClassification

        if str(model_config._attn_implementation).startswith("flash"):
            return original(local_path, torch_dtype, model_config, trust_remote_code)
        return AutoModelForTokenClassification.from_pretrained(
            local_path, dtype=torch_dtype, config=model_config, trust_remote_code=trust_remote_code
        )

    module.load_valuehead_model = load
