"""Checkpoints as files: which are complete, whether they hold what was written, and their shards as whole tensors."""
