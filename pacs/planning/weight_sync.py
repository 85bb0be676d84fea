"""How new weights come into vLLM between an update and the next step's generation.

As verl 0.9.1 does it where trainer and engine share a GPU (`checkpoint_engine.backend=naive`, in
`ActorRolloutRefWorker.update_weights`): vLLM's weights are woken; FSDP2's tensors are gathered one after another,
whole and as they are stored (float32); each is copied into a bucket (`BucketedWeightSender`) that vLLM reads by CUDA
IPC, not through the host's memory; a full bucket is handed over by a socket, and both sides wait until vLLM has
copied it into its own weights, cast to its own numbers; a tensor larger than a bucket is handed over by itself. Then
vLLM's KV cache is woken. Before the update it was put to sleep: weights and cache were unmapped (level 2), nothing
went to the host. Of LoRA the adapters alone are sent, and the sleeping weights go to the host (level 1); or, with
`model.lora.merge`, the whole weights, as without adapters.
"""

import math

from pacs.planning import assumptions as assumed
from pacs.planning.architecture import Architecture
from pacs.planning.memory import cache_bytes, engine_weights, shard_bytes
from pacs.planning.workload import Workload

#: Of a layer of Qwen3: q, k, v, o, the norms of q and k, gate, up, down, two norms. Beside the layers there are the
#: embedding, the last norm, and the head where it is not the embedding.
LAYER_TENSORS = 11
#: Those of them that can have adapters, of two tensors each.
MATRICES = 7


def weight_sync_seconds(work: Workload) -> dict[str, float]:
    """Part -> seconds, of a run on GPUs."""
    shape, engine = work.architecture, work.engine
    adapters_alone = sent_parameters(work) != work.policy.parameters
    count = 2 * MATRICES * shape.num_hidden_layers if adapters_alone else tensors(shape)
    stored = work.policy.weight_bytes * sent_parameters(work)
    # Into the bucket and out of it, as it is stored; into vLLM's weights in its own numbers.
    copied = 3 * stored + (0 if adapters_alone else engine_weights(work))
    parts = {
        "gathering": sync_bytes(work) / work.link_speed,
        "copying": copied / (work.device.bytes_per_second * assumed.MEMORY_EFFICIENCY.value),
        "tensor by tensor": count * assumed.SYNC_TENSOR_SECONDS.value,
        "handing over": math.ceil(stored / engine.bucket_bytes) * assumed.SYNC_BUCKET_SECONDS.value,
        "calls": assumed.SYNC_SECONDS.value,
    }
    if work.engine_gpus:
        parts["sending"] = stored / work.link_speed
    if work.policy.weights_offloaded:
        parts["from the host"] = shard_bytes(work.policy) / work.host_speed
    if engine.frees_memory:
        mapped = engine_weights(work) + max(cache_bytes(work), 0)
        parts["sleep and wake"] = 2 * mapped / assumed.MAPPED_BYTES_PER_SECOND.value
        if adapters_alone:  # level 1: the weights under them go to the host, and come back
            parts["vLLM's weights"] = 2 * engine_weights(work) / work.host_speed
    return parts


def sent_parameters(work: Workload) -> int:
    """Adapters alone where they are not merged; else all weights."""
    policy = work.policy
    return policy.adapters if policy.adapters and not policy.merged else policy.parameters


def tensors(shape: Architecture) -> int:
    """How many there are."""
    return LAYER_TENSORS * shape.num_hidden_layers + (2 if shape.tie_word_embeddings else 3)


def sync_bytes(work: Workload) -> float:
    """w P (N - 1) / N: what each GPU gets of the others, before vLLM's copy is made on the same GPU."""
    model = work.policy
    return model.weight_bytes * sent_parameters(work) * (model.shards - 1) / model.shards
