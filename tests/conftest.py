"""Shared by all tests: the CPU stack, chosen before anything imports verl, and one thread for its tiny tensors.

On a machine whose cores are taken by other jobs, threads that wait for each other make a test a hundred times slower.
"""

import os

os.environ.setdefault("VERL_PLATFORM", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch

torch.set_num_threads(1)

#: Fixtures that take long to make: the tests that share one are run by one process.
SHARED = ("task", "sharded")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group the tests for pytest-xdist: by what they share, else by file; those that share something take longest."""
    groups = {item: next((name for name in SHARED if name in item.fixturenames), None) for item in items}  # type: ignore[attr-defined]
    for item, group in groups.items():
        item.add_marker(pytest.mark.xdist_group(group or item.path.name))
    items.sort(key=lambda item: groups[item] is None)
