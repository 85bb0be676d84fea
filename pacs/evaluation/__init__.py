"""From generations to numbers."""

from pacs.evaluation.pass_at_k import pass_at_k

__all__ = ["pass_at_k"]
