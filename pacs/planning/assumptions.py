"""The numbers that a plan assumes, some fitted to `pacs.planning.measured`. docs/scaling.md lists them all."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """A number that is assumed.

    Attributes:
        what: of what it is.
    """

    value: float
    unit: str
    what: str


PROCESS_BYTES = Assumption(1.5 * 2**30, "bytes", "a training process: CUDA context, cuBLAS workspace, NCCL buffers")
SLEEPING_ENGINE_BYTES = Assumption(2.5 * 2**30, "bytes", "a sleeping vLLM: context and captured graphs")
CPU_PROCESS_BYTES = Assumption(0.7 * 2**30, "bytes", "a process of a CPU run, without a model")
CPU_PROCESSES = Assumption(9, "processes", "in a CPU run, beside its training ranks")
FRAGMENTATION = Assumption(0.05, "share", "activations and logits lost to fragmentation")
FORWARD_EFFICIENCY = Assumption(0.45, "share", "peak FLOPS reached in a pass without gradient")
TRAINING_EFFICIENCY = Assumption(0.40, "share", "peak FLOPS reached in forward and backward")
DECODE_EFFICIENCY = Assumption(0.50, "share", "peak FLOPS reached in decoding")
MEMORY_EFFICIENCY = Assumption(0.60, "share", "memory bandwidth reached in decoding and weight copies")
SMALL_KERNEL_BYTES = Assumption(1000, "bytes", "moved by small kernels a token, layer and hidden unit; fitted")
DECODE_STEP_SECONDS = Assumption(2e-3, "seconds", "a decoding step's overhead on the host; fitted")
MEAN_RESPONSE_SHARE = Assumption(0.5, "share", "mean response length over the maximum (`--mean-response-tokens`)")
RESPONSE_SPREAD = Assumption(0.7, "nats", "standard deviation of log response length (`--lengths`)")
MEAN_PROMPT_SHARE = Assumption(0.15, "share", "mean prompt length over the maximum, if not known")
PROMPT_SPREAD = Assumption(0.5, "nats", "standard deviation of log prompt length, if not known")
FURTHER_SHARE = Assumption(0.25, "share", "extra responses over their limit (`run.rollouts.dars`)")
KEPT_SHARE = Assumption(0.5, "share", "sampled groups that are trained on (`algorithm.filter_groups`)")
VALUED_STEPS = Assumption(8, "steps", "valued in a response, by completions of half its length (`run.rollouts.vine`)")
SEGMENT_TOKENS = Assumption(120, "tokens", "segment that a critic scores (`genac`)")
TRACE_TOKENS = Assumption(300, "tokens", "critic's trace about a segment (`genac`)")
SYNC_TENSOR_SECONDS = Assumption(5e-4, "seconds", "a tensor's overhead in the weight sync; fitted")
SYNC_BUCKET_SECONDS = Assumption(10e-3, "seconds", "a bucket's handover in the weight sync")
SYNC_SECONDS = Assumption(0.1, "seconds", "a weight sync's fixed cost; fitted")
MAPPED_BYTES_PER_SECOND = Assumption(1e12, "bytes/s", "GPU memory that vLLM maps and unmaps to wake and sleep; fitted")
LINK_EFFICIENCY = Assumption(0.70, "share", "bandwidth reached between GPUs, and to the host")
NODE_BYTES_PER_SECOND = Assumption(50e9, "bytes/s", "a GPU's share of the network between nodes (400 Gb/s)")
DISK_BYTES_PER_SECOND = Assumption(2e9, "bytes/s", "write rate to the run's folder, all nodes together")

#: By name, for the page.
ASSUMPTIONS = {name: value for name, value in globals().items() if isinstance(value, Assumption)}
