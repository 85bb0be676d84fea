"""Chains of sums in which an early mistake spoils the rest, with a model made here: nothing is downloaded."""
