"""Real problems through the trainer: three PACS steps of a tiny model that cannot solve them."""
