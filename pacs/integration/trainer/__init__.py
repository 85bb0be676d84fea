"""The trainers: the loop of a step, and what is attached to it (progress, grading, durability, logs)."""
