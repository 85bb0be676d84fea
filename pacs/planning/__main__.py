"""`python -m pacs.planning`: print docs/scaling.md."""

from pacs.base.terminal import print
from pacs.planning.document import page

print(page(), end="")
