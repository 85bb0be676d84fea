"""Shared by all tests: the CPU stack, chosen before anything imports verl, and one thread for its tiny tensors.

On a machine whose cores are taken by other jobs, threads that wait for each other make a test a hundred times slower.
"""

import os

os.environ.setdefault("VERL_PLATFORM", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import pytest
import torch

torch.set_num_threads(1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest file first: pytest-xdist hands them out in order."""
    items.sort(key=lambda item: item.path.name != "test_faults.py")
