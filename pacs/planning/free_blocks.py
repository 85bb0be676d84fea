"""The free blocks of vLLM's KV cache, in the order in which they are taken: `BlockPool` and its `FreeKVCacheBlockQueue`
in vLLM 0.24 (0.28 is the same)."""

from collections import deque
from collections.abc import Hashable


class FreeBlocks:
    """Counts free blocks, and knows which of them still have what was written into them.

    A block that is given back keeps its contents until it is taken: never used ones go first, then in the order in
    which they were given back. Blocks of one owner lie together, the last ones of its text first.

    Args:
        count: of the whole cache.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._queue: deque[list[int]] = deque([[count]])
        self._kept: dict[Hashable, list[int]] = {}

    def take(self, count: int) -> None:
        """Take blocks, the least recently used first; there must be as many."""
        self.count -= count
        while count:
            run = self._queue[0]
            taken = min(count, run[0])
            run[0] -= taken
            count -= taken
            if not run[0]:
                self._queue.popleft()

    def give(self, count: int, owner: Hashable = None) -> None:
        """Give blocks back; `find` knows them by their owner, if one is named."""
        if count:
            run = [count]
            self._queue.append(run)
            self.count += count
            if owner is not None:
                self._kept[owner] = run

    def give_unfilled(self, count: int) -> None:
        """Give back blocks that nothing can be found in: they are the next to be taken."""
        if count:
            self._queue.appendleft([count])
            self.count += count

    def find(self, owner: Hashable) -> int:
        """How many of an owner's blocks, from the first on, have not been taken since it gave them back."""
        run = self._kept.get(owner)
        return run[0] if run else 0

    def reuse(self, owner: Hashable) -> int:
        """Take the blocks that `find` counts, with what is in them."""
        run = self._kept.pop(owner, None)
        if run is None:
            return 0
        found, run[0] = run[0], 0
        self.count -= found
        return found
