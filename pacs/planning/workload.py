"""A step as the formulas need it: numbers, without Hydra or verl."""

from dataclasses import dataclass
from typing import Literal

from pacs.planning.architecture import Architecture
from pacs.planning.devices import Device
from pacs.planning.lengths import Lengths


@dataclass(frozen=True)
class Trained:
    """A model under FSDP2: the policy or a critic.

    Attributes:
        parameters: of the whole model.
        vocabulary: rows of its head; 1 for a critic.
        weight_bytes: of a stored weight, and of each of Adam's two moments and a gradient.
        compute_bytes: of a number in its passes.
        shards: ranks that share one copy.
        checkpointed: activations are calculated again in the backward pass.
        fused: log-probabilities from hidden states in chunks, without logits.
        packed: sequences one after another, without padding.
        flash: flash attention; else torch's with a dense mask.
        micro_batch_tokens: of a rank, in a micro-batch of an update, at most.
        forward_tokens: the same in a pass without gradient.
    """

    parameters: int
    vocabulary: int
    weight_bytes: int
    compute_bytes: int
    shards: int
    weights_offloaded: bool
    optimizer_offloaded: bool
    checkpointed: bool
    fused: bool
    packed: bool
    flash: bool
    micro_batch_tokens: int
    forward_tokens: int


@dataclass(frozen=True)
class Engine:
    """vLLM.

    Attributes:
        tensor_parallel: GPUs of one engine.
        memory_share: of a GPU that it may take; on the CPU its cache has `cache_bytes`.
        batched_tokens: in one of its steps.
        prefix_caching: text that is the same is calculated once.
        watermark: share of the cache that must stay free when a sequence is let in beside others.
        clients: verl's agent-loop workers, which ask the engines for responses side by side.
        positions: of a sequence that it must be able to hold (`max_model_len`), at least those of the lengths.
        frees_memory: gives weights and cache back while the trainer works.
        bucket_bytes: in which weights are sent to it.
    """

    tensor_parallel: int
    memory_share: float
    cache_bytes: float
    number_bytes: int
    max_sequences: int
    batched_tokens: int
    prefix_caching: bool
    watermark: float
    clients: int
    positions: int
    frees_memory: bool
    bucket_bytes: float


@dataclass(frozen=True)
class Workload:
    """A training step.

    Attributes:
        algorithm: `trainer.v1.trainer_mode`.
        ranks: training ranks, one a GPU.
        sequence_parallel: ranks that share a sequence.
        response_tokens, row_tokens: of a response, and of a prompt and its response, at most: memory depends on it.
        lengths: of the rows, which time depends on.
        policy_pass: the policy passes over all rows without a gradient: PPO's old log-probabilities, `cached`'s scores.
        reference: there is a reference policy, and a pass of it.
        strategy: how PACS takes the gradient of groups of the longest responses; None for other algorithms.
    """

    algorithm: str
    architecture: Architecture
    device: Device
    on_cpu: bool
    ranks: int
    nodes: int
    sequence_parallel: int
    rows: int
    mini_batches: int
    epochs: int
    response_tokens: int
    lengths: Lengths
    row_tokens: int
    policy: Trained
    critic: Trained | None
    reference: bool
    policy_pass: bool
    strategy: Literal["grouped", "cached"] | None
    engine: Engine
    steps: int | None
    save_every: int

    @property
    def mean_prompt_tokens(self) -> float:
        """Tokens of an average prompt."""
        return float(self.lengths.prompts.mean())

    @property
    def mean_response_tokens(self) -> float:
        """Tokens of an average response."""
        return float(self.lengths.responses.mean())
