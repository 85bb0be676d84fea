"""Does this machine do what a run needs? A few steps of a model with random weights, with gates."""
