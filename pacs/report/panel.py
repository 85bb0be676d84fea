"""What a figure is, as data: a `Panel` is one figure, and one of the overview's small multiples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pacs.report.findings import Finding
from pacs.report.groups import Group

#: The metrics that count scores other than 0 and 1, of training and of validation.
GRADED = "pacs/*/graded_count"


@dataclass(frozen=True)
class Curve:
    """One metric of a panel, or with a glob every metric that matches it."""

    key: str
    #: What the legend calls it.
    label: str = ""
    #: The metrics at the lower and the upper edge of a band around it.
    spread: tuple[str, str] | None = None
    #: Further metrics: what is drawn is the mean of all.
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Panel:
    """One quantity, or some that belong together."""

    #: Of its file.
    name: str
    #: Its heading; the title of the figure is what was found.
    quantity: str
    #: Of the vertical axis.
    unit: str
    curves: tuple[Curve, ...]
    finding: Finding
    #: How to read it.
    reading: str
    kind: Literal["lines", "stack", "reliability", "validation"] = "lines"
    #: The metric that the areas of a stack add up to; empty: they are all there is.
    total: str = ""
    #: One group fills the axes: several are drawn beside each other.
    beside: bool = False
    #: Values lie between 0 and 1, and the axis does not go beyond.
    is_share: bool = False
    #: A value worth a thin horizontal line.
    baseline: float | None = None
    #: A logarithmic axis where the values span decades.
    may_be_log: bool = False
    #: Nothing to see where the reference is the policy that sampled: scores are 0, but for the step's own updates.
    of_reference: bool = False
    #: In the overview it is in the place of the panel of this name, where that one has nothing to show.
    stands_for: str = ""
    #: Drawn instead where a run's reward function gave other scores than 0 and 1: what this panel says is not so.
    graded: "Panel | None" = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """All keys and globs that it reads."""
        total = (self.total,) if self.total else ()
        return (*(key for curve in self.curves for key in (curve.key, *curve.also, *(curve.spread or ()))), *total)


def for_overview(panels: Sequence[Panel], groups: Sequence[Group]) -> list[Panel]:
    """Those that the overview has.

    Args:
        panels: all that have data.
        groups: whose data.
    """
    shown = {panel.name for panel in panels if not panel.stands_for and not _is_silent(panel, groups)}
    return [panel for panel in panels if panel.name in shown or (panel.stands_for and panel.stands_for not in shown)]


def _is_silent(panel: Panel, groups: Sequence[Group]) -> bool:
    """Whether all that have its data trained with the policy that sampled for the reference it is about."""
    having = [group for group in groups if any(group.keys(curve.key) for curve in panel.curves)]
    return panel.of_reference and all(group.reference_sampled for group in having)


def as_scored(panel: Panel, groups: Sequence[Group]) -> Panel:
    """The panel, or what stands for it where the reward function gave a run scores other than 0 and 1."""
    runs = [run for group in groups for run in group.runs]
    is_graded = any(value > 0 for run in runs for key in run.keys(GRADED) for value in run.series(key).values)
    return panel.graded if panel.graded and is_graded else panel
