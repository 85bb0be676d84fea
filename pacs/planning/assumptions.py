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


PROCESS_BYTES = Assumption(
    1.5 * 2**30, "bytes", "CUDA context, cuBLAS workspace and NCCL buffers of a training process"
)
SLEEPING_ENGINE_BYTES = Assumption(2.5 * 2**30, "bytes", "what a sleeping vLLM keeps: its context and captured graphs")
CPU_PROCESS_BYTES = Assumption(0.7 * 2**30, "bytes", "a process of a CPU run, torch and verl or vLLM loaded, no model")
CPU_PROCESSES = Assumption(9, "processes", "of a CPU run beside its training ranks")
FRAGMENTATION = Assumption(0.05, "share", "of activations and logits: blocks of the GPU's allocator that nothing fits")
FORWARD_EFFICIENCY = Assumption(0.45, "share", "of the peak operations, in a pass without gradient")
TRAINING_EFFICIENCY = Assumption(0.40, "share", "of the peak operations, in forward and backward")
DECODE_EFFICIENCY = Assumption(0.50, "share", "of the peak operations, in decoding")
MEMORY_EFFICIENCY = Assumption(0.60, "share", "of the memory's bandwidth, in decoding and in copies of weights")
SMALL_KERNEL_BYTES = Assumption(
    1000, "bytes", "moved a token, layer and hidden number in a pass by kernels that are no matrix product; fitted"
)
DECODE_STEP_SECONDS = Assumption(
    2e-3, "seconds", "of a decoding step beside its arithmetic: launches, scheduling, sampling, the host; fitted"
)
MEAN_RESPONSE_SHARE = Assumption(0.5, "share", "mean response over the longest allowed (`--mean-response-tokens`)")
RESPONSE_SPREAD = Assumption(
    0.7, "nats", "standard deviation of the logarithm of a response's length, before it is cut off (`--lengths`)"
)
MEAN_PROMPT_SHARE = Assumption(
    0.15, "share", "mean prompt over the longest allowed, where neither `--lengths` nor the run's data tell"
)
PROMPT_SPREAD = Assumption(0.5, "nats", "standard deviation of the logarithm of a prompt's length, there as well")
FURTHER_SHARE = Assumption(
    0.25, "share", "further responses to a prompt over the most it may get, beyond `rollout.n` (`run.rollouts.dars`)"
)
KEPT_SHARE = Assumption(
    0.5, "share", "groups that are trained on, of those that are sampled (`algorithm.filter_groups`)"
)
VALUED_STEPS = Assumption(
    8, "steps", "of a response, each valued by completions of half its length in the mean (`run.rollouts.vine`)"
)
SEGMENT_TOKENS = Assumption(120, "tokens", "of a segment that a critic scores, as GenAC's authors count (`genac`)")
TRACE_TOKENS = Assumption(300, "tokens", "of a critic's trace about a segment, likewise")
SYNC_TENSOR_SECONDS = Assumption(
    5e-4, "seconds", "of a tensor in the weight sync beside its bytes: its all-gather, its copy, vLLM's loader; fitted"
)
SYNC_BUCKET_SECONDS = Assumption(10e-3, "seconds", "of handing a bucket of weights over: a socket, both sides wait")
SYNC_SECONDS = Assumption(
    0.1, "seconds", "of a weight sync beside its parts: Ray's calls, a barrier, emptying the allocators' caches; fitted"
)
MAPPED_BYTES_PER_SECOND = Assumption(1e12, "bytes/s", "of GPU memory that vLLM maps or unmaps, awake or asleep; fitted")
LINK_EFFICIENCY = Assumption(0.70, "share", "of the bandwidth between GPUs, and between a GPU and its host")
NODE_BYTES_PER_SECOND = Assumption(50e9, "bytes/s", "a GPU's part of the network between nodes (400 Gb/s)")
DISK_BYTES_PER_SECOND = Assumption(2e9, "bytes/s", "into the run's folder, from all nodes together")

#: By name, for the page.
ASSUMPTIONS = {name: value for name, value in globals().items() if isinstance(value, Assumption)}
