"""Bytes on one GPU in each phase of a step."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from pacs.planning.activations import Activations, forward_activations, update_activations
from pacs.planning.assumptions import CPU_PROCESS_BYTES, CPU_PROCESSES, FRAGMENTATION, PROCESS_BYTES
from pacs.planning.assumptions import SLEEPING_ENGINE_BYTES as ASLEEP
from pacs.planning.workload import Workload
from pacs.verl_keys.workload import Trained


@dataclass(frozen=True)
class Phase:
    """A phase and what lies on a GPU in it.

    Attributes:
        parts: name -> bytes.
        limit: bytes that there are.
        obstacle: why it cannot be, if it is not the sum that is too much.
    """

    name: str
    parts: dict[str, float]
    limit: float
    obstacle: str | None = None

    @property
    def total(self) -> float:
        """Bytes at once."""
        return sum(self.parts.values())

    @property
    def fits(self) -> bool:
        """Whether it can be."""
        return self.total <= self.limit and self.obstacle is None


def phases(work: Workload) -> list[Phase]:
    """All phases, in the order of a step."""
    return [_generation(work), *_passes(work), *_updates(work), _sync(work), _save(work)]


def shard_bytes(model: Trained) -> float:
    """w P / N: a rank's part of the weights."""
    return model.weight_bytes * model.stored / model.shards


def trained_bytes(model: Trained) -> float:
    """The same of what is trained: the gradient; Adam's two moments are twice that (ZeRO-3, arXiv 1910.02054)."""
    return model.weight_bytes * model.trained / model.shards


def engine_weights(work: Workload) -> float:
    """A GPU's part of vLLM's copy."""
    return work.engine.number_bytes * work.architecture.parameters / work.engine.tensor_parallel


def engine_workspace(work: Workload) -> float:
    """What vLLM sets apart by a trial step: gate, up and their product of all its tokens, and a row of float32 logits
    and one of probabilities for each sequence. Beside it its context and graphs."""
    shape, engine = work.architecture, work.engine
    widest = 2 * shape.hidden_size + 3 * shape.intermediate_size / engine.tensor_parallel
    return engine.batched_tokens * widest * engine.number_bytes + 8 * engine.max_sequences * shape.vocab_size


def cache_bytes(work: Workload) -> float:
    """A GPU's part of vLLM's KV cache: what is left of its share of the memory."""
    if work.on_cpu:
        return work.engine.cache_bytes
    share = work.engine.memory_share * work.device.memory_bytes
    return share - engine_weights(work) - engine_workspace(work) - ASLEEP.value


def cache_bytes_per_token(work: Workload) -> float:
    """A GPU's part of a token's keys and values: vLLM shares their heads, and each GPU has one at least."""
    shape, engine = work.architecture, work.engine
    return shape.kv_bytes_per_token(engine.number_bytes) / min(engine.tensor_parallel, shape.num_key_value_heads)


def cache_tokens(work: Workload) -> int:
    """Tokens that one engine's cache holds."""
    return max(0, math.floor(cache_bytes(work) / cache_bytes_per_token(work)))


def full_sequences(work: Workload) -> int:
    """Sequences of full length that one engine has at once."""
    return min(cache_tokens(work) // work.row_tokens, work.engine.max_sequences)


def resident(work: Workload, *used: Trained, optimizer_of: Trained | None = None) -> dict[str, float]:
    """What the training process holds: state that is not offloaded, or is used in this phase."""
    parts: dict[str, float] = {}
    for name, model in work.trained:
        if model in used or not model.weights_offloaded:
            parts[f"{name}weights"] = shard_bytes(model)
        if model is optimizer_of or not model.optimizer_offloaded:
            parts[f"{name}Adam"] = 2 * trained_bytes(model)
    if work.on_cpu and work.reference == "model":
        parts["reference"] = shard_bytes(work.of_reference[1])
    if work.on_cpu and work.reference == "adapters" and work.strategy:  # verl's is without any
        parts["reference"] = trained_bytes(work.policy)
    return parts


def _others(work: Workload, *, awake: bool = False) -> dict[str, float]:
    """What is there beside the training state."""
    if work.on_cpu:
        processes = CPU_PROCESSES.value / work.ranks + 1
        engine = engine_weights(work) + engine_workspace(work) + cache_bytes(work)
        others = {"processes": processes * CPU_PROCESS_BYTES.value, "vLLM": engine}
    else:
        engine = ASLEEP.value
        if awake or not work.engine.frees_memory:
            engine = work.engine.memory_share * work.device.memory_bytes
        others = {"vLLM": engine, "CUDA, NCCL": PROCESS_BYTES.value}
        if work.engine_gpus and not awake:
            del others["vLLM"]
    if work.judge is not None:
        others |= {f"critic's {name}": size for name, size in _others(work.judge, awake=awake).items()}
    return others


def gathered(work: Workload, model: Trained, *, gradient: bool) -> float:
    """What FSDP2 has whole at a time, in the numbers of the pass: embedding and head, a layer, and the next one, which
    is fetched ahead; with a gradient also the layer's (of LoRA its adapters'), and its copy in float32 that is summed
    over the ranks. Nothing where a rank has all of it, in these numbers."""
    if model.shards == 1 and model.weight_bytes == model.compute_bytes:
        return 0
    shape, s = work.architecture, model.compute_bytes
    heads = 1 if shape.tie_word_embeddings or model.vocabulary == 1 else 2
    weights = s * (heads * shape.embedding_parameters + 2 * shape.layer_parameters)
    learned = model.adapters / shape.num_hidden_layers if model.adapters else shape.layer_parameters
    return weights + ((s + 4) * learned if gradient else 0)


def _pass_parts(work: Workload, model: Trained, activations: Activations, *, gradient: bool) -> dict[str, float]:
    parts = {"gathered": gathered(work, model, gradient=gradient)}
    if activations.kept:
        parts["activations kept"] = activations.kept
    largest = "logits" if activations.head > activations.layer else "a layer's activations"
    parts[largest] = max(activations.head, activations.layer)
    if not work.on_cpu:
        parts["fragmentation"] = FRAGMENTATION.value * activations.peak
    return parts


def _generation(work: Workload) -> Phase:
    obstacle = _obstacle(work, "vLLM")
    if obstacle is None and work.judge is not None:
        obstacle = _obstacle(work.judge, "the critic's vLLM")
    parts = {} if work.engine_gpus and not work.on_cpu else resident(work)
    parts |= _others(work, awake=True)
    return Phase("generation", parts, work.device.memory_bytes, obstacle)


def _obstacle(work: Workload, whose: str) -> str | None:
    heads, gpus = work.architecture.num_attention_heads, work.engine.tensor_parallel
    if heads % gpus:
        return f"{whose} cannot share {heads} heads among the {gpus} GPUs of an engine"
    tokens = cache_tokens(work)
    if tokens < work.engine.positions:
        return f"{whose}'s cache holds {tokens:,} tokens, and a sequence may have {work.engine.positions:,}"
    return None


def _passes(work: Workload) -> Iterator[Phase]:
    """Passes without a gradient. FSDP2 keeps a reference in the host's memory, and brings each part as it is used."""
    names = [name for name, there in (("reference pass", work.reference), ("policy pass", work.policy_passes)) if there]
    models = [(name, work.policy) for name in names] + ([("values pass", work.critic)] if work.critic else [])
    for name, model in models:
        # What `cached` scores is scored within an update, whose optimizer is there.
        optimizer_of = model if name == "policy pass" and work.strategy == "cached" else None
        on_the_host = name == "reference pass" and work.reference == "model"
        held = resident(work) if on_the_host else resident(work, model, optimizer_of=optimizer_of)
        of_pass, model = work.of_reference if name == "reference pass" else (work, model)
        activations = forward_activations(of_pass.architecture, model, model.forward_tokens, work.row_tokens)
        parts = held | _pass_parts(of_pass, model, activations, gradient=False) | _others(work)
        yield Phase(name, parts, work.device.memory_bytes)


def _updates(work: Workload) -> Iterator[Phase]:
    updates = [("critic update", work.critic, work)] if work.critic else []
    if work.judge:
        updates.append(("critic update", work.judge.policy, work.judge))
    for name, model, of in [*updates, ("update", work.policy, work)]:
        activations = update_activations(of.architecture, model, model.micro_batch_tokens, of.row_tokens)
        parts = resident(work, model, optimizer_of=model) | {"gradient": trained_bytes(model)}
        passing = _pass_parts(of, model, activations, gradient=True)
        # After the passes: torch's AdamW takes the roots of all second moments at once on a GPU (foreach).
        stepping = {} if work.on_cpu else {"roots of Adam's moments": trained_bytes(model)}
        parts |= max(passing, stepping, key=lambda each: sum(each.values())) | _others(work)
        yield Phase(name, parts, work.device.memory_bytes)


def _sync(work: Workload) -> Phase:
    """The weights go to vLLM one after another, each gathered whole as it is stored, in buckets."""
    parts = resident(work) | _others(work)
    if work.engine.frees_memory and not work.on_cpu and not work.engine_gpus:
        parts["vLLM"] += engine_weights(work)
    parts["largest weight"] = work.policy.weight_bytes * work.architecture.embedding_parameters
    parts["bucket"] = work.engine.bucket_bytes * (2 if work.engine_gpus else 1)  # nccl fills one and sends the other
    return Phase("weight sync", parts, work.device.memory_bytes)


def _save(work: Workload) -> Phase:
    """Shards go to the host one by one."""
    parts = resident(work, *(model for _, model in work.trained), optimizer_of=work.policy) | _others(work)
    return Phase("save", parts, work.device.memory_bytes)
