"""From a model to graded samples and their numbers."""
