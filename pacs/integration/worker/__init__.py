"""What runs on each training rank: passes over a model, the loss, and what is kept of updates that are not finite."""
