"""vLLM's scheduler token by token and block by block: slow, with nothing of `pacs/planning/batching.py` in it."""

from dataclasses import dataclass, field

BLOCK = 16


@dataclass
class Row:
    """A request; `text` has the tokens as they would be: equal texts are equal prefixes."""

    text: list[tuple[int, int]]
    response: int
    number: int
    written: int = 0  # tokens whose keys and values are in the cache
    blocks: list[int] = field(default_factory=list)
    came: int = 0


@dataclass
class Told:
    """What happened; `batches` has of each step: requests, how many generate, what they read, bulk tokens, pairs."""

    preemptions: int = 0
    prefilled: int = 0
    most: int = 0
    batches: list[tuple[int, int, int, int, int]] = field(default_factory=list)


class Cache:
    """Blocks with a count of their users, and by their text."""

    def __init__(self, blocks: int, caching: bool) -> None:
        self.queue = list(range(blocks))  # of the free ones, the next to be taken first
        self.users = [0] * blocks
        self.text: dict[int, tuple[tuple[int, int], ...]] = {}
        self.caching = caching

    def lookup(self, text: list[tuple[int, int]]) -> list[int]:
        found: list[int] = []
        for end in range(BLOCK, len(text), BLOCK):  # the last token is never looked up
            block = next((block for block, known in self.text.items() if known == tuple(text[:end])), None)
            if block is None or not self.caching:
                break
            found.append(block)
        return found

    def use(self, block: int) -> None:
        if self.users[block] == 0:
            self.queue.remove(block)
        self.users[block] += 1

    def new(self) -> int:
        block = self.queue[0]
        self.text.pop(block, None)
        self.use(block)
        return block

    def release(self, blocks: list[int]) -> None:
        first, last = [], []
        for block in reversed(blocks):
            self.users[block] -= 1
            if self.users[block] == 0:
                (last if block in self.text else first).append(block)
        self.queue = first + self.queue + last

    def note(self, row: Row, count: int) -> None:
        """Blocks that are full after so many more tokens can be found from now on, before these are written."""
        if self.caching:
            for index in range((row.written + count) // BLOCK):
                self.text[row.blocks[index]] = tuple(row.text[: (index + 1) * BLOCK])


def serve(
    requests: list[tuple[int, int, int]], blocks: int, sequences: int, batched: int, caching: bool, spare: int
) -> Told:
    """All requests, from the first step to the last."""
    rows = [
        Row([(group, -position - 1) for position in range(prompt)], response, number)
        for number, (prompt, response, group) in enumerate(requests)
    ]
    waiting, running, cache, told = list(rows), [], Cache(blocks, caching), Told()
    while waiting or running:
        budget, preempted = batched, False
        bulk = pairs = read = generating = 0
        scheduled: list[tuple[Row, int]] = []
        index = 0
        while index < len(running):
            row = running[index]
            count = min(len(row.text) - row.written, budget)
            need = -(-(row.written + count) // BLOCK) - len(row.blocks)
            while need > len(cache.queue) and row in running:
                victim = running.pop()
                cache.release(victim.blocks)
                victim.blocks, victim.written = [], 0
                waiting.insert(0, victim)
                told.preemptions += 1
                preempted = True
            if row not in running:
                break
            row.blocks += [cache.new() for _ in range(need)]
            cache.note(row, count)
            scheduled.append((row, count))
            budget -= count
            index += 1
        old = len(scheduled)
        while waiting and not preempted and budget and len(running) < sequences:
            row = waiting[0]
            found = cache.lookup(row.text)
            taken = -(-len(row.text) // BLOCK) - sum(cache.users[block] > 0 for block in found)
            if taken + (spare if running else 0) > len(cache.queue):
                break
            waiting.pop(0)
            for block in found:
                cache.use(block)
            row.blocks, row.written = list(found), len(found) * BLOCK
            # The plan takes the blocks of a prompt that is calculated in parts at once; so does this one.
            row.blocks += [cache.new() for _ in range(-(-len(row.text) // BLOCK) - len(found))]
            count = min(len(row.text) - row.written, budget)
            row.came = 0
            scheduled.append((row, count))
            running.append(row)
            budget -= count
            cache.note(row, count)
        told.most = max(told.most, len(running))
        for place, (row, count) in enumerate(scheduled):
            in_bulk = place >= old or count > 1 or row.came == 0
            if in_bulk:
                bulk += count
                pairs += sum(row.written + step + 1 for step in range(count))
            else:
                read += row.written + 1
                generating += 1
            row.written += count
            if row.written == len(row.text):
                row.came = 1
                row.text.append((-1 - row.number, len(row.text)))
                row.response -= 1
        for row in [row for row in running if row.response == 0]:
            running.remove(row)
            cache.release(row.blocks)
        told.prefilled += bulk
        told.batches.append((len(scheduled), generating, read, bulk, pairs))
    return told
