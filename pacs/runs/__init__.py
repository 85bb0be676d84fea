"""A run's life outside its training loop: checkpoints, state, supervision, resuming. No verl, no Ray, no torch."""
