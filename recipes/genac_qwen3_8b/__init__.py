"""GenAC at the size of its paper."""
