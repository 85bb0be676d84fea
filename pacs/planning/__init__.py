"""What a training step needs, in memory and time, from a model written down: `pacs plan`."""

from pacs.base.errors import UserError
from pacs.planning.plan import Plan, make_plan
from pacs.planning.report import outline

__all__ = ["Plan", "UserError", "make_plan", "outline"]
