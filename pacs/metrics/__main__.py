"""`python -m pacs.metrics docs/metrics.md`: write the tables of that page anew."""

import sys
from pathlib import Path

from pacs.metrics.document import written_into

if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(written_into(file.read_text(encoding="utf-8")), encoding="utf-8")
