"""What each method climbs: README.md and its figure, calculated from the methods themselves."""
