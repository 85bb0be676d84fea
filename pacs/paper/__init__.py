"""What the paper (arXiv 2509.02522v2) prints of its training, as data."""
