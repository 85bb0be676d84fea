"""Shared by all tests: the CPU stack, chosen before anything imports verl."""

import os

os.environ.setdefault("VERL_PLATFORM", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
