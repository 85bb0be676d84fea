"""Verifiers: from a response and its ground truth to a label of 0 or 1."""
