"""Which responses to a prompt are the same, token for token."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import torch


def fingerprint(tokens: Sequence[int]) -> int:
    """A number of 63 bits by which responses are compared: that of other tokens is another one, but for 1 in 2^63."""
    written = np.asarray(tokens, dtype=np.int64).tobytes()
    return int.from_bytes(blake2b(written, digest_size=8).digest(), "little") >> 1


def duplicates(group: torch.Tensor, fingerprints: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Which rows are the same as another of their group, and which of them come after the first of their kind.

    Args:
        group: (B,) int64.
        fingerprints: (B,) int64, of each response.

    Returns:
        Two of (B,) bool. A group has as many different responses as rows that the second leaves out.
    """
    pairs = torch.stack([group, fingerprints]).numpy()
    _, first, kind, count = np.unique(pairs, axis=1, return_index=True, return_inverse=True, return_counts=True)
    repeated = np.ones(len(group), dtype=bool)
    repeated[first] = False
    return torch.from_numpy(count[kind.reshape(-1)] > 1), torch.from_numpy(repeated)
