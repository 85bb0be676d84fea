"""PACS: reinforcement learning with verifiable rewards as supervised learning, a recipe over verl."""

__version__ = "0.1.0"
