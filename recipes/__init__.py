"""Experiments that can be run again: one folder each, with its command and its expected numbers."""

import os

#: How often OpenMP's threads look before they sleep, set before torch loads it: those that spin for long take the
#: cores from the others that they wait for, where more than this process computes (benchmarks/warm_start.py).
SPIN_COUNT = "10000"
os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)
