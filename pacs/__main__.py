"""`python -m pacs` is the `pacs` command."""

import sys

from pacs.cli import main

sys.exit(main())
