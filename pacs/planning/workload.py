"""A step as the formulas need it: numbers, without Hydra or verl."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pacs.planning import assumptions as assumed
from pacs.planning.architecture import Architecture
from pacs.planning.devices import Device
from pacs.planning.lengths import Lengths
from pacs.verl_keys.workload import Engine, Trained

Reference = Literal["model", "adapters", "policy"]


@dataclass(frozen=True)
class Workload:
    """A training step.

    Attributes:
        algorithm: `method.name` of a method of ours, or the name of verl's.
        ranks: training ranks, one a GPU.
        sequence_parallel: ranks that share a sequence.
        assumed_group: responses to a prompt in the mean, where the rollouts decide (DARS); else None.
        kept_share: of the groups that are sampled those that are trained on, where a filter decides (dynamic sampling);
            else None.
        completions: of a response's prefixes, which are sampled and not trained on, where these value its steps
            (VinePPO); else 0.
        response_tokens, row_tokens: of a response, and of a prompt and its response, at most: memory depends on it.
        lengths: of the rows, which time depends on.
        teacher: whose log-probabilities are the rows' reference ones, if it is another model (distillation); else None.
        policy_passes: of the policy over all rows without a gradient: verl's old log-probabilities, `cached`'s scores.
        reference: what the rows' reference log-probabilities are of: a `model` of its own; the policy's with other
            `adapters`, or with none; or the `policy` before a step's first update (in one epoch only those of the other
            mini-batches take a pass); None: there is no such pass.
        strategy: how PACS takes the gradient of groups of the longest responses; None for other algorithms.
        judge: of a critic that writes text (GenAC): its part of the step, whose rows are responses, each with all
            traces about it; None without one.
        asked: the same as it is sampled: a prompt is a problem with a response, and its responses are the traces.
        ahead, max_staleness: prompts that are sampled beyond those of a step, and how old they may be (partial
            rollouts); 0: a step waits for all responses.
        engine_gpus: of vLLM alone; 0: it shares those of the training ranks.
    """

    algorithm: str
    architecture: Architecture
    device: Device
    on_cpu: bool
    ranks: int
    nodes: int
    sequence_parallel: int
    rows: int
    assumed_group: int | None
    kept_share: float | None
    completions: int
    mini_batches: int
    epochs: int
    response_tokens: int
    lengths: Lengths
    row_tokens: int
    policy: Trained
    critic: Trained | None
    reference: Reference | None
    teacher: tuple[Architecture, Trained] | None
    policy_passes: int
    strategy: Literal["grouped", "cached"] | None
    engine: Engine
    steps: int | None
    save_every: int
    judge: "Workload | None" = None
    asked: "Workload | None" = None
    ahead: int = 0
    max_staleness: int = 1
    engine_gpus: int = 0

    @property
    def gpus(self) -> int:
        """Of the run."""
        return self.ranks + self.engine_gpus

    @property
    def link_speed(self) -> float:
        """Bytes a second that a GPU gets of the others; of all nodes if the run has several."""
        within = self.device.link_bytes_per_second
        slowest = within if self.nodes == 1 else min(within, assumed.NODE_BYTES_PER_SECOND.value)
        return slowest * assumed.LINK_EFFICIENCY.value

    @property
    def host_speed(self) -> float:
        """Bytes a second that a GPU gets of its host's memory."""
        return self.device.host_bytes_per_second * assumed.LINK_EFFICIENCY.value

    @property
    def of_reference(self) -> tuple["Workload", Trained]:
        """The step and the model of the reference's pass."""
        if self.teacher is None:
            return self, self.policy
        architecture, model = self.teacher
        return replace(self, architecture=architecture), model

    @property
    def trained(self) -> list[tuple[str, Trained]]:
        """All models that are trained, with how their parts are called: the policy's without a word."""
        critics = [self.critic, self.judge.policy if self.judge else None]
        return [("", self.policy), *(("critic's ", model) for model in critics if model)]

    @property
    def sampled(self) -> Lengths:
        """Of all rows that are sampled: beside those that are trained on, which alone are in `lengths`, filtered groups
        as long as these, and completions of half their length."""
        share = self.kept_share or 1.0
        prompts = round(len(self.lengths.prompts) / share)
        group = len(self.lengths.responses) // self.lengths.prompts.size
        responses = np.resize(self.lengths.responses, (prompts, group))
        further = np.repeat(np.maximum(responses // 2, 1), self.completions, axis=1)
        return replace(
            self.lengths,
            prompts=np.resize(self.lengths.prompts, prompts),
            responses=np.concatenate([responses, further], axis=1).ravel(),
        )

    @property
    def mean_prompt_tokens(self) -> float:
        """Tokens of an average prompt."""
        return float(self.lengths.prompts.mean())

    @property
    def mean_response_tokens(self) -> float:
        """Tokens of an average response."""
        return float(self.lengths.responses.mean())
