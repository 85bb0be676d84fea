"""What the training ranks save: shards, their checks, the reference, and shards for another number of ranks."""
