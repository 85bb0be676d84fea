"""What a smoke run's metrics must say of the machine."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pacs.planning.plan import Plan

#: Mean |log pi of vLLM - log pi of the trainer| of a token, in nats: what the number format allows.
ROLLOUT_GAP_NATS = {"float32": 1e-3, "bfloat16": 0.05}
#: How far the gap may grow from the first step, whose weights vLLM was given before it ever slept.
ROLLOUT_GAP_GROWTH = 3.0
#: Of the spread of log-ratios that an update makes, what may be left after a reset: rounding.
LEFT_AFTER_RESET = 0.05
#: Peak of the training process's tensors over the plan's.
MEMORY_RATIO = (0.75, 1.25)


@dataclass(frozen=True)
class Gate:
    """One thing that must hold.

    Attributes:
        name: what.
        measured: the measured value, in words.
        wanted: what it must be, in words.
        passed: whether it is; None if this machine cannot tell.
        advice: what to do if it is not.
    """

    name: str
    measured: str
    wanted: str
    passed: bool | None
    advice: str


def gates(
    steps: Sequence[Mapping[str, float]], *, reset_every: int, resumed_after: int | None, dtype: str, plan: Plan
) -> list[Gate]:
    """The gates of a run.

    Args:
        steps: metrics of each trained step, in order: the lines of metrics.jsonl that have an update.
        reset_every: `method.reference.reset_every`; above 1.
        resumed_after: the step after which a second start went on; None: there was none.
        dtype: of the forward passes, float32 or bfloat16.
        plan: of the same config.
    """
    found = [_finite(steps), *_rollout_gap(steps, dtype), *_log_ratios(steps, reset_every)]
    if resumed_after is not None:
        found.append(_resumed(steps, resumed_after))
    return [*found, _memory(steps, plan)]


def training_process_bytes(plan: Plan) -> float:
    """The peak of the tensors that torch allocates in a training process: the largest phase, without vLLM, the driver's
    own memory and what its allocator cannot use."""
    others = {"vLLM", "CUDA, NCCL", "fragmentation", "processes"}
    return max(sum(size for name, size in phase.parts.items() if name not in others) for phase in plan.phases)


def _finite(steps: Sequence[Mapping[str, float]]) -> Gate:
    norms = [step["pacs/gradient/norm_max"] for step in steps]
    skipped = sum(step["pacs/gradient/skipped_count"] for step in steps)
    return Gate(
        "gradients",
        f"norms {_joined(norms)}; {skipped:.0f} updates skipped",
        "finite, above 0, none skipped",
        skipped == 0 and all(math.isfinite(norm) and norm > 0 for norm in norms),
        "where the run ended for it, `pacs inspect RUN/poison/step_N.pt` shows the rows (docs/reliability.md); a norm "
        "of 0: no group had both classes",
    )


def _rollout_gap(steps: Sequence[Mapping[str, float]], dtype: str) -> list[Gate]:
    gaps = [step["pacs/rollout_gap/per_token"] for step in steps]
    limit = ROLLOUT_GAP_NATS[dtype]
    advice = (
        "vLLM and the trainer compute different policies (docs/metrics.md, pacs/rollout_gap/per_token): dtype, "
        "attention, temperature"
    )
    first = Gate("rollout gap, step 1", f"{gaps[0]:.2g} nats/token", f"<= {limit:g}", gaps[0] <= limit, advice)
    grown = max(ROLLOUT_GAP_GROWTH * gaps[0], limit / 10)
    slept = Gate(
        "rollout gap after sleep and transfer",
        f"{_joined(gaps[1:])} nats/token",
        f"<= {grown:.2g}",
        all(gap <= grown for gap in gaps[1:]),  # NaN is not
        "what vLLM samples with is not what was trained: the weights' transfer, or what sleeping frees "
        "(actor_rollout_ref.rollout.free_cache_engine=false +actor_rollout_ref.rollout.enable_sleep_mode=false tell "
        "which)",
    )
    return [first, slept]


def _log_ratios(steps: Sequence[Mapping[str, float]], reset_every: int) -> list[Gate]:
    def distance(step: Mapping[str, float]) -> float:
        return math.hypot(step["pacs/log_ratio/sequence_mean"], step["pacs/log_ratio/sequence_std"])

    by_number = {int(step["step"]): distance(step) for step in steps}
    fresh = {number: value for number, value in by_number.items() if (number - 1) % reset_every == 0}
    moved = [value for number, value in by_number.items() if number not in fresh]
    least = min(moved)
    left = LEFT_AFTER_RESET * least
    return [
        Gate(
            "the policy moves",
            f"log-ratio {least:.3g} nats a response",
            "above 0",
            all(value > 0 for value in moved),
            "an update changed nothing: the optimizer, or weights that are not written back",
        ),
        Gate(
            "log-ratio after a reset",
            f"{_joined(fresh.values())} nats a response (steps {_joined(fresh)})",
            f"0, but for rounding: <= {left:.3g}",
            all(value <= left for value in fresh.values()),
            "the reference is not the policy after a reset, or the two passes round differently: compare "
            "actor_rollout_ref.model.use_fused_kernels=false",
        ),
    ]


def _resumed(steps: Sequence[Mapping[str, float]], after: int) -> Gate:
    numbers = [int(step["step"]) for step in steps]
    return Gate(
        "save and resume",
        f"steps {_joined(numbers)}",
        f"goes on after step {after}",
        numbers == list(range(1, len(numbers) + 1)) and numbers[-1] > after,
        "the end of output.log in the run's folder says why",
    )


def _memory(steps: Sequence[Mapping[str, float]], plan: Plan) -> Gate:
    planned = training_process_bytes(plan) / 2**30
    low, high = (ratio * planned for ratio in MEMORY_RATIO)
    wanted = f"{low:.1f} to {high:.1f} GiB"
    advice = "`pacs plan` with the same settings has the parts (docs/scaling.md); report what was measured"
    if plan.work.on_cpu:
        return Gate("memory of a training process", "not measured on a CPU", wanted, None, advice)
    measured = max(step["actor/perf/max_memory_allocated_gb"] for step in steps)
    return Gate("memory of a training process", f"{measured:.1f} GiB", wanted, low <= measured <= high, advice)


def _joined(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.3g}" for number in numbers)
