"""`python -m pacs.metrics`: print docs/metrics.md."""

from pacs.base.terminal import print
from pacs.metrics.document import page

print(page(), end="")
