"""Whether a run's layout (packed rows, fused head, precision) gives its model's own log-probabilities."""
