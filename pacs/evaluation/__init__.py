"""From generations to numbers."""

from pacs.base.statistics import pass_at_k

__all__ = ["pass_at_k"]
