"""Bytes a second between GPUs, and between a GPU and its host."""

from pacs.planning import assumptions as assumed
from pacs.planning.workload import Workload


def link_speed(work: Workload) -> float:
    """What a GPU gets of the others; of all nodes if the run has several."""
    within = work.device.link_bytes_per_second
    slowest = within if work.nodes == 1 else min(within, assumed.NODE_BYTES_PER_SECOND.value)
    return slowest * assumed.LINK_EFFICIENCY.value


def host_speed(work: Workload) -> float:
    """What a GPU gets of its host's memory."""
    return work.device.host_bytes_per_second * assumed.LINK_EFFICIENCY.value
