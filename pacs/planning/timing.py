"""Seconds of each phase of a step, from operations, bytes and what is assumed of both."""

import math

from pacs.planning import assumptions as assumed
from pacs.planning.generation import generation
from pacs.planning.memory import shard_bytes, trained_bytes
from pacs.planning.weight_sync import weight_sync_seconds
from pacs.planning.workload import Workload
from pacs.verl_keys.workload import Trained


def seconds(work: Workload) -> dict[str, float]:
    """Phase -> seconds; {} where the device's speed is not known. A save counts by its share of a step."""
    if not work.device.flops:
        return {}
    times = {"generation": generation(work).seconds}
    if work.reference:
        on_the_host = work.reference == "model"
        # The first mini-batch's are those of the update's own pass, unless a further epoch reads them again.
        share = 1 - 1 / work.mini_batches if work.reference == "policy" and work.epochs == 1 else 1
        times["reference pass"] = share * pass_seconds(*work.of_reference, from_host=on_the_host)
    if work.policy_passes:
        times["policy pass"] = work.policy_passes * pass_seconds(work, work.policy)
    if work.critic:
        times["values pass"] = pass_seconds(work, work.critic)
        times["critic update"] = update_seconds(work, work.critic)
    if work.judge and work.asked:
        # Not how far the critic writes while the policy still does.
        times["critic generation"] = generation(work.asked).seconds
        times["critic update"] = update_seconds(work.judge, work.judge.policy)
    times["update"] = update_seconds(work, work.policy)
    times["weight sync"] = sum(sum(weight_sync_seconds(each).values()) for each in (work, work.judge) if each)
    if work.save_every > 0:
        times["save"] = saved_bytes(work) / assumed.DISK_BYTES_PER_SECOND.value / work.save_every
    return times


def step_seconds(work: Workload, times: dict[str, float]) -> float:
    """Of phases one after another; on GPUs of its own vLLM samples ahead during all others but the weight sync."""
    if not (work.engine_gpus and work.ahead and times):
        return sum(times.values())
    generating, sending = times["generation"], times["weight sync"]
    return max(generating, sum(times.values()) - generating - sending) + sending


def pass_flops(work: Workload, model: Trained) -> float:
    """Operations of a forward pass over all rows. A token sees half of its row on average, where the lengths say
    nothing else. A critic has no head to speak of."""
    shape, tokens = work.architecture, work.lengths.rows
    token = shape.forward_flops_per_token(0)
    pair = shape.forward_flops_per_token(1) - token
    head = 2 * shape.embedding_parameters if model.vocabulary == 1 else 0
    pairs = (tokens**2).sum() / 2 if work.lengths.pairs is None else work.lengths.pairs
    return float((token - head) * tokens.sum() + pair * pairs)


def small_kernel_seconds(work: Workload) -> float:
    """Of a pass over all rows: norms, rotary embeddings, activations and casts, whose time is that of their bytes."""
    numbers = float(work.lengths.rows.sum()) * work.architecture.num_hidden_layers * work.architecture.hidden_size
    return assumed.SMALL_KERNEL_BYTES.value * numbers / (work.ranks * work.device.bytes_per_second)


def pass_seconds(work: Workload, model: Trained, *, from_host: bool = False) -> float:
    """The longest of: calculating; gathering the weights once a micro-batch; bringing a rank's part from its host."""
    compute = pass_flops(work, model) / (work.ranks * work.device.flops * assumed.FORWARD_EFFICIENCY.value)
    compute += small_kernel_seconds(work)
    passes = _micro_batches(work, model.forward_tokens, 1)
    host = passes * shard_bytes(model) / work.host_speed
    return max(compute, passes * gather_bytes(model) / work.link_speed, host if from_host else 0)


def update_seconds(work: Workload, model: Trained) -> float:
    """The longer of: calculating (a forward pass, twice that backward, once where the weights have no gradient, and one
    more where activations are calculated again); traffic, for each micro-batch weights twice and gradients in float32
    once. Offloaded state comes and goes.
    """
    passes = ((4 if model.checkpointed else 3) - (model.adapters > 0)) * work.epochs
    products = pass_flops(work, model) / (work.ranks * work.device.flops * assumed.TRAINING_EFFICIENCY.value)
    compute = passes * (products + small_kernel_seconds(work))
    micro_batches = work.epochs * _micro_batches(work, model.micro_batch_tokens, work.mini_batches)
    away = (model.shards - 1) / model.shards
    traffic = micro_batches * (2 * gather_bytes(model) + 4 * model.trained * away)
    moved = 2 * shard_bytes(model) * model.weights_offloaded + 4 * trained_bytes(model) * model.optimizer_offloaded
    offload = moved / work.host_speed
    return max(compute, traffic / work.link_speed) + offload


def gather_bytes(model: Trained) -> float:
    """s P (N - 1) / N: what a rank gets of the others for one pass."""
    return model.compute_bytes * model.stored * (model.shards - 1) / model.shards


def saved_bytes(work: Workload) -> float:
    """A checkpoint: weights and both moments, of each rank its part, so that copies (`fsdp_size`) are written, too; the
    reference, written once after each reset, not counted."""
    return sum(
        work.ranks / model.shards * model.weight_bytes * (model.stored + 2 * model.trained) for _, model in work.trained
    )


def _micro_batches(work: Workload, tokens: int, mini_batches: int) -> int:
    """Of a rank in a step, at the mean length."""
    rank_tokens = float(work.lengths.rows.sum()) / work.ranks / mini_batches
    return mini_batches * math.ceil(rank_tokens / tokens)
