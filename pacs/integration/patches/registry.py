"""Every patch of foreign behaviour, in one place.

Each patch says what it works around, waits for the module it changes to be imported (so that it costs nothing
where that module is not used), and first checks that what it changes is still as it was when the patch was
written: a new version of verl or vLLM that moved it stops with an error that names the patch, rather than
running without it.
"""

import builtins
import os
import pprint
from collections.abc import Callable
from typing import Any

from pacs.base.redaction import redact, redacted
from pacs.integration.patches.compile_cache import COMPILE_CACHE
from pacs.integration.patches.cpu_patches import VERL_ON_CPU, VLLM_ON_CPU, install_distribution_alias
from pacs.integration.patches.engine_stages import STAGES
from pacs.integration.patches.patch import Function, Patch, patches, wrap
from pacs.integration.patches.transformers_patches import OF_TRANSFORMERS
from pacs.runs import signals
from pacs.runs.processes import RUN_DIR, TOKEN

#: How the names of verl's sockets for weights begin.
WEIGHTS_SOCKET = "ipc:///tmp/rl-colocate-zmq-"
#: Variable of a run's processes: `actor_rollout_ref.nccl_timeout`.
COLLECTIVE_SECONDS = "PACS_COLLECTIVE_SECONDS"
#: Class of a model -> its own forward pass, where verl has put one with a fused head in its place.
FORWARD_BEFORE_FUSING: dict[type, Callable[..., Any]] = {}

#: The patches of verl and Ray, and of vLLM in a run; the others are in `cpu_patches` and `transformers_patches`.
VERL: list[Patch] = []
VLLM: list[Patch] = []

_TRANSFER = "verl.workers.rollout.vllm_rollout.bucketed_weight_transfer"


@patches(VERL, "verl.utils.fsdp_utils", "_select_fsdp2_wrap_targets", '{"embed_tokens", "lm_head"}')
def a_fused_head_belongs_to_the_root(original: Function, model: Any, layer_classes: Any) -> Any:
    """verl's fused log-probabilities read lm_head.weight without calling lm_head, which FSDP2 has wrapped by itself if
    embeddings are untied (Qwen3-8B), so that the weight is still sharded (verl pull request 7427)"""
    targets = original(model, layer_classes)
    if not hasattr(model, "_verl_fused_kernels_backend"):
        return targets
    head = model.get_output_embeddings()
    return [target for target in targets if target is not head]


@patches(
    VERL, "verl.models.transformers.monkey_patch", "patch_forward_with_backends",
    "model.__class__.forward = forward_with_torch_backend_function",
)  # fmt: skip
def the_forward_pass_before_fusing_is_kept(original: Function, model: Any, *args: Any, **options: Any) -> None:
    """verl puts the fused head's forward pass in place of the class's own, which the probe compares it with"""
    own_class = type(model)
    before = own_class.forward
    original(model, *args, **options)
    # Not the second time: another model of the class is in this process.
    if own_class.forward is not before:
        FORWARD_BEFORE_FUSING.setdefault(own_class, before)


@patches(
    VERL, _TRANSFER, "", "class BucketedWeightSender:", "class BucketedWeightReceiver:", WEIGHTS_SOCKET, of_module=True,
    variable=TOKEN,
)  # fmt: skip
def weights_go_to_the_run_s_own_vllm(module: Any) -> None:
    """the socket for new weights is named after Ray's job, which is the first in every Ray: of two runs on one machine
    one's vLLM may take the other's weights, and both hang (verl issue 6233 once more)"""

    def init(original: Function, self: Any, zmq_handle: str, *args: Any, **options: Any) -> None:
        of_the_run = zmq_handle.replace(WEIGHTS_SOCKET, f"{WEIGHTS_SOCKET}{os.environ[TOKEN]}-")
        original(self, of_the_run, *args, **options)

    for side in (module.BucketedWeightSender, module.BucketedWeightReceiver):
        wrap(side, "__init__", init)


@patches(
    VERL, "verl.utils.distributed", "initialize_global_process_group_ray", "timeout=timeout,",
    "timedelta(seconds=timeout_second) if timeout_second is not None else None", variable=COLLECTIVE_SECONDS,
)  # fmt: skip
def collectives_have_the_time_that_the_config_gives_them(
    original: Function, timeout_second: int | None = None, backend: str | None = None
) -> None:
    """verl has the setting actor_rollout_ref.nccl_timeout and reads it nowhere: its workers ask for torch's own time,
    which is 30 minutes of a group for both gloo and NCCL"""
    original(timeout_second=timeout_second or int(os.environ[COLLECTIVE_SECONDS]), backend=backend)


@patches(
    VERL, "verl.utils.model", "load_valuehead_model", 'attn_implementation="flash_attention_2"',
    "def load_valuehead_model(local_path, torch_dtype, model_config, trust_remote_code)",
)  # fmt: skip
def a_critic_with_the_config_s_attention(
    original: Function, local_path: str, torch_dtype: Any, model_config: Any, trust_remote_code: bool
) -> Any:
    """verl loads a critic with flash attention whatever attn_implementation says; not every machine has it"""
    from transformers import AutoModelForTokenClassification

    if str(model_config._attn_implementation).startswith("flash"):
        return original(local_path, torch_dtype, model_config, trust_remote_code)
    options = {"dtype": torch_dtype, "config": model_config, "trust_remote_code": trust_remote_code}
    return AutoModelForTokenClassification.from_pretrained(local_path, **options)


@patches(
    VERL, _TRANSFER, "BucketedWeightReceiver", "        finally:\n            self._cleanup()", "self.shm.close()",
    of_module=True,
)  # fmt: skip
def a_receiver_of_weights_says_what_has_failed(module: Any) -> None:
    """an exception in the midst still holds the shared memory, which verl then cannot close, and of which alone it
    tells"""

    def receive(original: Function, self: Any, on_bucket_received: Function) -> None:
        try:
            original(self, on_bucket_received)
        except BufferError as error:
            raise error.__context__ or error from None

    wrap(module.BucketedWeightReceiver, "receive_weights", receive)


@patches(
    VERL, "verl.workers.rollout.vllm_rollout.vllm_rollout", "ServerAdapter.update_weights",
    "future = await self._execute_method(\n",
    "sender = BucketedWeightSender(\n            zmq_handle=self.zmq_handle,", of_module=True,
)  # fmt: skip
def senders_of_weights_are_watched(module: Any) -> None:
    """verl's sender waits for ever for a receiver that has raised or died"""

    def watched(*args: Any, **options: Any) -> Any:
        # It imports what is being imported here.
        from pacs.integration.patches.weight_transfer import WatchedSender

        return WatchedSender(*args, **options)

    module.BucketedWeightSender = watched


@patches(
    VERL, "ray._private.node", "Node.kill_all_processes",
    "check_alive: bool = True,\n        allow_graceful: bool = False,", variable=RUN_DIR,
)  # fmt: skip
def rays_daemons_are_killed(
    original: Function, self: Any, check_alive: bool = True, allow_graceful: bool = False, **options: Any
) -> None:
    """a run's daemons have SIGTERM blocked (pacs/runs/signals.py), and at the end Ray waits a second for each, and then
    kills it"""
    original(self, check_alive=check_alive, allow_graceful=False, **options)


@patches(
    VERL, "verl.trainer.main_ppo", "", 'print(f"ray init kwargs: {ray_init_kwargs}")',
    "pprint(OmegaConf.to_container(config, resolve=True))", of_module=True,
)  # fmt: skip
def the_config_is_printed_without_secrets(module: Any) -> None:
    """verl prints the whole config, and what Ray is started with, to the console and into Ray's logs"""
    module.print = lambda *values, **options: builtins.print(*(redact(str(value)) for value in values), **options)
    module.pprint = lambda value, **options: pprint.pprint(redacted(value), **options)


@patches(
    VERL, "verl.utils.tracking", "Tracking.__init__", "config=None)",
    "def __init__(self, project_name, experiment_name, default_backend: str | list[str]",
)  # fmt: skip
def loggers_get_the_config_without_secrets(
    original: Function,
    self: Any,
    project_name: str,
    experiment_name: str,
    default_backend: Any = "console",
    config: Any = None,
) -> None:
    """verl sends the whole config to W&B, MLflow and the like"""
    original(self, project_name, experiment_name, default_backend, redacted(config))


@patches(
    VERL, "verl.workers.rollout.vllm_rollout.vllm_async_server", "vLLMHttpServer.generate",
    "prompt_ids: list[int],\n        sampling_params: dict[str, Any],\n        request_id: str,", "priority: int = 0,",
    of_module=True,
)  # fmt: skip
def engines_take_many_requests_at_once(module: Any) -> None:
    """a call of Ray's for each response takes more than a tiny model does (`lean_rollouts`)"""
    from pacs.integration.patches.many_at_once import generate_each

    module.vLLMHttpServer.generate_each = generate_each


@patches(
    VERL, "verl.experimental.reward_loop.reward_loop", "RewardLoopWorker.compute_score",
    "async def compute_score(self, data: DataProto) -> dict:", of_module=True,
)  # fmt: skip
def graders_take_many_responses_at_once(module: Any) -> None:
    """as for engines"""
    from pacs.integration.patches.many_at_once import compute_scores

    module.RewardLoopWorker.compute_scores = compute_scores


@patches(
    VERL, "verl.trainer.ppo.v1.agent_loop_tq", "AgentLoopManagerTQ.__init__",
    "self.agent_loop_workers_class = AgentLoopWorkerTQ",
)  # fmt: skip
def rollouts_take_the_lean_way(original: Function, self: Any, *args: Any, **options: Any) -> None:
    """verl's worker takes more processor time for a response than a tiny model (`lean_rollouts`)"""
    import ray

    from pacs.integration.patches.lean_rollouts import LeanWorker

    original(self, *args, **options)
    self.agent_loop_workers_class = ray.remote(LeanWorker)


@patches(
    VERL, "verl.experimental.agent_loop.tool_agent_loop", "ToolAgentLoop._call_tool", "msg = f\"Unknown function '",
    "msg = f\"Invalid JSON in arguments for '", "text=f\"Error executing tool '", of_module=True,
)  # fmt: skip
def turns_with_tools_are_told_of(module: Any) -> None:
    """verl's loop with tools says neither whether a response was cut off in a turn nor whether a tool failed"""
    from verl.experimental.agent_loop.agent_loop import _agent_loop_registry

    _agent_loop_registry["tool_agent"] = {"_target_": "pacs.integration.patches.tool_turns.ToolTurns"}


@patches(VLLM, "vllm.v1.engine.utils", "CoreEngineProcManager.__init__", "context.Process(", "proc.start()")
def engines_are_started_with_signals_blocked(original: Function, self: Any, *args: Any, **options: Any) -> None:
    """a signal to every process of a run would end its engine, which handles some only once it is up"""
    with signals.blocked():
        original(self, *args, **options)


def install_for_verl(*, cpu: bool) -> None:
    """Patch verl, for the CPU stack too; called in every process that imports verl."""
    if cpu:
        install_distribution_alias()
    for patch in [*VERL, *OF_TRANSFORMERS, *(VERL_ON_CPU if cpu else ())]:
        patch.install()


def install_for_vllm(*, cpu: bool) -> None:
    """Patch vLLM: in a run, and for the CPU stack; called in every vLLM process."""
    for patch in [*COMPILE_CACHE, *([*VLLM, *STAGES] if RUN_DIR in os.environ else ()), *(VLLM_ON_CPU if cpu else ())]:
        patch.install()
