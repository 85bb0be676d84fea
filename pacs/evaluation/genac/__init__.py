"""A generative critic outside of training: how good its values are, and traces to begin it with."""
