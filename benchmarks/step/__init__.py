"""What `benchmarks/step.py` runs: its parts, each in a process of its own."""
