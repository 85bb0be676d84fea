"""Markers as a stranger can write them: changed, with the digest of what they say now."""

import hashlib
import json
from pathlib import Path
from typing import Any


def change_marker(marker: Path, **change: Any) -> None:
    """Change what `complete.json` says; a file that it names anew gets some digest."""
    about = json.loads(marker.read_text()) | change
    about["sha256"] = {name: about["sha256"].get(name, "0" * 64) for name in about["files"]}
    del about["sha256_of_this"]
    signed = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    marker.write_text(json.dumps(about | {"sha256_of_this": signed}))
