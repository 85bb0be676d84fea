"""Seconds of each phase of a step, from operations, bytes and the assumed efficiencies."""

import math

from pacs.planning import assumptions as assumed
from pacs.planning.memory import cache_tokens, engine_weights, shard_bytes
from pacs.planning.workload import Trained, Workload


def seconds(work: Workload) -> dict[str, float]:
    """Phase -> seconds; {} where the device's speed is not known. A save counts by its share of a step."""
    if not work.device.flops:
        return {}
    times = {"generation": generation_seconds(work)}
    if work.reference:
        times["reference pass"] = pass_seconds(work, work.policy, from_host=True)
    if work.policy_pass:
        # `cached` scores the rows of each mini-batch before its update, in every epoch.
        times["policy pass"] = pass_seconds(work, work.policy) * (work.epochs if work.strategy == "cached" else 1)
    if work.critic:
        times["values pass"] = pass_seconds(work, work.critic)
        times["critic update"] = update_seconds(work, work.critic)
    times["update"] = update_seconds(work, work.policy)
    times["weight sync"] = sync_bytes(work) / _link(work)
    if work.save_every > 0:
        times["save"] = saved_bytes(work) / assumed.DISK_BYTES_PER_SECOND.value / work.save_every
    return times


def sequences_at_once(work: Workload) -> int:
    """Of one engine: its limit, its share of the rows, or what its cache holds of the mean length."""
    rows = math.ceil(work.rows * work.engine.tensor_parallel / work.ranks)
    return max(1, min(rows, work.engine.max_sequences, int(cache_tokens(work) // work.mean_row_tokens)))


def decode_step_seconds(work: Workload, sequences: int) -> float:
    """One token for each sequence: the weights and the cache are read once, or the operations take longer (roofline,
    Williams et al. 2009)."""
    shape, engine, device = work.architecture, work.engine, work.device
    context = work.prompt_tokens + work.mean_response_tokens / 2
    cache = sequences * context * shape.kv_bytes_per_token(engine.number_bytes) / engine.tensor_parallel
    read = (engine_weights(work) + cache) / (device.bytes_per_second * assumed.DECODE_BANDWIDTH_EFFICIENCY.value)
    flops = sequences * shape.forward_flops_per_token(context) / engine.tensor_parallel
    return max(read, flops / (device.flops * assumed.DECODE_EFFICIENCY.value)) + assumed.DECODE_STEP_SECONDS.value


def generated_per_second(work: Workload) -> float:
    """Tokens of all engines while each has as many sequences as it takes."""
    sequences = sequences_at_once(work)
    return work.ranks / work.engine.tensor_parallel * sequences / decode_step_seconds(work, sequences)


def generation_seconds(work: Workload) -> float:
    """Prompts, then tokens at the full rate, but no less than the longest response takes alone. The time in which
    an engine runs out of sequences is not counted."""
    prompts = work.rows * work.prompt_tokens * work.architecture.forward_flops_per_token(work.prompt_tokens / 2)
    prefill = prompts / (work.ranks * work.device.flops * assumed.FORWARD_EFFICIENCY.value)
    decode = work.rows * work.mean_response_tokens / generated_per_second(work)
    return prefill + max(decode, work.response_tokens * decode_step_seconds(work, 1))


def pass_flops(work: Workload, model: Trained) -> float:
    """Operations of a forward pass over all rows; a token sees half of its row. A critic has no head to speak of."""
    shape = work.architecture
    head = 2 * shape.embedding_parameters if model.vocabulary == 1 else 0
    return work.rows * work.mean_row_tokens * (shape.forward_flops_per_token(work.mean_row_tokens / 2) - head)


def pass_seconds(work: Workload, model: Trained, *, from_host: bool = False) -> float:
    """The longest of: operations; gathering the weights once a micro-batch; bringing a rank's part from its host."""
    compute = pass_flops(work, model) / (work.ranks * work.device.flops * assumed.FORWARD_EFFICIENCY.value)
    passes = _micro_batches(work, model.forward_tokens, 1)
    host = passes * shard_bytes(model) / (work.device.host_bytes_per_second * assumed.LINK_EFFICIENCY.value)
    return max(compute, passes * gather_bytes(model) / _link(work), host if from_host else 0)


def update_seconds(work: Workload, model: Trained) -> float:
    """The longer of: operations (a forward pass, twice that backward, and one more where activations are calculated
    again); traffic, for each micro-batch weights twice and gradients in float32 once. Offloaded state comes and goes.
    """
    passes = (4 if model.checkpointed else 3) * work.epochs
    compute = passes * pass_flops(work, model) / (work.ranks * work.device.flops * assumed.TRAINING_EFFICIENCY.value)
    micro_batches = work.epochs * _micro_batches(work, model.micro_batch_tokens, work.mini_batches)
    away = (model.shards - 1) / model.shards
    traffic = micro_batches * (2 * gather_bytes(model) + 4 * model.parameters * away)
    moved = shard_bytes(model) * (2 * model.weights_offloaded + 4 * model.optimizer_offloaded)
    offload = moved / (work.device.host_bytes_per_second * assumed.LINK_EFFICIENCY.value)
    return max(compute, traffic / _link(work)) + offload


def gather_bytes(model: Trained) -> float:
    """s P (N - 1) / N: what a rank gets of the others for one pass."""
    return model.compute_bytes * model.parameters * (model.shards - 1) / model.shards


def sync_bytes(work: Workload) -> float:
    """w P (N - 1) / N: what each GPU gets of the others, before vLLM's copy is made on the same GPU."""
    model = work.policy
    return model.weight_bytes * model.parameters * (model.shards - 1) / model.shards


def saved_bytes(work: Workload) -> float:
    """A checkpoint: weights and both moments; the reference, written once after each reset, not counted."""
    return sum(3 * model.weight_bytes * model.parameters for model in (work.policy, work.critic) if model)


def _micro_batches(work: Workload, tokens: int, mini_batches: int) -> int:
    """Of a rank in a step, at the mean length."""
    rank_tokens = work.rows * work.mean_row_tokens / work.ranks / mini_batches
    return mini_batches * math.ceil(rank_tokens / tokens)


def _link(work: Workload) -> float:
    """Bytes a second that a GPU gets of the others; of all nodes if the run has several."""
    own = work.device.link_bytes_per_second
    slowest = own if work.nodes == 1 else min(own, assumed.NODE_BYTES_PER_SECOND.value)
    return slowest * assumed.LINK_EFFICIENCY.value
