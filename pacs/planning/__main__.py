"""`python -m pacs.planning`: print what ends docs/scaling.md."""

from pacs.base.terminal import print
from pacs.planning.document import tables

print(tables(), end="")
