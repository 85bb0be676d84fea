"""What each method climbs: docs/objectives.md and its figure, calculated from the methods themselves."""
