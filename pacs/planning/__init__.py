"""What a training step needs, in memory and time, from a model written down: `pacs plan`."""

from pacs.planning.errors import PlanError
from pacs.planning.plan import Plan, make_plan
from pacs.planning.report import outline

__all__ = ["Plan", "PlanError", "make_plan", "outline"]
