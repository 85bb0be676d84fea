"""`python -m pacs.planning`: print docs/scaling.md."""

from pacs.planning.document import page
from pacs.terminal import print

print(page(), end="")
