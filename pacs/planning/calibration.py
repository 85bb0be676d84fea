"""A plan's times brought to the rates that were measured on the same GPU with a model of the same size."""

from dataclasses import replace
from functools import lru_cache
from statistics import fmean

import numpy as np

from pacs.planning.architecture import PUBLISHED
from pacs.planning.lengths import Lengths
from pacs.planning.measured import MeasuredStep, near
from pacs.planning.timing import seconds
from pacs.planning.workload import Workload


def calibrated(work: Workload) -> dict[str, float]:
    """Phase -> seconds: the formulas' times, each by the ratio of what was measured to what they give for that step."""
    by_formulas = seconds(work)
    if not by_formulas:
        return {}
    ratios: dict[str, list[float]] = {}
    for step in near(work):
        formulas = _formulas(beside(work, step))
        for phase, measured in step.seconds.items():
            ratios.setdefault(phase, []).append(measured / formulas[phase])
    return {phase: value * fmean(ratios.get(phase, [1.0])) for phase, value in by_formulas.items()}


def beside(work: Workload, step: MeasuredStep) -> Workload:
    """The measured step as a workload: on one GPU, its state in bf16 and offloaded, a mini-batch in one piece.

    Its times depend on the GPU of `work`, and a little on its engine's buckets and batches; on nothing else of it.
    """
    rows = step.prompts * step.responses
    tokens = rows * (step.prompt_tokens + step.response_tokens)
    shape = PUBLISHED[step.model]
    policy = replace(
        work.policy,
        parameters=shape.parameters,
        vocabulary=shape.vocab_size,
        weight_bytes=2,
        compute_bytes=2,
        shards=1,
        weights_offloaded=True,
        optimizer_offloaded=True,
        checkpointed=True,
        fused=True,
        packed=True,
        flash=True,
        micro_batch_tokens=tokens,
        forward_tokens=tokens,
        adapters=0,
    )
    prompts, responses = np.full(step.prompts, step.prompt_tokens), np.full(rows, step.response_tokens)
    return replace(
        work,
        architecture=shape,
        ranks=1,
        nodes=1,
        sequence_parallel=1,
        rows=rows,
        kept_share=None,
        completions=0,
        mini_batches=step.prompts // step.mini_batch,
        epochs=1,
        response_tokens=step.response_tokens,
        row_tokens=step.prompt_tokens + step.response_tokens,
        lengths=Lengths(prompts, responses, "measured"),
        policy=policy,
        critic=None,
        reference="model",
        teacher=None,
        policy_passes=1,
        strategy="cached",
        engine=replace(
            work.engine,
            tensor_parallel=1,
            memory_share=0.8,
            number_bytes=2,
            max_sequences=512,
            prefix_caching=True,
            frees_memory=True,
        ),
        save_every=0,
        judge=None,
        asked=None,
        ahead=0,
        engine_gpus=0,
    )


@lru_cache(maxsize=32)
def _formulas(work: Workload) -> dict[str, float]:
    return seconds(work)
