"""The tables and limits of a finished run, from what the children wrote."""

import statistics
from dataclasses import dataclass
from typing import Any

from benchmarks.table import format_table

#: The columns. log-prob pass: log pi_old (GRPO, PPO, padded groups) or log pi_ref (PACS); policy pass: the scores of
#: `cached`; advantages: PACS's labels, groups and weights.
PHASES = ("log-prob pass", "policy pass", "values pass", "advantages", "critic update", "actor update")
Steps = list[dict[str, float]]


@dataclass(frozen=True)
class Bar:
    """What a ratio must be.

    Attributes:
        ratios: the ratio in each round; their median is what counts.
    """

    name: str
    ratios: list[float]
    limit: float
    at_least: bool = False

    @property
    def value(self) -> float:
        """The ratio."""
        return statistics.median(self.ratios)

    @property
    def holds(self) -> bool:
        """Whether the bar is met."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def step_ratios(steps: Steps, others: Steps, phases: tuple[str, ...] = PHASES) -> list[float]:
    """The time of a step's phases over that of another algorithm's in the same round, for every round."""
    return [seconds(step, phases) / seconds(other, phases) for step, other in zip(steps, others, strict=True)]


def seconds(step: dict[str, float], phases: tuple[str, ...] = PHASES) -> float:
    """The sum of a step's phases."""
    return sum(step.get(phase, 0.0) for phase in phases)


def timing_bars(timing: dict[str, Steps]) -> list[Bar]:
    """What the times must be."""
    grpo, ours, padded = (timing[name] for name in ("GRPO", "PACS grouped, no entropy", "padded groups, no entropy"))
    update, both = ("actor update",), ("log-prob pass", "actor update")
    return [
        Bar("PACS grouped over GRPO", step_ratios(timing["PACS grouped"], grpo), 1.05),
        Bar("PACS cached over GRPO", step_ratios(timing["PACS cached"], grpo), 1.35),
        Bar("padded over PACS grouped, update", step_ratios(padded, ours, update), 1.8, at_least=True),
        Bar("padded over PACS grouped, pass and update", step_ratios(padded, ours, both), 1.8, at_least=True),
    ]


def memory_bars(memory: dict[str, dict[str, int]]) -> list[Bar]:
    """What the peaks must be: `cached` must not need more for larger groups."""
    first, *larger = [(name, line["over"]) for name, line in memory.items() if name.startswith("PACS cached, groups")]
    return [Bar(f"peak of {name}, over the first's", [over / first[1]], 1.1) for name, over in larger]


def measured_bars(results: dict[str, Any]) -> list[Bar]:
    """All bars."""
    return timing_bars(results["timing"]) + memory_bars(results["memory"])


def timing_table(timing: dict[str, Steps]) -> str:
    """Median seconds of each phase and of the step, and the step's ratio to GRPO's."""
    rows = []
    for name, steps in timing.items():
        cells = [
            f"{statistics.median(step[phase] for step in steps):.3f}" if phase in steps[0] else "" for phase in PHASES
        ]
        step_seconds = statistics.median(seconds(step) for step in steps)
        rows.append(
            [name, *cells, f"{step_seconds:.3f}", f"{statistics.median(step_ratios(steps, timing['GRPO'])):.3f}"]
        )
    return format_table(["medians in seconds", *PHASES, "step", "of GRPO"], rows)


def memory_table(memory: dict[str, dict[str, int]]) -> str:
    """Held before the step, the peak over that, and tokens of the largest micro-batch of the update."""
    rows = [
        [name, f"{line['before'] / 2**20:,.0f}", f"{line['over'] / 2**20:,.0f}", f"{line['micro_batch_tokens']:,}"]
        for name, line in memory.items()
    ]
    return format_table(["MiB", "before the step", "peak over that", "largest micro-batch, tokens"], rows)


def bars_table(bars: list[Bar]) -> str:
    """Each bar, its median and range over the rounds, and whether it holds."""
    rows = [
        [
            bar.name,
            f"{bar.value:.3f}",
            f"{min(bar.ratios):.2f} to {max(bar.ratios):.2f}" if len(bar.ratios) > 1 else "",
            f"{'>=' if bar.at_least else '<='} {bar.limit:g}",
            "pass" if bar.holds else "FAIL",
        ]
        for bar in bars
    ]
    return format_table(["bars", "measured", "in the rounds", "must be", ""], rows)


def report(results: dict[str, Any]) -> str:
    """Everything that was measured, as text."""
    machine, settings, generation = results["machine"], results["settings"], results["generation"]
    tokens = results["response_tokens"]
    one_thread = " of which one is used" if settings["device"] == "cpu" else ""
    head = [
        f"command   {results['command']}",
        f"machine   {machine['device']}, {machine['cores']} cores{one_thread}, torch {machine['torch']}",
        f"model     Qwen3 {settings['shape']}, {results['parameters']:,} parameters"
        + ("" if settings["head"] == "model" else f", fused log-probabilities ({settings['head']})")
        + f", attention {settings['attention']}",
        f"rollouts  {settings['prompts']} prompts of {settings['prompt_tokens']} tokens, {settings['responses']} "
        f"responses each, {tokens['total']:,} tokens: median {tokens['median']:g}, longest {tokens['longest']}",
        "generate  "
        + (
            f"{generation['seconds']:.2f} s, {generation['tokens'] / generation['seconds']:,.0f} tokens/s (vLLM)"
            if generation
            else "left out: random tokens"
        ),
    ]
    parts = [
        "\n".join(head),
        timing_table(results["timing"]),
        memory_table(results["memory"]),
        bars_table(measured_bars(results)),
    ]
    return "\n\n".join(parts)
