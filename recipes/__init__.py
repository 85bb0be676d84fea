"""Experiments that can be run again: one folder each, with its command and its expected numbers."""
