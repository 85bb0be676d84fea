"""What a vLLM engine is at while a run waits for it; verl has vLLM itself say warnings alone.

The lines are signs that the launcher's console knows (`pacs.integration.launch.launcher.STAGES`), which says each once.
"""

from typing import Any

from pacs.base.terminal import print
from pacs.integration.patches.patch import Function, Patch, patches

LOADING = "vLLM's engine loads the model"
PROFILING = "vLLM's engine compiles the model and measures its memory"
GRAPHS = "vLLM's engine captures CUDA graphs"

STAGES: list[Patch] = []

_GPU, _CPU = "vllm.v1.worker.gpu_worker", "vllm.v1.worker.cpu_worker"


def _said(stage: str, original: Function, worker: Any, *args: Any, **options: Any) -> Any:
    if worker.rank == 0:
        print(stage, flush=True)
    return original(worker, *args, **options)


@patches(STAGES, _GPU, "Worker.load_model", "self.model_runner.load_model(load_dummy_weights=load_dummy_weights)")
def loading_is_said(original: Function, self: Any, *args: Any, **options: Any) -> Any:
    """a start of minutes would be silent"""
    return _said(LOADING, original, self, *args, **options)


@patches(STAGES, _GPU, "Worker.determine_available_memory", "self.model_runner.profile_run()")
def profiling_is_said(original: Function, self: Any) -> Any:
    """a start of minutes would be silent"""
    return _said(PROFILING, original, self)


@patches(STAGES, _GPU, "Worker.compile_or_warm_up_model", "if not self.model_config.enforce_eager:", "capture_model()")
def capturing_is_said(original: Function, self: Any) -> Any:
    """a start of minutes would be silent"""
    return original(self) if self.model_config.enforce_eager else _said(GRAPHS, original, self)


@patches(STAGES, _CPU, "CPUWorker.determine_available_memory", "def determine_available_memory(self) -> int:")
def profiling_on_the_cpu_is_said(original: Function, self: Any) -> Any:
    """a start of minutes would be silent"""
    return _said(PROFILING, original, self)
