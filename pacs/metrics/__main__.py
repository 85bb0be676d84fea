"""`python -m pacs.metrics`: print docs/metrics.md."""

from pacs.metrics.document import page
from pacs.terminal import print

print(page(), end="")
