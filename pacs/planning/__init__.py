"""What a training step needs, in memory and time, from a model written down: `pacs plan`."""
