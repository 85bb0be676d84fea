"""A run's life outside its training loop: checkpoints, state, supervision, resuming. No verl; of Ray only errors."""
