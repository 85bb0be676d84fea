"""The entries: ours (loss, update, batch) and verl's."""
