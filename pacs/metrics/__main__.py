"""`python -m pacs.metrics`: print docs/metrics.md."""

from pacs.metrics.document import page

print(page(), end="")
