"""verl's settings and metrics by their names, for what does not import verl. Another verl changes these files alone."""
