"""Sums answered in free text, which no rule compares, with a model made here: nothing is downloaded."""
