"""Sums, differences and products from trivial to out of reach, with a model made here: nothing is downloaded."""
